"""What a job in micro-batches is asked to change, and what it refuses to."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from penstock.core.domain.instruction import ChangeQuery, Instruction, Outcome, ScaleExecutors
from penstock.simulator.microbatch_settings import MicroBatchSettings


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Changing:
    """New settings of the query that wait for a commit, and from `stopped_s` on for the query to be back."""

    instruction: ChangeQuery
    report: Callable[[Outcome], None]
    asked_s: float
    stopped_s: float | None = None


def refusal(instruction: Instruction, settings: MicroBatchSettings, under_way: Collection[str]) -> str:
    """Why this cannot be done while these knobs are being turned; empty if it can."""
    if not isinstance(instruction, (ScaleExecutors, ChangeQuery)):
        return f"{type(instruction).__name__} is not for a simulated job"
    if instruction.knob in under_way:
        return f"{instruction.knob} is being changed already"
    if isinstance(instruction, ScaleExecutors):
        return "" if instruction.executors >= 1 else "a job needs an executor"
    if instruction.query != settings.query:
        return f"there is no query {instruction.query!r}"
    return "" if instruction.trigger.kind == "processing_time" else f"a job in micro-batches has no trigger {instruction.trigger}"
