"""Lookahead: the executors that cost the least until they must change again, what a change breaks included."""

from bisect import bisect_right
from dataclasses import dataclass, replace
from itertools import accumulate
from math import ceil, inf

from penstock.core.domain.configuration import Configuration
from penstock.core.domain.decision import Candidate, Comparison, Decision
from penstock.core.domain.disturbance import DisturbanceKind
from penstock.core.domain.prediction import Prediction
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.policy import Need
from penstock.core.knowledge.predicting import going_predictions
from penstock.core.models.forecast.forecast import Forecast
from penstock.core.models.recovery.outage import drained_s, recovery_s
from penstock.core.models.recovery.recovery_cost import downtime_s, recovery_from_failure_s
from penstock.core.policies.choosing import UNKNOWN, candidate, decided, keep, unready
from penstock.core.settings import setting, timer

WIDEST = 3.0
"""The load does not grow by more than this factor before the next decisions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """The highest rate forecast up to the end of each step: how long a capacity holds is a search in it.

    It is that of an upper quantile: no more than all executors carry, unless the mean is more, and no more than some times the rate of now, as a forecast from
    few readings may run away.
    """

    step_s: float
    highest: tuple[float, ...]

    @classmethod
    def of(cls, forecast: Forecast, from_s: float, quantile: float, now_rows_per_s: float, most_rows_per_s: float = inf) -> "Ahead":
        first = min(len(forecast.mean) - 1, max(0, int((from_s - forecast.start_s) // forecast.step_s)))
        both = zip(forecast.mean[first:], forecast.at(quantile)[first:], strict=True)
        path = [min(WIDEST * now_rows_per_s, max(mean, min(upper, most_rows_per_s))) for mean, upper in both]
        return cls(step_s=forecast.step_s, highest=tuple(accumulate((now_rows_per_s, *path), max))[1:])

    @property
    def lasts_s(self) -> float:
        return self.step_s * len(self.highest)

    def holds_s(self, capacity_rows_per_s: float) -> float:
        """Return how long a capacity is enough.

        >>> rising = Ahead(step_s=10.0, highest=(5.0, 6.0, 9.0))
        >>> rising.holds_s(4.0), rising.holds_s(7.0), rising.holds_s(9.0)
        (0.0, 20.0, 30.0)
        """
        return self.step_s * bisect_right(self.highest, capacity_rows_per_s)

    def peak(self, until_s: float) -> float:
        return self.highest[min(len(self.highest), max(1, ceil(until_s / self.step_s))) - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookahead:
    """Of the executors that carry an upper quantile of the forecast until others could come, those with the lowest mean cost until they must change again.

    The mean cost of n executors is n + C/T, in executors: T is how long they hold, at most the horizon, and C what going there costs, and going back if T
    ends before the horizon: the present executors while the job recovers, and `broken_cost` for each second in which the promised latency is broken.
    A failure must be recovered from within the promise at the executors chosen.
    """

    name: str = "lookahead"
    period_s: float = timer(30.0, "time between two decisions", lowest=1)
    spare_s: float = timer(30.0, "executors must hold for this time beyond a decision and the time until others are ready")
    quantile: float = setting(0.9, "quantile of the forecast that they must carry", lowest=0.5, highest=0.95)
    broken_cost: float = setting(60.0, "executor-seconds that a second beyond the promised latency may cost to avoid", lowest=0, highest=1e6)
    unpromised: float = setting(0.2, "share of that where no latency is promised, for each second until the job has caught up", lowest=0, highest=1)
    change_s: float = timer(30.0, "every change costs the present executors for this time, at least")
    target_recovery_s: float = setting(600.0, "longest recovery from a failure, unless the job promises one", lowest=1, highest=86400)
    needs: frozenset[Need] = frozenset({"load", "capacity", "forecast"})
    faithful: bool = False

    def decide(self, seen: Assessment) -> Decision:
        load, forecast = seen.load_rows_per_s, seen.forecast
        if load is None or forecast is None or seen.arrivals is None or seen.capacity(seen.executors) is None:
            return keep(seen, self.name, unready(seen))
        most = max((each.value for each in seen.capacities.values()), default=inf)
        ahead = Ahead.of(forecast, seen.at_s, self.quantile, seen.reading.arrival_rows_per_s or load, most)
        best, weighed = (inf, seen.executors), list[tuple[Candidate, float]]()
        for executors in seen.choices:
            if executors >= best[0]:
                break
            weighed.append(self._weigh(seen, executors, ahead))
            best = min(best, (weighed[-1][1], executors))
        cost, chosen = best
        if cost == inf:
            return decided(seen, self.name, seen.limits.max_executors, Comparison(code="none_passes"), [each for each, _ in weighed])
        candidates = [each if each.executors == chosen else dearer(each, its, cost) for each, its in weighed]
        return replace(decided(seen, self.name, chosen, Comparison(code="cheapest_ahead", value=cost), candidates), weighs_changes=True)

    def predict(self, seen: Assessment, configuration: Configuration, decider: str) -> tuple[Prediction, ...]:
        """Return the capacity, the recovery from going there, and at worst from a failure there."""
        return going_predictions(seen, configuration, failures=True)

    def _weigh(self, seen: Assessment, executors: int, ahead: Ahead) -> tuple[Candidate, float]:
        """Return the candidate, and its mean cost in executors; infinite if it is refused."""
        capacity = seen.capacity(executors)
        if capacity is None:
            return candidate(executors, UNKNOWN), inf
        lead_s = downtime_s(seen, "rescale_up") + self.period_s + self.spare_s
        holds_s = ahead.holds_s(capacity)
        if holds_s < min(lead_s, ahead.lasts_s):
            peak = ahead.peak(lead_s)
            return candidate(executors, Comparison(code="capacity_below_peak", value=capacity, limit=peak), capacity_rows_per_s=capacity), inf
        failed_s = recovery_from_failure_s(seen, executors, capacity)
        target_s = self.target_recovery_s if seen.promises.recovery_s is None else seen.promises.recovery_s
        refused = None if failed_s is None or failed_s <= target_s else Comparison(code="recovery_above_target", value=failed_s, limit=target_s)
        cost = self._going_costs(seen, executors, capacity)
        if holds_s < ahead.lasts_s and executors < seen.executors:
            cost += self._going_costs(seen, executors, capacity, back=True)
        cost = executors + cost / max(holds_s, ahead.step_s)
        return candidate(executors, refused, capacity_rows_per_s=capacity, recovery_s=failed_s), inf if refused else cost

    def _going_costs(self, seen: Assessment, executors: int, capacity_rows_per_s: float, *, back: bool = False) -> float:
        """Return the executor-seconds that going to these executors costs, or coming back from them."""
        kind: DisturbanceKind = "rescale_up" if back or executors > seen.executors else "rescale_down"
        assert seen.arrivals is not None
        if executors == seen.executors:
            took_s = drained_s(seen.arrivals, seen.at_s, seen.excess_lag_rows, capacity_rows_per_s) - seen.at_s
        elif kind in seen.stops:
            lag_rows = 0.0 if back else seen.excess_lag_rows
            took_s = recovery_s(seen.arrivals, seen.at_s, capacity_rows_per_s, seen.cadence.interval_s, downtime_s(seen, kind), lag_rows)
        else:
            took_s = drained_s(seen.arrivals, seen.at_s, 0.0 if back else seen.excess_lag_rows, capacity_rows_per_s) - seen.at_s
        took_s = min(took_s, self.target_recovery_s)
        promised_s = seen.promises.latency_p95_s
        broken_s = took_s * self.unpromised if promised_s is None else max(0.0, took_s - promised_s)
        changes_s = 0.0 if executors == seen.executors else max(self.change_s, took_s)
        return self.broken_cost * broken_s + seen.executors * changes_s


def dearer(of: Candidate, cost: float, least: float) -> Candidate:
    """Return a candidate that was not chosen; if it holds, with its cost as the reason against it."""
    return of if of.refused else replace(of, refused=Comparison(code="dearer", value=cost, limit=least))
