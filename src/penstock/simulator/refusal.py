"""What a simulated job refuses to do."""

from __future__ import annotations

from collections.abc import Callable, Collection

from penstock.core.domain.instruction import ChangeQuery, Instruction, ScaleExecutors


def refusal(instruction: Instruction, query: str, under_way: Collection[str], misfit: Callable[[ChangeQuery], str]) -> str:
    """Why this cannot be done while these knobs are being turned; empty if it can. `misfit` says what the engine has against a change of its query."""
    if not isinstance(instruction, (ScaleExecutors, ChangeQuery)):
        return f"{type(instruction).__name__} is not for a simulated job"
    if instruction.knob in under_way:
        return f"{instruction.knob} is being changed already"
    if isinstance(instruction, ScaleExecutors):
        return "" if instruction.executors >= 1 else "a job needs an executor"
    return misfit(instruction) if instruction.query == query else f"there is no query {instruction.query!r}"
