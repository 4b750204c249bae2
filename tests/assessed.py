"""Assessments made by hand: a job of which everything is simple, and that of it which a test is about."""

from collections.abc import Sequence
from typing import Any

from changes import scaled_to
from laws import filling

from penstock.core.domain.job_spec import Limits, Promises
from penstock.core.knowledge.assessment import Assessment
from penstock.core.models.estimate import Estimate
from penstock.core.models.forecast.forecast import Forecast
from penstock.core.models.recovery.arrivals import Arrivals, forecast_arrivals
from penstock.runtime.fakes import blank_reading

NOW_S = 10_000.0
STOPS = frozenset({"rescale_up", "rescale_down"})


def assessed(**known: Any) -> Assessment:
    """A continuous job of 1 to 12 executors that has 4, of which nothing is known but what is given; `executors` replaces 4, `lag_rows` is its excess lag."""
    lag_rows = known.pop("lag_rows", None)
    simple: dict[str, Any] = {
        "at_s": NOW_S, "plant": "continuous", "reading": blank_reading(NOW_S, excess_lag_rows=lag_rows), "current": scaled_to(known.pop("executors", 4)),
        "declared": scaled_to(4), "limits": Limits(min_executors=1, max_executors=12), "promises": Promises(), "cadence": filling(10.0), "uptime_s": 3600.0,
        "stops": STOPS,
    }  # fmt: skip
    return Assessment(**{**simple, **known})


def under(load: float, *, each: float = 100.0, most: int = 12, **known: Any) -> Assessment:
    """The same under a constant load that is not forecast to change, where every executor carries `each` rows/s."""
    by_executors = {executors: about(each * executors) for executors in range(1, most + 1)}
    return assessed(**{"load_rows_per_s": load, "arrivals": Arrivals.constant(load), "capacities": by_executors, **known})


def expecting(load: float, path: Sequence[float], *, step_s: float = 60.0, **known: Any) -> Assessment:
    """The same under a load that is forecast to go through these rates, each for `step_s`."""
    forecast = Forecast(start_s=NOW_S, step_s=step_s, mean=tuple(path), levels=(0.1, 0.9), paths=(tuple(path), tuple(1.2 * rate for rate in path)))
    return under(load, **{"forecast": forecast, "arrivals": forecast_arrivals(forecast, [(NOW_S, load)]), **known})


def about(value: float) -> Estimate:
    return Estimate(value=value, low=0.9 * value, high=1.1 * value)
