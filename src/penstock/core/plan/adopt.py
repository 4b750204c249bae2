"""A size of the policy becomes the one that is desired."""

from __future__ import annotations

from dataclasses import replace

from penstock.core.knowledge import Knowledge, with_executors


def adopt(knowledge: Knowledge, executors: int, at_s: float, *, own: bool = True) -> Knowledge:
    """Knowledge in which this size is desired, and that remembers when the policy gave executors away; not its `own` are those that its owner took."""
    fewer = executors < knowledge.desired.executors
    steering = replace(knowledge.steering, own_scale_down_s=at_s) if fewer and own else knowledge.steering
    return with_executors(replace(knowledge, steering=steering), executors)


def is_held(knowledge: Knowledge) -> bool:
    """Whether an operator holds the executors."""
    return any(hold.knob == "executors" for hold in knowledge.holds)
