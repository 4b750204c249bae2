"""What a continuous job was asked to do, and what it refuses to."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from penstock.core.domain.instruction import ChangeQuery, Instruction, Outcome, ScaleExecutors
from penstock.simulator.continuous_settings import ContinuousSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """An instruction under way; `ready_s` is when it takes effect while the job works on, None: when the job is back."""

    instruction: ScaleExecutors | ChangeQuery
    report: Callable[[Outcome], None]
    asked_s: float
    before: int
    ready_s: float | None


def refusal(instruction: Instruction, settings: ContinuousSettings, under_way: Collection[Asked]) -> str:
    """Why this cannot be done; empty if it can."""
    if any(each.instruction.knob == instruction.knob for each in under_way):
        return f"{instruction.knob} is being changed already"
    if isinstance(instruction, ScaleExecutors):
        return "" if instruction.executors >= 1 else "a job needs a worker"
    if not isinstance(instruction, ChangeQuery):
        return f"{type(instruction).__name__} is not for a simulated job"
    if instruction.query != settings.query:
        return f"there is no query {instruction.query!r}"
    if instruction.trigger.kind != "real_time" or instruction.trigger.interval_s <= settings.pause_s:
        return f"a continuous job takes checkpoints further apart than {settings.pause_s:g} s, not {instruction.trigger}"
    return "" if instruction.partitions is None else "a continuous job has no partitions of state to change"
