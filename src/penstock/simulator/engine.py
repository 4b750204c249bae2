"""What both simulated engines share: their interface, the instructions they refuse, and their queue of events."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import fields, replace
from itertools import count
from typing import Any, Protocol, TypeVar

from penstock.core.domain.configuration import Change
from penstock.core.domain.instruction import Instruction, Outcome, joined
from penstock.core.monitor.facts import Observation
from penstock.simulator.ground_truth import Record
from penstock.simulator.load import Load

Settings = TypeVar("Settings", bound=Any)


class Engine(Protocol):
    """A job that lives only while it is advanced: in whole seconds from `record.start_s` on, with no chance but that of its seed."""

    @property
    def record(self) -> Record:
        """What truly happened so far, to all queries together."""
        ...

    @property
    def records(self) -> dict[str, Record]:
        """The same for each query by its name."""
        ...

    def advance(self, until_s: float) -> None:
        """Live on until then; the outcomes of what ends meanwhile are reported."""
        ...

    def observation(self) -> Observation:
        """Everything as it is now; batches and outputs since the last look."""
        ...

    def perform(self, instruction: Instruction, report: Callable[[Outcome], None]) -> None:
        """Begin what is asked now; `report` is called here if it is done or refused at once, else by the `advance` that ends it."""
        ...

    def follow(self, load: Load) -> None:
        """From now on rows arrive as this load says; of the past it must say what the one before said."""
        ...


def refusal(instruction: Instruction, queries: Collection[str], under_way: Collection[str], misfit: Callable[[str, Mapping[str, Any]], str]) -> str:
    """Return why an instruction cannot be done while these targets are being changed; empty if it can.

    `misfit` returns what the engine has against new values of one of its queries, by field.
    """
    change = instruction.change
    taken = next((target for target in instruction.targets if target in under_way), None)
    if taken is not None:
        return f"{taken} is being changed already"
    if change.executors is not None and change.executors[1] < 1:
        return "a job needs an executor"
    unknown = next((name for name in change.queries if name not in queries), None)
    if unknown is not None:
        return f"there is no query {unknown!r}"
    return next((why for name in change.queries if (why := misfit(name, change.of(name)))), "")


def changed(query: Settings, change: Change, name: str) -> Settings:
    """Return the settings of a query with the knobs that move; one that these settings do not have is not simulated."""
    known = {each.name for each in fields(query)}
    return replace(query, **{field: value for field, value in change.of(name).items() if field in known})


def alone(instruction: Instruction, report: Callable[[Outcome], None]) -> Iterator[tuple[Instruction, Callable[[Outcome], None]]]:
    """Return an instruction for each target, and report one outcome when all have ended: what can be done live is, beside what needs a stop."""
    moves, outcomes = instruction.change.moves, list[Outcome]()
    parts = [tuple(move for move in moves if move.query == query) for query in dict.fromkeys(move.query for move in moves)]

    def ended(outcome: Outcome) -> None:
        outcomes.append(outcome)
        if len(outcomes) == len(parts):
            report(joined(outcomes))

    for part in parts:
        yield replace(instruction, change=Change(moves=part)), report if len(parts) == 1 else ended


Act = Callable[[float], None]
"""Something that happens; it is told when."""


class Agenda:
    """Things to happen, the earliest first; of those at one moment the one that was added first.

    >>> agenda, happened = Agenda(), []
    >>> agenda.add(5.0, lambda at_s: happened.append(("b", at_s)))
    >>> agenda.add(3.0, lambda at_s: happened.append(("a", at_s)))
    >>> agenda.happen(), agenda.next_s, happened
    (None, 5.0, [('a', 3.0)])
    """

    def __init__(self) -> None:
        self._entries: list[tuple[float, int, Act]] = []
        self._order = count()

    @property
    def next_s(self) -> float:
        """When something happens next; infinite if nothing does."""
        return self._entries[0][0] if self._entries else math.inf

    def add(self, at_s: float, act: Act) -> None:
        heapq.heappush(self._entries, (at_s, next(self._order), act))

    def happen(self) -> None:
        """The next of them."""
        at_s, _, act = heapq.heappop(self._entries)
        act(at_s)
