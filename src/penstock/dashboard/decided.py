"""What a policy did in a run, in a few numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.core.domain.events.autopilot import Decided, Graded, PromiseBroken
from penstock.core.domain.events.event import Event
from penstock.core.domain.routine import CHANGES


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedSummary:
    """The last policy of a run, how often it went up and down, promises broken meanwhile, and how many of its graded predictions held.

    A proposal counts when it is approved.
    """

    policy: str
    in_shadow: bool
    ups: int
    downs: int
    broken: int
    grades: int
    within: int

    def rows(self) -> list[tuple[str, str]]:
        return [
            (f"decided by {self.policy}", f"{self.ups} up, {self.downs} down{', in shadow' if self.in_shadow else ''}"),
            ("promises broken", str(self.broken)),
            ("predictions within their bounds", f"{self.within / self.grades:.0%} of {self.grades}" if self.grades else "none graded yet"),
        ]


def summarise_decisions(events: Sequence[Event]) -> DecidedSummary | None:
    """None where no policy decided."""
    decided = [event for event in events if isinstance(event, Decided)]
    if not decided:
        return None
    directions = [each.decision.direction for each in decided if each.effect in CHANGES]
    graded = [event for event in events if isinstance(event, Graded)]
    return DecidedSummary(
        policy=decided[-1].policy,
        in_shadow=decided[-1].mode == "shadow",
        ups=directions.count("up"),
        downs=directions.count("down"),
        broken=sum(isinstance(event, PromiseBroken) for event in events),
        grades=len(graded),
        within=sum(each.low <= each.actual <= each.high for each in graded),
    )
