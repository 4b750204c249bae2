from typing import Any

from penstock.core.domain.configuration import Change, Configuration, Move, QueryConfiguration, difference
from penstock.core.domain.instruction import Instruction
from penstock.core.domain.trigger import Trigger


def scaled_to(executors: int = 3, **triggers: str) -> Configuration:
    return Configuration(executors=executors, queries={name: QueryConfiguration(trigger=Trigger.parse(text)) for name, text in triggers.items()})


def rescaled(before: int, after: int) -> Change:
    return difference(scaled_to(before), scaled_to(after))


def scaling(number: int, before: int, after: int, decision: int | None = None) -> Instruction:
    return Instruction(number=number, decision=decision, change=rescaled(before, after))


def changing(number: int, query: str, decision: int | None = None, **moves: tuple[Any, Any]) -> Instruction:
    """An instruction for one query: value before and after by the name of a knob, with _ for -."""
    return Instruction(
        number=number,
        decision=decision,
        change=Change(moves=tuple(Move(knob=knob.replace("_", "-"), query=query, before=was, after=now) for knob, (was, now) in moves.items())),
    )
