"""Flink's reactive mode under the Horizontal Pod Autoscaler, as Phoebe was compared with it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.core.assessment import Assessment
from penstock.core.domain.decision import Comparison, Decision
from penstock.core.policies.hpa import Hpa
from penstock.core.settings import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Reactive(Hpa):
    """HPA at a low target that acts during recoveries too: its margin is for the restart that every change of size costs (Phoebe sec. IV-C).

    The restart is the plant's doing; a decision on a plant that changes its size while it works says that this is not what was compared.
    """

    name: str = "reactive"
    target: float = setting(0.35, "utilisation to be held (Phoebe sec. IV-C, after Flink's own example of reactive mode)", lowest=0.01, highest=1)

    def decide(self, seen: Assessment) -> Decision:
        decision = Hpa.decide(self, seen)
        if seen.plant == "continuous":
            return decision
        return replace(decision, guards=(*decision.guards, Comparison(code="plant_rescales_live")))
