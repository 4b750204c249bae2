"""Phoebe: the smallest size that recovers in time and keeps its latency under the load to come (Geldenhuys et al., ICWS 2022)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.core.assessment import Assessment
from penstock.core.domain.decision import Candidate, Comparison, Decision
from penstock.core.models.latency.latency_table import LatencyTable
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.outage import recovery_s
from penstock.core.models.recovery.predicted_recovery import worst_case
from penstock.core.models.recovery.recovery_cost import downtime_s, failure_of, longer, repeated_s
from penstock.core.policies.choosing import chosen, keep
from penstock.core.policies.policy import Need
from penstock.core.settings import setting, timer

MOMENTS = 60
"""Moments of failure tried until the next decision, where the worst of them counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phoebe:
    """Algorithm 1 of the paper, and the wait for an uninterrupted period before it (sec. III-E).

    Its symbols: E is `period_s`, R the recovery time by M_R from the largest rate T_max of a size, T_avg the projected rate, L_avg and L_C the latency
    that M_L expects and whether it is a normal one. M_L is the table of latencies, made from a profile.
    """

    name: str = "phoebe"
    period_s: float = timer(600.0, "E: time between two decisions, and how long the job must have run undisturbed for one (Phoebe sec. III-E)", lowest=1)
    horizon_s: float = timer(600.0, "the load is looked at so far ahead (sec. III-E)", lowest=1)
    bins: int = setting(10, "averaging bins of that time: the highest counts (sec. III-E)", lowest=1, highest=1000)
    target_recovery_s: float = setting(180.0, "a size must recover within so long, unless the job promises another time (sec. IV)", lowest=1, highest=86400)
    worst_case: int = setting(
        0,
        "1: from a failure at any moment until the next decision, under a load that is exceeded once in ten times; the paper: now, as forecast",
        lowest=0,
        highest=1,
    )
    needs: frozenset[Need] = frozenset({"load", "profile", "forecast"})
    faithful: bool = True

    def decide(self, seen: Assessment) -> Decision:
        if seen.table is None or seen.arrivals is None or not seen.t_max:
            return keep(seen, self.name, "not_ready")
        if seen.uptime_s < self.period_s:
            return replace(keep(seen, self.name, "uptime_below_period", seen.uptime_s, self.period_s), next_after_s=self.period_s)
        average = self._projected(seen, seen.arrivals)
        weighed: list[Candidate] = []
        for size in seen.sizes:
            weighed.append(self._weigh(seen, size, seen.table, seen.arrivals, average))
            if weighed[-1].refused is None:
                return chosen(seen, self.name, size, Comparison(code="smallest_that_holds"), weighed)
        return chosen(seen, self.name, seen.limits.max_executors, Comparison(code="none_passes"), weighed)

    def _projected(self, seen: Assessment, arrivals: Arrivals) -> float:
        """T_avg: the mean rate of the bin in which it is largest; the furthest bin if the load rises, the closest if it falls."""
        bin_s = self.horizon_s / self.bins
        starts_s = (seen.at_s + number * bin_s for number in range(self.bins))
        return max(arrivals.rows(start_s, start_s + bin_s) / bin_s for start_s in starts_s)

    def _weigh(self, seen: Assessment, size: int, table: LatencyTable, arrivals: Arrivals, average: float) -> Candidate:
        """The body of the loop of Algorithm 1."""
        known = seen.t_max.get(size)
        if known is None:
            return Candidate(executors=size, refused=Comparison(code="unknown_capacity"))
        recovery_s = self.recovery_s(seen, arrivals, known.value)
        promised_s = seen.promises.recovery_s
        target_s = self.target_recovery_s if promised_s is None else promised_s
        expected = table.at(size, average)
        refused = None
        if recovery_s > target_s:
            refused = Comparison(code="recovery_above_target", value=recovery_s, limit=target_s)
        elif not expected.valid:
            refused = Comparison(code="latency_invalid", value=expected.latency_s, limit=average)
        return Candidate(executors=size, refused=refused, capacity_rows_per_s=known.value, recovery_s=recovery_s, latency_s=expected.latency_s)

    def recovery_s(self, seen: Assessment, arrivals: Arrivals, t_max_rows_per_s: float) -> float:
        """R = M_R(S_i, I, D): the lag that is there does not count, as only an undisturbed job is asked about."""
        downtime, present = downtime_s(seen, failure_of(seen.plant)), seen.t_max.get(seen.current)
        repeated = repeated_s(seen, longer(None if present is None else present.value, t_max_rows_per_s))

        def recovery_at(arriving: Arrivals, at_s: float) -> float:
            return recovery_s(arriving, at_s, t_max_rows_per_s, repeated, downtime)

        if not self.worst_case or seen.forecast is None:
            return recovery_at(arrivals, seen.at_s)
        measured = [point for point in zip(arrivals.time_s, arrivals.rate_rows_per_s, strict=True) if point[0] <= seen.at_s]
        until_s, step_s = seen.at_s + self.period_s, self.period_s / MOMENTS
        return worst_case(seen.forecast, recovery_at, now_s=seen.at_s, until_s=until_s, history=measured, step_s=step_s).recovery_s
