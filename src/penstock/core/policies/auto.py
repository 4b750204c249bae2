"""The default: of all policies, the first that suits the job and knows enough of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from penstock.core.assessment import Assessment
from penstock.core.domain.decision import Decision
from penstock.core.domain.reasons import UNREADY
from penstock.core.policies.choosing import keep, unready
from penstock.core.policies.daedalus import Daedalus
from penstock.core.policies.ds2 import Ds2
from penstock.core.policies.hpa import Hpa
from penstock.core.policies.phoebe import Phoebe
from penstock.core.policies.policy import Need, Policy
from penstock.core.settings import timer


@dataclass(frozen=True, slots=True, kw_only=True)
class Auto:
    """Phoebe where a profile foretells latencies and one is promised; else Daedalus; until the capacity is known, DS2 by stages, then HPA by utilisation.

    A decision bears the name of the policy that made it ("auto:daedalus"), and the next one comes after that policy's own time.
    """

    name: str = "auto"
    period_s: float = timer(60.0, "time between two decisions while nothing is known; then that of the policy that decides", lowest=1)
    phoebe: Phoebe = field(default_factory=lambda: Phoebe(worst_case=1))
    daedalus: Daedalus = field(default_factory=lambda: Daedalus(failures_too=1))
    ds2: Ds2 = field(default_factory=Ds2)
    hpa: Hpa = field(default_factory=lambda: Hpa(target=0.7))
    needs: frozenset[Need] = frozenset({"load", "capacity", "forecast", "latency", "profile", "stages"})
    faithful: bool = False

    def decide(self, seen: Assessment) -> Decision:
        for policy in self._suited(seen):
            decision = policy.decide(seen)
            if decision.why.code not in UNREADY:
                next_after_s = policy.period_s if decision.next_after_s is None else decision.next_after_s
                return replace(decision, policy=f"{self.name}:{policy.name}", next_after_s=next_after_s)
        return keep(seen, self.name, unready(seen))

    def _suited(self, seen: Assessment) -> Iterator[Policy]:
        """The best first."""
        if seen.plant == "continuous" and seen.promises.latency_p95_s is not None:
            yield self.phoebe
        yield self.daedalus
        yield self.ds2
        yield self.hpa
