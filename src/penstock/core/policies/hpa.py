"""The Horizontal Pod Autoscaler of Kubernetes with executors as its pods, and the variant that Daedalus was compared with."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from penstock.core.assessment import Assessment
from penstock.core.domain.decision import Comparison, Decision
from penstock.core.policies.choosing import allowed, keep, unready
from penstock.core.policies.policy import Need
from penstock.core.policies.usage import Usage, started, usage_of
from penstock.core.policies.wanted import moved_by, stabilised, wanted_within, without_wanted
from penstock.core.settings import setting, timer
from penstock.core.usage.overdue import row_costs, without_row_costs


@dataclass(frozen=True, slots=True, kw_only=True)
class Hpa:
    """Keeps the mean utilisation of ready executors near a target: size = ceil(ready * utilisation / target).

    Source: kubernetes.io, "Horizontal Pod Autoscaling"; kubernetes/kubernetes, pkg/controller/podautoscaler (replica_calculator.go, horizontal.go) and
    pkg/apis/autoscaling/v2 (defaults.go). Downwards the default there is 100 % in 15 s, which is no limit.
    """

    name: str = "hpa"
    period_s: float = timer(15.0, "time between two decisions (kubernetes: horizontal-pod-autoscaler-sync-period)", lowest=0.1)
    target: float = setting(0.8, "utilisation to be held (kubernetes: DefaultCPUUtilization; Daedalus sec. 4.3.2)", lowest=0.01, highest=1)
    tolerance: float = setting(0.1, "a ratio to the target so near 1 changes nothing (kubernetes: horizontal-pod-autoscaler-tolerance)", lowest=0, highest=1)
    stable_down_s: float = timer(300.0, "fewer only down to the most wanted within so long (kubernetes: horizontal-pod-autoscaler-downscale-stabilization)")
    ready_s: float = timer(30.0, "a younger executor is not ready (kubernetes: horizontal-pod-autoscaler-initial-readiness-delay)")
    most_added: int = setting(4, "so many more at once are always allowed (kubernetes: scaleUp policy Pods 4 in 15 s)", lowest=1, highest=100_000)
    most_grown: float = setting(1.0, "and so many for each that is there (kubernetes: scaleUp policy Percent 100 in 15 s)", lowest=0, highest=1000)
    between_actions_s: float = timer(0.0, "after a rescale nothing changes for so long (kubernetes: never so)")
    needs: frozenset[Need] = frozenset()
    faithful: bool = True

    def decide(self, seen: Assessment) -> Decision:
        since_s, costs = seen.since_rescale_s, row_costs(seen.reading, seen.memo)
        usage, known = usage_of(seen, self.ready_s, costs), without_row_costs(seen.memo) | costs
        if usage is None:
            return keep(seen, self.name, unready(seen), memo=known)
        if since_s is not None and since_s < self.between_actions_s:
            return keep(seen, self.name, "too_soon", since_s, self.between_actions_s, memo=known)
        wanted = self._wanted(seen.current, usage)
        within = wanted_within(seen, self.name, wanted, self.stable_down_s)
        stable = stabilised(seen.current, wanted, within)
        most = seen.current + max(self.most_added, ceil(round(self.most_grown * seen.current, 9)))
        size = allowed(seen, min(stable, most))
        moved = moved_by(seen.current, wanted=wanted, stable=stable, size=size, utilization=usage.utilization, target=self.target)
        memo = without_wanted(known, self.name) | within
        return Decision(policy=self.name, executors=size, current=seen.current, why=moved or self._why_none_is_wanted(usage), memo=memo)

    def _wanted(self, current: int, usage: Usage) -> int:
        """The size that would bring utilisation to the target; the present one where that is within tolerance, or would point the other way."""
        cautious, counted = usage.cautious(self.target)
        ratio, upwards = cautious / self.target, usage.utilization > self.target
        if abs(ratio - 1.0) <= self.tolerance or (ratio > 1.0) != upwards:
            return current
        wanted = ceil(round(counted * ratio, 9))
        return max(current, wanted) if upwards else min(current, wanted)

    def _why_none_is_wanted(self, usage: Usage) -> Comparison:
        cautious, _ = usage.cautious(self.target)
        if abs(usage.utilization / self.target - 1.0) <= self.tolerance:
            return Comparison(code="within_tolerance", value=usage.utilization, limit=self.target)
        if cautious != usage.utilization:
            return Comparison(code="executors_starting", value=usage.utilization, limit=cautious)
        return Comparison(code="smallest_that_holds", value=usage.utilization, limit=self.target)


@dataclass(frozen=True, slots=True, kw_only=True)
class HpaPaper(Hpa):
    """HPA as Daedalus describes it: five minutes between any two actions in the place of a window for scaling down, and only started executors count."""

    name: str = "hpa_paper"
    stable_down_s: float = timer(0.0, "fewer only down to the most wanted within so long (Daedalus sec. 4.3.2 knows no such window)")
    between_actions_s: float = timer(300.0, "after a rescale nothing changes for so long (Daedalus sec. 4.3.2)")

    def _wanted(self, current: int, usage: Usage) -> int:
        return Hpa._wanted(self, current, started(usage))

    def _why_none_is_wanted(self, usage: Usage) -> Comparison:
        return Hpa._why_none_is_wanted(self, started(usage))
