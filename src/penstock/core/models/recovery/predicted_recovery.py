"""Recovery models under a forecast of the load: one question for all models, bounds from the forecast, and the worst moment of failure."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from penstock.core.models.estimate import HIGH_LEVEL, LOW_LEVEL, Estimate, NotReady, combined
from penstock.core.models.forecast.forecast import Forecast
from penstock.core.models.recovery.arrivals import Arrivals, forecast_arrivals
from penstock.core.models.recovery.outage import Outage, phoebe_recovery_s

TRUSTED_S = 900.0
"""Longer recoveries are flagged: no load stays constant for this duration (Khaos sec. III-C), and no forecast that decisions use reaches further."""
SHORTEST_S, DOUBLINGS, SETTLED_S = 30.0, 20, 0.01
"""The window that equals its recovery is searched for among 30 s, 60 s, ... and then by bisection to this precision."""
GRID_S = 10.0
"""Step between the moments of failure that are tried."""
UPPER_QUANTILE = 0.9
"""The load exceeds this forecast once in ten times."""

RecoveryModel = Callable[[Arrivals, float], Estimate | NotReady]
"""Predict the recovery from a failure at that time under those arrivals."""
RecoveryAt = Callable[[Arrivals, float], float]
"""Return the seconds to recover from a failure at that time under those arrivals."""


def by_formula(
    capacity: Estimate, downtime: Estimate, interval_s: float, *, formula: Callable[[Arrivals, Outage, float], float] = phoebe_recovery_s
) -> RecoveryModel:
    """Return a model that applies a formula; its bounds are those of the capacity and of the downtime."""

    def asked(arrivals: Arrivals, at_s: float) -> Estimate:
        def with_(capacity_rows_per_s: float, downtime_s: float) -> float:
            return formula(arrivals, Outage(at_s=at_s, interval_s=interval_s, downtime_s=downtime_s), capacity_rows_per_s)

        value = with_(capacity.value, downtime.value)
        by_capacity = with_(capacity.high, downtime.value), with_(capacity.low, downtime.value)
        by_downtime = with_(capacity.value, downtime.low), with_(capacity.value, downtime.high)
        return combined(value, by_capacity, by_downtime)

    return asked


def by_regression(predict: Callable[[float], Estimate | NotReady], interval_s: float) -> RecoveryModel:
    """Return a model that asks Khaos's M_R, `predict` by the rate, at the mean rate of its own recovery: R = M_R(mean of f over [t0 - I, t0 + R]).

    M_R takes the rate to be constant (Khaos sec. III-C). All rows of that time are processed at capacity mu within R - D, so mu (R - D) = mean (I + R),
    which is D + mean (I + D) / (mu - mean), the physical form: at this mean it is exact for any load.
    """

    def asked(arrivals: Arrivals, at_s: float) -> Estimate | NotReady:
        def within(window_s: float) -> Estimate | NotReady:
            return predict(arrivals.rows(at_s - interval_s, at_s + window_s) / (interval_s + window_s))

        shortest_s, longest_s = 0.0, SHORTEST_S
        found = within(longest_s)
        for _ in range(DOUBLINGS):
            if isinstance(found, NotReady) or found.value <= longest_s:
                break
            shortest_s, longest_s = longest_s, 2 * longest_s
            found = within(longest_s)
        else:
            return found
        while longest_s - shortest_s > SETTLED_S and not isinstance(found, NotReady):
            middle_s = (shortest_s + longest_s) / 2
            tried = within(middle_s)
            if isinstance(tried, Estimate) and tried.value > middle_s:
                shortest_s = middle_s
            else:
                longest_s, found = middle_s, tried
        return found

    return asked


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryEstimate(Estimate):
    """A recovery time; `continued_share` of it lies beyond the end of the forecast, where the load is assumed to stay as it was."""

    continued_share: float

    @property
    def flagged(self) -> bool:
        """Whether it is longer than 15 minutes or than the forecast."""
        return self.continued_share > 0 or self.value > TRUSTED_S


def over_forecast(
    model: RecoveryModel, forecast: Forecast, *, at_s: float | None = None, history: Sequence[tuple[float, float]] = ()
) -> RecoveryEstimate | NotReady:
    """Predict the recovery from a failure at `at_s`, by default the start of the forecast; bounds combine those of the model and of the forecast."""
    failed_s = forecast.start_s if at_s is None else at_s
    arrivals = forecast_arrivals(forecast, history)
    expected = model(arrivals, failed_s)
    if isinstance(expected, NotReady):
        return expected
    others = (model(forecast_arrivals(forecast, history, quantile), failed_s) for quantile in (LOW_LEVEL, HIGH_LEVEL))
    reached_s = [expected.value, *(other.value for other in others if isinstance(other, Estimate))]
    found = combined(expected.value, (expected.low, expected.high), (min(reached_s), max(reached_s)))
    return RecoveryEstimate(value=found.value, low=found.low, high=found.high, continued_share=continued_share(arrivals, failed_s, expected.value))


def over_arrivals(model: RecoveryModel, arrivals: Arrivals, forecast: Forecast | None, at_s: float) -> Estimate | None:
    """Ask a model about a failure at that time over what has arrived and is forecast; None where it is not ready."""
    if forecast is None:
        answer: Estimate | NotReady = model(arrivals, at_s)
    else:
        points = zip(arrivals.time_s, arrivals.rate_rows_per_s, strict=True)
        answer = over_forecast(model, forecast, at_s=at_s, history=[point for point in points if point[0] < forecast.start_s])
    return answer if isinstance(answer, Estimate) else None


def expected_recovery(arrivals: Arrivals, forecast: Forecast | None, capacity: Estimate, outage: Outage, downtime: Estimate) -> Estimate | None:
    """Return the recovery from an outage, with bounds from capacity, downtime and forecast."""

    def formula(arriving: Arrivals, asked: Outage, capacity_rows_per_s: float) -> float:
        return phoebe_recovery_s(arriving, replace(asked, lag_rows=outage.lag_rows), capacity_rows_per_s)

    return over_arrivals(by_formula(capacity, downtime, outage.interval_s, formula=formula), arrivals, forecast, outage.at_s)


def continued_share(arrivals: Arrivals, at_s: float, recovery_s: float) -> float:
    """Return the share of a recovery that lies beyond the last point of the arrivals; 1 for one that never ends.

    >>> ramp = Arrivals.through((0.0, 900.0), (10.0, 20.0))
    >>> continued_share(ramp, 300.0, 400.0), continued_share(ramp, 300.0, 800.0), continued_share(ramp, 300.0, math.inf)
    (0.0, 0.25, 1.0)
    """
    if recovery_s == math.inf:
        return 1.0
    return min(1.0, max(0.0, at_s + recovery_s - arrivals.last_s) / recovery_s) if recovery_s > 0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstCase:
    """The moment at which a failure costs the longest recovery, and that recovery; the earliest of equals."""

    at_s: float
    recovery_s: float


def worst_case(
    forecast: Forecast,
    recovery_at: RecoveryAt,
    *,
    now_s: float,
    until_s: float,
    history: Sequence[tuple[float, float]] = (),
    quantile: float = UPPER_QUANTILE,
    step_s: float = GRID_S,
) -> WorstCase:
    """Return the worst failure from now until just before `until_s`, at an upper quantile of the forecast.

    >>> rising = Forecast(start_s=0.0, step_s=20.0, mean=(1.0, 2.0, 3.0), levels=(0.1, 0.9), paths=((0.0, 1.0, 2.0), (2.0, 4.0, 6.0)))
    >>> worst_case(rising, lambda arrivals, at_s: arrivals.rate(at_s), now_s=0.0, until_s=40.0)
    WorstCase(at_s=30.0, recovery_s=4.0)
    """
    if not (until_s >= now_s and step_s > 0):
        raise ValueError(f"moments of failure from {now_s} s until {until_s} s, {step_s} s apart")
    arrivals = forecast_arrivals(forecast, history, quantile)
    worst = WorstCase(at_s=now_s, recovery_s=recovery_at(arrivals, now_s))
    for number in range(1, math.ceil((until_s - now_s) / step_s)):
        if worst.recovery_s == math.inf:
            return worst
        at_s = now_s + number * step_s
        each = WorstCase(at_s=at_s, recovery_s=recovery_at(arrivals, at_s))
        worst = max(worst, each, key=lambda case: case.recovery_s)
    return worst
