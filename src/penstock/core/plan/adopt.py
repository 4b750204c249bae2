"""A size of the policy becomes the one that is desired."""

from __future__ import annotations

from dataclasses import replace

from penstock.core.knowledge import Knowledge, with_executors


def adopt(knowledge: Knowledge, executors: int, at_s: float, *, own: bool = True) -> Knowledge:
    """Make this size the desired one.

    A reduction that the policy itself wanted (`own`) is remembered as its scale-down; one that the owner's limits forced is not.
    """
    fewer = executors < knowledge.desired.executors
    steering = replace(knowledge.steering, own_scale_down_s=at_s) if fewer and own else knowledge.steering
    return with_executors(replace(knowledge, steering=steering), executors)


def is_held(knowledge: Knowledge) -> bool:
    """Whether an operator holds the executors."""
    return any(hold.knob == "executors" for hold in knowledge.holds)
