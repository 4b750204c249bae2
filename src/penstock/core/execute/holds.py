"""Operators' values are held for a time, then free to be decided about again."""

from __future__ import annotations

from dataclasses import replace

from penstock.core.domain.events.event import Event
from penstock.core.domain.events.steering import HoldEnded
from penstock.core.knowledge import Hold, Knowledge


def end_holds(knowledge: Knowledge, at_s: float) -> tuple[Knowledge, list[Event]]:
    """Let go of holds whose time has run out."""
    over = [hold for hold in knowledge.holds if hold.until_s <= at_s]
    if not over:
        return knowledge, []
    events: list[Event] = [HoldEnded(at_s=at_s, knob=hold.knob, value=hold.value, expired=True) for hold in over]
    return replace(knowledge, holds=tuple(hold for hold in knowledge.holds if hold not in over)), events


def hold(knowledge: Knowledge, new: Hold) -> Knowledge:
    """Knowledge with this hold in place of any earlier one on the same knob."""
    return replace(knowledge, holds=(*(each for each in knowledge.holds if each.knob != new.knob), new))
