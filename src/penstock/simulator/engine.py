"""What both simulated engines share: their interface, the instructions they refuse, and their queue of events."""

import heapq
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any, Protocol, TypeVar

from penstock.core.domain.configuration import Change
from penstock.core.domain.fault import Fault
from penstock.core.domain.instruction import Instruction, Outcome, joined
from penstock.core.domain.knobs import APPLIED
from penstock.core.monitor.facts import Observation
from penstock.simulator.ground_truth import Record
from penstock.simulator.load import Load

Settings = TypeVar("Settings", bound=Any)


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

    def strike(self, fault: Fault) -> str | None:
        """Apply a fault now; return the executor that it strikes."""

    def thaw(self, executor_id: str) -> None:
        """Let an executor go on that is frozen and was not lost yet."""

    def follow(self, load: Load) -> None:
        """Replace the load from now on; up to now it must equal the one before."""


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
    unset = next((move.address for move in change.moves if move.knob not in APPLIED), None)
    if unset is not None:
        return f"{unset} is not simulated"
    return next((why for name in change.queries if (why := misfit(name, change.of(name)))), "")


def changed(query: Settings, change: Change, name: str) -> Settings:
    """Return the settings of a query with the knobs that move."""
    return replace(query, **change.of(name))


def alone(instruction: Instruction, report: Callable[[Outcome], None]) -> Iterator[tuple[Instruction, Callable[[Outcome], None]]]:
    """Return an instruction for each target, and report one outcome when all have ended: what can be done live is, beside what needs a stop."""
    moves, outcomes = instruction.change.moves, list[Outcome]()
    parts = [tuple(move for move in moves if move.query == query) for query in dict.fromkeys(move.query for move in moves)]

    def ended(part: Instruction, outcome: Outcome) -> None:
        outcomes.append(outcome if outcome.done else replace(outcome, failed=tuple(move.address for move in part.change.moves)))
        if len(outcomes) == len(parts):
            report(joined(outcomes))

    for moved in parts:
        part = replace(instruction, change=Change(moves=moved))
        yield part, report if len(parts) == 1 else partial(ended, part)


class Agenda:
    """A queue of events by time; events of the same time are in the order in which they were added. An event is called with its time.

    >>> agenda, happened = Agenda(), []
    >>> agenda.add(5.0, lambda at_s: happened.append(("b", at_s)))
    >>> agenda.add(3.0, lambda at_s: happened.append(("a", at_s)))
    >>> agenda.happen(), agenda.next_s, happened
    (None, 5.0, [('a', 3.0)])
    """

    def __init__(self) -> None:
        self._entries: list[tuple[float, int, Callable[[float], object]]] = []
        self._order = count()

    @property
    def next_s(self) -> float:
        """The time of the next event; infinite if there is none."""
        return self._entries[0][0] if self._entries else math.inf

    def add(self, at_s: float, act: Callable[[float], object]) -> None:
        heapq.heappush(self._entries, (at_s, next(self._order), act))

    def happen(self) -> None:
        """Remove the next event and call it."""
        at_s, _, act = heapq.heappop(self._entries)
        act(at_s)
