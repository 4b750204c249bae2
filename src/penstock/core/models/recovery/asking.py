"""Every recovery model asked the same question: how long after a failure at this time, under these arrivals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from penstock.core.models.capacity.batch_cost import BatchCost
from penstock.core.models.estimate import Estimate, NotReady
from penstock.core.models.recovery import phoebe
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.batches import BatchOutage, predict_batch_recovery
from penstock.core.models.recovery.outage import Outage
from penstock.core.models.recovery.over_forecast import RecoveryModel, bounds_of

SHORTEST_S = 30.0
DOUBLINGS = 20
SETTLED_S = 0.01
"""A window that fits its recovery is sought among 30 s, 60 s, ... and then to so many seconds."""


def by_formula(
    capacity: Estimate, downtime: Estimate, interval_s: float, *, formula: Callable[[Arrivals, Outage, float], float] = phoebe.recovery_s
) -> RecoveryModel:
    """Phoebe's c(n), or Daedalus's sum as `formula`; the bounds are those of the capacity and of the downtime."""

    def asked(arrivals: Arrivals, at_s: float) -> Estimate:
        def with_(capacity_rows_per_s: float, downtime_s: float) -> float:
            return formula(arrivals, Outage(at_s=at_s, interval_s=interval_s, downtime_s=downtime_s), capacity_rows_per_s)

        value = with_(capacity.value, downtime.value)
        by_capacity = with_(capacity.high, downtime.value), with_(capacity.low, downtime.value)
        by_downtime = with_(capacity.value, downtime.low), with_(capacity.value, downtime.high)
        low, high = bounds_of(value, by_capacity, by_downtime)
        return Estimate(value=value, low=low, high=high)

    return asked


def by_batches(cost: BatchCost, outage: BatchOutage) -> RecoveryModel:
    """The recursion over micro-batches; the time of the outage is the one that is asked for."""
    return lambda arrivals, at_s: predict_batch_recovery(cost, arrivals, replace(outage, at_s=at_s))


def by_regression(predict: Callable[[float], Estimate | NotReady], interval_s: float) -> RecoveryModel:
    """Khaos's M_R, `predict` by the rate, at the mean rate of the time that it speaks of: R = M_R(mean of f over [t0 - I, t0 + R]).

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
