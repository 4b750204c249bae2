"""The load forecast: made at intervals, and shifted to the present in between."""

import math
from dataclasses import replace

from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.knowledge.policy import Need
from penstock.core.knowledge.steering import Outlook
from penstock.core.knowledge.terms import Terms
from penstock.core.models.estimate import NotReady
from penstock.core.models.forecast.forecast import Forecast
from penstock.core.models.forecast.series import Series
from penstock.core.models.recovery.arrivals import Arrivals, forecast_arrivals

LEAST_HISTORY_S = 60.0
"""Arrivals reach at least this far back: a failure that is noticed now struck a reading ago, and repeats what came before it."""
ROUNDING_S = 1e-6
"""Readings a whole interval apart but for the last digits of a float are an interval apart."""


def forecast_due(outlook: Outlook, at_s: float, terms: Terms) -> bool:
    """Return whether the forecast is missing or as old as it may become."""
    return outlook.made_s is None or at_s - outlook.made_s >= terms.autopilot.scaled(terms.config.forecast_interval_s) - ROUNDING_S


def current_forecast(knowledge: Knowledge, at_s: float, terms: Terms, needs: frozenset[Need]) -> tuple[Knowledge, Forecast | None]:
    """Return the forecast from now over the horizon; if a new one is due, make it and store it in the knowledge. None if there is none yet."""
    load = knowledge.learnt.load
    if forecast_due(knowledge.outlook, at_s, terms):
        made: Forecast | NotReady | None = None
        if "forecast" in needs:
            made = load.predict(load.horizon_s + terms.autopilot.scaled(terms.config.forecast_interval_s))
        kept = made if isinstance(made, Forecast) else None
        learnt = knowledge.learnt if kept is None else replace(knowledge.learnt, load=load.with_made(kept))
        knowledge = replace(knowledge, learnt=learnt, outlook=Outlook(forecast=kept, made_s=at_s))
    forecast = knowledge.outlook.forecast
    return knowledge, None if forecast is None else from_now(forecast, at_s, load.horizon_s)


def from_now(forecast: Forecast, at_s: float, horizon_s: float) -> Forecast:
    """Return the steps of a forecast that are not over yet, as many as the horizon has; at least its last.

    >>> made = Forecast(start_s=60.0, step_s=10.0, mean=(5.0, 6.0, 7.0), levels=(0.5,), paths=((5.0, 6.0, 7.0),))
    >>> from_now(made, 71.0, 10.0)
    Forecast(start_s=70.0, step_s=10.0, mean=(6.0,), levels=(0.5,), paths=((6.0,),), shares=())
    """
    over = math.floor((at_s - forecast.start_s) / forecast.step_s + ROUNDING_S)
    return forecast.later(min(max(0, over), len(forecast.mean) - 1)).first(max(1, round(horizon_s / forecast.step_s)))


def points_since(series: Series, since_s: float) -> list[tuple[float, float]]:
    """Return the measured arrival rates as (time, rate): the mean of each bin, at its middle.

    >>> points_since(Series(first=2, sums=(10.0, 0.0, 9.0), counts=(2, 0, 1)), 21.0)
    [(25.0, 5.0), (45.0, 9.0)]
    """
    first = max(0, math.floor(since_s / series.step_s) - series.first)
    bins = zip(series.sums[first:], series.counts[first:], strict=True)
    return [((number + 0.5) * series.step_s, total / count) for number, (total, count) in enumerate(bins, series.first + first) if count]


def arrivals_of(series: Series, forecast: Forecast | None, load_rows_per_s: float | None, at_s: float, interval_s: float) -> Arrivals | None:
    """Return the recent arrivals followed by the forecast; without a forecast, the load as a constant rate; None without a load."""
    if forecast is None:
        return None if load_rows_per_s is None else Arrivals.constant(load_rows_per_s)
    history = points_since(series, at_s - max(2 * interval_s, LEAST_HISTORY_S))
    return forecast_arrivals(forecast, [point for point in history if point[0] < forecast.start_s])
