"""When the policy is asked, and what failed is tried again."""

from __future__ import annotations

from penstock.core.knowledge import Knowledge
from penstock.core.terms import Terms


def is_due(knowledge: Knowledge, at_s: float, terms: Terms) -> bool:
    """Whether a decision is to be made now: somebody lets it, the executors can be changed, and this is the reading nearest to its time."""
    steering, reading = knowledge.steering, knowledge.last
    if terms.autopilot.mode == "observe" or steering.paused is not None or reading is None or "executors" in reading.unable:
        return False
    return has_come(steering.next_s, at_s, terms)


def has_come(moment_s: float | None, at_s: float, terms: Terms) -> bool:
    """Whether this is the reading nearest to a moment, or a later one; None has always come."""
    return moment_s is None or at_s >= moment_s - terms.config.reading_interval_s / 2
