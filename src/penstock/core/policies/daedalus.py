"""Daedalus: scales in by what was observed, out by what is forecast, and only to executors that recover in time (Pfister et al., ICPE 2024)."""

from dataclasses import dataclass

from penstock.core.domain.configuration import Configuration
from penstock.core.domain.decision import Candidate, Comparison, Decision
from penstock.core.domain.prediction import Prediction
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.policy import Need
from penstock.core.knowledge.predicting import going_predictions
from penstock.core.models.recovery.recovery_cost import recovery_after_s, recovery_from_failure_s
from penstock.core.policies.choosing import candidate, fewest, keep, unready
from penstock.core.settings import flag, setting, timer


@dataclass(frozen=True, slots=True, kw_only=True)
class Daedalus:
    """Algorithm 1 of the paper, with the grace of the text after it.

    Its symbols: C_i is the capacity of i executors, W_avg the mean load since the last decision, TSF_max the largest rate forecast, RT_i the recovery time.
    """

    name: str = "daedalus"
    period_s: float = timer(60.0, "time between two decisions (3.6)", lowest=1)
    grace_s: float = timer(180.0, "no change for this time after a rescale (3.2)")
    recent_s: float = timer(600.0, "a younger rescale is only undone if it is too small (Algorithm 1)")
    soon_s: float = timer(60.0, "such executors must suffice for this time (Algorithm 1)", lowest=1)
    horizon_s: float = timer(900.0, "new executors must carry the forecast for this time (3.2)", lowest=1)
    target_recovery_s: float = setting(600.0, "longest recovery, unless the job promises one (4)", lowest=1, highest=86400)
    failures_too: bool = flag(False, "new executors must recover in time from a failure too, not only from the change to them")
    needs: frozenset[Need] = frozenset({"load", "capacity", "regression", "forecast", "arima"})
    faithful: bool = True

    def decide(self, seen: Assessment) -> Decision:
        load, now, since_s = seen.load_rows_per_s, seen.capacity(seen.executors), seen.since_rescale_s
        if load is None or now is None or seen.arrivals is None:
            return keep(seen, self.name, unready(seen))
        if since_s is not None and since_s < self.grace_s:
            return keep(seen, self.name, "too_soon", since_s, self.grace_s)
        if since_s is not None and since_s < self.recent_s and now > load and now > seen.peak(self.soon_s):
            return keep(seen, self.name, "recently_rescaled", since_s, self.recent_s)
        return fewest(seen, self.name, lambda executors: self._weigh(seen, executors, load))

    def predict(self, seen: Assessment, configuration: Configuration, decider: str) -> tuple[Prediction, ...]:
        """Return C_i and the parts of RT_i: the recovery from going there, and at worst from a failure there where RT_i counts it."""
        return going_predictions(seen, configuration, failures=self.failures_too)

    def _weigh(self, seen: Assessment, executors: int, load: float) -> Candidate:
        capacity = seen.capacity(executors)
        if capacity is not None and capacity <= load:
            return candidate(executors, Comparison(code="capacity_below_load", value=capacity, limit=load), capacity_rows_per_s=capacity)
        recovery_s = None if capacity is None else self._recovery_s(seen, executors, capacity)
        if capacity is None or recovery_s is None:
            return candidate(executors, Comparison(code="unknown_capacity"), capacity_rows_per_s=capacity)
        refused = self._refuse(seen, executors, capacity, recovery_s)
        return candidate(executors, refused, capacity_rows_per_s=capacity, recovery_s=recovery_s)

    def _recovery_s(self, seen: Assessment, executors: int, capacity: float) -> float | None:
        """RT_i of Algorithm 1."""
        change_s = recovery_after_s(seen, executors)
        failure_s = recovery_from_failure_s(seen, executors, capacity) if self.failures_too else change_s
        return None if change_s is None or failure_s is None else max(change_s, failure_s)

    def _refuse(self, seen: Assessment, executors: int, capacity: float, recovery_s: float) -> Comparison | None:
        """Return the body of the loop of Algorithm 1, from RT_i on; the present executors pass without its last two lines."""
        promised_s = seen.promises.recovery_s
        target_s = self.target_recovery_s if promised_s is None else promised_s
        if recovery_s > target_s:
            return Comparison(code="recovery_above_target", value=recovery_s, limit=target_s)
        peak_until_recovered = seen.peak(recovery_s)
        if capacity < peak_until_recovered:
            return Comparison(code="capacity_below_peak_until_recovered", value=capacity, limit=peak_until_recovered)
        if executors == seen.executors:
            return None
        if executors < seen.executors and capacity < seen.excess_lag_rows:
            return Comparison(code="lag_above_capacity", value=capacity, limit=seen.excess_lag_rows)
        peak = seen.peak(self.horizon_s)
        return None if capacity > peak else Comparison(code="capacity_below_peak", value=capacity, limit=peak)
