"""What became of earlier instructions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.core.domain.events.event import Event
from penstock.core.domain.events.executors import ExecutorsMissing
from penstock.core.domain.events.steering import InstructionDone, InstructionFailed
from penstock.core.domain.instruction import MISSING, ChangeQuery, Outcome, ScaleExecutors
from penstock.core.execute.actual import as_it_is
from penstock.core.knowledge import Knowledge


def take_outcomes(knowledge: Knowledge, outcomes: Sequence[Outcome], at_s: float) -> tuple[Knowledge, list[Event]]:
    """Close the instructions that ended.

    One that failed is not asked for again: the wish for it is dropped, but for executors, which may still come.
    """
    events: list[Event] = []
    for outcome in outcomes:
        pending = next((each for each in knowledge.pending if each.instruction.number == outcome.number), None)
        if pending is None:
            continue
        instruction = pending.instruction
        knowledge = replace(knowledge, pending=tuple(each for each in knowledge.pending if each is not pending))
        if outcome.done:
            events.append(
                InstructionDone(
                    at_s=at_s, number=outcome.number, knob=instruction.knob, took_s=outcome.took_s, delayed_rows=outcome.delayed_rows, note=outcome.reason
                )
            )
            if isinstance(instruction, ChangeQuery) and instruction.partitions is not None:
                knowledge = partitions_are_changed(knowledge, instruction)
        elif isinstance(instruction, ScaleExecutors) and outcome.reason == MISSING:
            running = knowledge.last.executors_running if knowledge.last else 0
            events.append(ExecutorsMissing(at_s=at_s, requested=instruction.executors, running=running, waited_s=outcome.took_s, number=outcome.number))
            knowledge = replace(knowledge, missing_since_s=pending.since_s, missing_reported=True)
        else:
            events.append(InstructionFailed(at_s=at_s, number=outcome.number, knob=instruction.knob, took_s=outcome.took_s, reason=outcome.reason))
            if isinstance(instruction, (ScaleExecutors, ChangeQuery)):
                knowledge = as_it_is(knowledge, instruction)
    return knowledge, events


def partitions_are_changed(knowledge: Knowledge, done: ChangeQuery) -> Knowledge:
    """Partitions that were changed are in the checkpoint and no longer a wish: no reading tells of them before the next commit, which may be far away."""
    partitions = knowledge.desired.partitions
    if partitions.get(done.query) != done.partitions:
        return knowledge
    return replace(knowledge, desired=replace(knowledge.desired, partitions={**partitions, done.query: None}))
