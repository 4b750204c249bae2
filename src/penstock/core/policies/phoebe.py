"""Phoebe: the fewest executors that recover in time and keep their latency under the load to come (Geldenhuys et al., ICWS 2022)."""

from dataclasses import dataclass, replace

from penstock.core.domain.configuration import Configuration
from penstock.core.domain.decision import Candidate, Comparison, Decision
from penstock.core.domain.prediction import Prediction
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.policy import Need
from penstock.core.knowledge.predicting import bound_prediction, capacity_prediction, latency_prediction
from penstock.core.models.estimate import Estimate
from penstock.core.models.latency.latency_table import LatencyTable
from penstock.core.models.recovery import outage
from penstock.core.models.recovery import predicted_recovery as worst
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.batch_recovery import BatchOutage, recovery_by_batches_s
from penstock.core.models.recovery.recovery_cost import downtime_s, failure_of, longer, repeated_s
from penstock.core.policies.choosing import candidate, fewest, keep
from penstock.core.settings import flag, setting, timer

MOMENTS = 60
"""Moments of failure tried until the next decision, where the worst of them counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phoebe:
    """Algorithm 1 of the paper, and the wait for an uninterrupted period before it (sec. III-E).

    Its symbols: E is `period_s`, R the recovery time by M_R from the largest rate T_max of S_i executors, T_avg the projected rate, L_avg and L_C the latency
    that M_L expects and whether it is a normal one. M_L is the table of latencies, made from a profile.
    """

    name: str = "phoebe"
    period_s: float = timer(600.0, "time between two decisions, and without a disturbance before one (E in III-E)", lowest=1)
    horizon_s: float = timer(600.0, "how far ahead the load is considered (III-E)", lowest=1)
    bins: int = setting(10, "averaging bins of that time; the highest counts (III-E)", lowest=1, highest=1000)
    target_recovery_s: float = setting(180.0, "longest recovery, unless the job promises one (IV)", lowest=1, highest=86400)
    worst_case: bool = flag(False, "recover from a failure at any moment until the next decision, at the forecast's 90 % quantile; the paper: now, at its mean")
    needs: frozenset[Need] = frozenset({"load", "profile", "boosting", "forecast"})
    faithful: bool = True

    def decide(self, seen: Assessment) -> Decision:
        if seen.table is None or seen.arrivals is None or not seen.t_max:
            return keep(seen, self.name, "not_ready")
        if seen.uptime_s < self.period_s:
            return replace(keep(seen, self.name, "uptime_below_period", seen.uptime_s, self.period_s), next_after_s=self.period_s)
        table, arrivals, average = seen.table, seen.arrivals, self._projected(seen, seen.arrivals)
        return fewest(seen, self.name, lambda executors: self._weigh(seen, executors, table, arrivals, average))

    def predict(self, seen: Assessment, configuration: Configuration, decider: str) -> tuple[Prediction, ...]:
        """Return T_max, L_avg, and R, the longest recovery from a failure at this configuration."""
        known, table, arrivals = seen.t_max.get(configuration.executors), seen.table, seen.arrivals
        if known is None or table is None or arrivals is None:
            return ()
        recovery_s = self.recovery_s(seen, arrivals, known.value, configuration.executors)
        made = capacity_prediction(seen, seen.t_max, configuration) + bound_prediction(seen, failure_of(seen.plant), recovery_s, configuration)
        expected = table.at(configuration.executors, self._projected(seen, arrivals))
        if not expected.valid:
            return made
        changes = configuration.executors != seen.executors
        return made + latency_prediction(seen, Estimate.exactly(expected.latency_s), configuration, changes=changes)

    def _projected(self, seen: Assessment, arrivals: Arrivals) -> float:
        """T_avg: the mean rate of the bin in which it is largest; the furthest bin if the load rises, the closest if it falls."""
        bin_s = self.horizon_s / self.bins
        starts_s = (seen.at_s + number * bin_s for number in range(self.bins))
        return max(arrivals.rows(start_s, start_s + bin_s) / bin_s for start_s in starts_s)

    def _weigh(self, seen: Assessment, executors: int, table: LatencyTable, arrivals: Arrivals, average: float) -> Candidate:
        """Return the body of the loop of Algorithm 1."""
        known = seen.t_max.get(executors)
        if known is None:
            return candidate(executors, Comparison(code="unknown_capacity"))
        recovery_s = self.recovery_s(seen, arrivals, known.value, executors)
        promised_s = seen.promises.recovery_s
        target_s = self.target_recovery_s if promised_s is None else promised_s
        expected = table.at(executors, average)
        refused = None
        if recovery_s > target_s:
            refused = Comparison(code="recovery_above_target", value=recovery_s, limit=target_s)
        elif not expected.valid:
            refused = Comparison(code="latency_invalid", value=expected.latency_s, limit=average)
        return candidate(executors, refused, capacity_rows_per_s=known.value, recovery_s=recovery_s, latency_s=expected.latency_s)

    def recovery_s(self, seen: Assessment, arrivals: Arrivals, t_max_rows_per_s: float, executors: int) -> float:
        """R = M_R(S_i, I, D): the lag that is there does not count, as only an undisturbed job is asked about.

        Micro-batches whose cost is known catch up batch by batch (PAPER-NOTES "Catch-up in micro-batches").
        """
        downtime, present = downtime_s(seen, failure_of(seen.plant)), seen.t_max.get(seen.executors)
        repeated, laws = repeated_s(seen, longer(None if present is None else present.value, t_max_rows_per_s)), seen.batch_laws

        def recovery_at(arriving: Arrivals, at_s: float) -> float:
            if laws is not None:
                lost = BatchOutage(at_s=at_s, downtime_s=downtime, cadence=seen.cadence, executors=executors, lost_s=at_s)
                return recovery_by_batches_s(laws.best, arriving, lost)
            return outage.recovery_s(arriving, at_s, t_max_rows_per_s, repeated, downtime)

        if not self.worst_case or seen.forecast is None:
            return recovery_at(arrivals, seen.at_s)
        measured = [point for point in zip(arrivals.time_s, arrivals.rate_rows_per_s, strict=True) if point[0] <= seen.at_s]
        until_s, step_s = seen.at_s + self.period_s, self.period_s / MOMENTS
        return worst.worst_case(seen.forecast, recovery_at, now_s=seen.at_s, until_s=until_s, history=measured, step_s=step_s).recovery_s
