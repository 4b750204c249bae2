"""A policy that does not ask about capacity, in a run in which recoveries are to be foretold."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.core.assessment import Assessment
from penstock.core.domain.decision import Decision
from penstock.core.policies.policy import Need, Policy

FORETELLS: frozenset[Need] = frozenset({"load", "capacity"})
"""What must be learnt for a recovery to be foretold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Foretelling:
    """Decides exactly as `policy` does, but has the load and the capacity learnt too, so that recoveries can be predicted."""

    policy: Policy

    @property
    def name(self) -> str:
        return self.policy.name

    @property
    def period_s(self) -> float:
        return self.policy.period_s

    @property
    def needs(self) -> frozenset[Need]:
        return self.policy.needs | FORETELLS

    @property
    def faithful(self) -> bool:
        return self.policy.faithful

    def decide(self, seen: Assessment) -> Decision:
        return self.policy.decide(seen)
