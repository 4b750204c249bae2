"""One turn of the loop: what came in goes through the phases; new knowledge, instructions and events come out. Nothing is performed here."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.core.domain.command import Command
from penstock.core.domain.event import Event, NothingToDo
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.domain.reading import Reading
from penstock.core.execute.commands import take_commands
from penstock.core.execute.holds import end_holds
from penstock.core.execute.outcomes import take_outcomes
from penstock.core.execute.presence import watch_executors
from penstock.core.execute.reconcile import reconcile
from penstock.core.knowledge import Knowledge
from penstock.core.terms import Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """All that a turn may look at: time is data."""

    at_s: float
    reading: Reading | None = None
    outcomes: tuple[Outcome, ...] = ()
    commands: tuple[Command, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What a turn decided."""

    knowledge: Knowledge
    instructions: tuple[Instruction, ...]
    events: tuple[Event, ...]


def turn(knowledge: Knowledge, inputs: Inputs, terms: Terms) -> Turn:
    """Take in what happened, settle what is desired, and ask for what differs from it."""
    if inputs.reading is not None:
        knowledge = replace(knowledge, last=inputs.reading)
    knowledge, done = take_outcomes(knowledge, inputs.outcomes, inputs.at_s)
    knowledge, freed = end_holds(knowledge, inputs.at_s)
    knowledge, said = take_commands(knowledge, inputs.commands, inputs.at_s, terms)
    knowledge, noticed = watch_executors(knowledge, inputs.at_s, terms.config)
    knowledge, instructions, given = reconcile(knowledge, inputs.at_s)
    events = [*done, *freed, *said, *noticed, *given]
    if not events:
        waiting = ", ".join(pending.instruction.knob for pending in knowledge.pending)
        events.append(NothingToDo(at_s=inputs.at_s, reason=f"waiting for {waiting}" if waiting else "as desired"))
    return Turn(knowledge=knowledge, instructions=tuple(instructions), events=tuple(events))
