"""A fixed size: what most jobs have, and what all policies are compared with."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.core.assessment import Assessment
from penstock.core.domain.decision import Comparison, Decision
from penstock.core.policies.choosing import allowed
from penstock.core.policies.policy import Need
from penstock.core.settings import setting, timer


@dataclass(frozen=True, slots=True, kw_only=True)
class Static:
    """Always the same number of executors; nothing is learnt for it."""

    name: str = "static"
    period_s: float = timer(60.0, "time between two decisions", lowest=1)
    executors: int = setting(0, "so many executors; 0: as many as the job declares", lowest=0, highest=100_000)
    needs: frozenset[Need] = frozenset()
    faithful: bool = True

    def decide(self, seen: Assessment) -> Decision:
        executors = allowed(seen, self.executors or seen.declared)
        return Decision(policy=self.name, executors=executors, current=seen.current, why=Comparison(code="as_declared"), memo=seen.memo)
