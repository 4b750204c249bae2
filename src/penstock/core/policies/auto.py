"""The default policy: of all, the first that suits the job and knows enough of it."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import inf, isfinite

from penstock.core.domain.configuration import Configuration
from penstock.core.domain.decision import Decision
from penstock.core.domain.policy_memory import AutoMemory, Ds2Memory, HpaMemory, PolicyMemory
from penstock.core.domain.prediction import Prediction
from penstock.core.domain.reasons import UNREADY
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.policy import Need, Policy, predicted_by
from penstock.core.models.anomaly.recovery_watch import LAG_TOLERANCE_S
from penstock.core.models.recovery.recovery_cost import downtime_s, failure_of
from penstock.core.policies.choosing import keep, unready
from penstock.core.policies.daedalus import Daedalus
from penstock.core.policies.ds2 import Ds2
from penstock.core.policies.hpa import Hpa
from penstock.core.policies.lookahead import Lookahead
from penstock.core.policies.phoebe import Phoebe
from penstock.core.settings import timer


@dataclass(frozen=True, slots=True, kw_only=True)
class Auto:
    """Phoebe where a profile predicts latencies and one is promised; else Lookahead; before there is a forecast Daedalus, and before the capacity is known DS2
    by stages, then HPA by utilisation.

    Phoebe does not count the lag that is there, so a job that lags longer than its profile predicts is not left to it. A decision has the name of the
    policy that made it ("auto:lookahead"), and the next one comes after that policy's own time, or when the job should have recovered from what Phoebe did.
    """

    name: str = "auto"
    period_s: float = timer(60.0, "time between two decisions until a policy decides", lowest=1)
    phoebe: Phoebe = field(default_factory=lambda: Phoebe(worst_case=True))
    lookahead: Lookahead = field(default_factory=Lookahead)
    daedalus: Daedalus = field(default_factory=lambda: Daedalus(failures_too=True))
    ds2: Ds2 = field(default_factory=Ds2)
    hpa: Hpa = field(default_factory=lambda: Hpa(target=0.7))
    needs: frozenset[Need] = frozenset({"load", "capacity", "forecast", "latency", "profile", "stages"})
    faithful: bool = False

    def decide(self, seen: Assessment) -> Decision:
        memory = seen.memory if isinstance(seen.memory, AutoMemory) else AutoMemory()
        for policy in self._suited(seen):
            decision = policy.decide(replace(seen, memory=memory.ds2 if policy is self.ds2 else memory.hpa if policy is self.hpa else None))
            memory = _with(memory, decision.memory)
            if decision.why.code not in UNREADY:
                next_after_s = policy.period_s if decision.next_after_s is None else decision.next_after_s
                if policy is self.phoebe:
                    next_after_s = min(next_after_s, self._look_again_s(seen, decision))
                return replace(decision, policy=f"{self.name}:{policy.name}", memory=memory, next_after_s=next_after_s)
        return keep(seen, self.name, unready(seen))

    def predict(self, seen: Assessment, configuration: Configuration, decider: str) -> tuple[Prediction, ...]:
        """Return what the policy that decided predicts."""
        named = decider.partition(":")[2]
        mine = next((policy for policy in (self.phoebe, self.lookahead, self.daedalus, self.ds2, self.hpa) if policy.name == named), None)
        return () if mine is None else predicted_by(mine, seen, configuration, named)

    def _suited(self, seen: Assessment) -> Iterator[Policy]:
        """Return the policies that suit the job, the best first."""
        if seen.plant == "continuous" and seen.promises.latency_p95_s is not None and not self._lags_beyond_profile(seen):
            yield self.phoebe
        yield self.lookahead
        yield self.daedalus
        yield self.ds2
        yield self.hpa

    def _lags_beyond_profile(self, seen: Assessment) -> bool:
        """Return whether rows still wait although, by T_max, the job should have caught up a while ago, or never will."""
        known = seen.t_max.get(seen.executors)
        if known is None or seen.arrivals is None or seen.excess_lag_rows <= LAG_TOLERANCE_S * (seen.load_rows_per_s or 0.0):
            return False
        predicted_s = self.phoebe.recovery_s(seen, seen.arrivals, known.value, seen.executors)
        return seen.uptime_s > (predicted_s if isfinite(predicted_s) else downtime_s(seen, failure_of(seen.plant))) + self.period_s

    def _look_again_s(self, seen: Assessment, decision: Decision) -> float:
        """Return the seconds until the job should have recovered from this decision; to look at it then does not put off Phoebe's next one."""
        if decision.direction == "keep":
            left_s, since_s = self.phoebe.period_s - seen.uptime_s, seen.since_rescale_s
            waits = left_s > 0.0 and since_s is not None and since_s < self.phoebe.period_s + self.period_s
            return max(self.period_s, left_s) if waits else inf
        predicted = [each.recovery_s for each in decision.candidates if decision.wants(each.configuration) and each.recovery_s is not None]
        return max(predicted, default=inf) + 2 * self.period_s


def _with(memory: AutoMemory, of_one: PolicyMemory | None) -> AutoMemory:
    """Return the memory with what one of the policies remembers now."""
    if isinstance(of_one, HpaMemory):
        return replace(memory, hpa=of_one)
    return replace(memory, ds2=of_one) if isinstance(of_one, Ds2Memory) else memory
