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
    """A simulated job. Its time passes only in `advance`, from `record.start_s` on; a seed determines all of its randomness."""

    @property
    def record(self) -> Record:
        """The exact record so far of all queries together."""

    @property
    def records(self) -> dict[str, Record]:
        """The exact record of each query, by its name."""

    def advance(self, until_s: float) -> None:
        """Simulate until `until_s`, and report the outcomes of the instructions that end before it."""

    def observation(self) -> Observation:
        """Return the present state, with the batches and outputs since the last call."""

    def perform(self, instruction: Instruction, report: Callable[[Outcome], None]) -> None:
        """Start the instruction. `report` is called here if it is done or refused at once, else by the `advance` in which it ends."""

    def follow(self, load: Load) -> None:
        """Replace the load from now on; up to now it must equal the one before."""


def refusal(instruction: Instruction, query: str, under_way: Collection[str], misfit: Callable[[ChangeQuery], str]) -> str:
    """Return why the instruction is refused while the knobs `under_way` are changing, or "". `misfit` checks a change of the query for the engine."""
    if not isinstance(instruction, (ScaleExecutors, ChangeQuery)):
        return f"{type(instruction).__name__} is not for a simulated job"
    if instruction.knob in under_way:
        return f"{instruction.knob} is being changed already"
    if isinstance(instruction, ScaleExecutors):
        return "" if instruction.executors >= 1 else "a job needs an executor"
    return misfit(instruction) if instruction.query == query else f"there is no query {instruction.query!r}"


class Agenda:
    """A queue of events by time; events of the same time are in the order in which they were added. An event is called with its time.

    >>> agenda, happened = Agenda(), []
    >>> agenda.add(5.0, lambda at_s: happened.append(("b", at_s)))
    >>> agenda.add(3.0, lambda at_s: happened.append(("a", at_s)))
    >>> agenda.happen(), agenda.next_s, happened
    (None, 5.0, [('a', 3.0)])
    """

    def __init__(self) -> None:
        self._entries: list[tuple[float, int, Callable[[float], None]]] = []
        self._order = count()

    @property
    def next_s(self) -> float:
        """The time of the next event; infinite if there is none."""
        return self._entries[0][0] if self._entries else math.inf

    def add(self, at_s: float, act: Callable[[float], None]) -> None:
        heapq.heappush(self._entries, (at_s, next(self._order), act))

    def happen(self) -> None:
        """Remove the next event and call it."""
        at_s, _, act = heapq.heappop(self._entries)
        act(at_s)
