"""A forecast of the load as arrivals over time."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.core.models.forecast.forecast import Forecast
from penstock.core.models.recovery.arrivals import Arrivals


def foreseen(forecast: Forecast, history: Sequence[tuple[float, float]] = (), quantile: float | None = None) -> Arrivals:
    """What was measured, as (time, rate), joined to the mean of the forecast or to one of its quantiles: f of Phoebe sec. III-B.

    The rate of a step stands in its middle, and is linear between; the last one holds until the end of the forecast.
    At a quantile every step is at it, as if the load were above or below its mean all along: the worst that a forecast's steps can do to a sum of them.

    >>> load = Forecast(start_s=60.0, step_s=10.0, mean=(5.0, 6.0), levels=(0.1, 0.9), paths=((4.0, 4.0), (6.0, 8.0)))
    >>> foreseen(load, [(50.0, 3.0), (60.0, 4.0)], 0.9)
    Arrivals(time_s=(50.0, 60.0, 65.0, 75.0, 80.0), rate_rows_per_s=(3.0, 4.0, 6.0, 8.0, 8.0))
    """
    path = [max(0.0, rate) for rate in (forecast.mean if quantile is None else forecast.at(quantile))]
    middles = [(forecast.start_s + (number + 0.5) * forecast.step_s, rate) for number, rate in enumerate(path)]
    return Arrivals.joined(history, [*middles, (forecast.end_s, path[-1])])
