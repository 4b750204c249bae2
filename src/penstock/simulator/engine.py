"""What both simulated engines share: their interface, the instructions they refuse, and their queue of events."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Collection
from itertools import count
from typing import Protocol

from penstock.core.domain.instruction import ChangeQuery, Instruction, Outcome, ScaleExecutors
from penstock.core.monitor.facts import Observation
from penstock.simulator.ground_truth import Record
from penstock.simulator.load import Load


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


def refusal(instruction: Instruction, query: str, under_way: Collection[str], misfit: Callable[[ChangeQuery], str]) -> str:
    """Why this cannot be done while these knobs are being turned; empty if it can. `misfit` says what the engine has against a change of its query."""
    if not isinstance(instruction, (ScaleExecutors, ChangeQuery)):
        return f"{type(instruction).__name__} is not for a simulated job"
    if instruction.knob in under_way:
        return f"{instruction.knob} is being changed already"
    if isinstance(instruction, ScaleExecutors):
        return "" if instruction.executors >= 1 else "a job needs an executor"
    return misfit(instruction) if instruction.query == query else f"there is no query {instruction.query!r}"


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
