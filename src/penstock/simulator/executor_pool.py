"""The executors of a simulated micro-batch job: those that run, those that are starting or leaving, and rescales while queries run."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from penstock.core.domain.instruction import Outcome
from penstock.core.shapes.chance import key_of, uniform
from penstock.simulator.engine import Agenda
from penstock.simulator.engine_settings import MicroBatchSettings
from penstock.simulator.ground_truth import Record, Rescaled
from penstock.simulator.seeded_draws import STARTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Executor:
    """A running executor; `cold_since_s` is None if it was warm when the simulation began."""

    executor_id: str
    added_s: float
    cold_since_s: float | None = None

    def age_s(self, at_s: float) -> float:
        """Return for how long it has warmed up."""
        return math.inf if self.cold_since_s is None else at_s - self.cold_since_s


@dataclass(slots=True, kw_only=True)
class Pool:
    """Executors, numbered from 1, oldest first. `coming` are the numbers of those that are starting, `changed_s` is when executors last came or went.

    `came` are new ones that have not been offered tasks; `leaving` is the number of those dismissed that are not gone yet.
    """

    requested: int
    changed_s: float
    running: list[Executor] = field(default_factory=list)
    coming: set[int] = field(default_factory=set)
    came: list[Executor] = field(default_factory=list)
    leaving: int = 0
    lost: int = 0
    numbers: int = 0

    @classmethod
    def warm(cls, executors: int, at_s: float) -> Self:
        """Return the pool of a job that has been running with this number of executors for a while."""
        running = [Executor(executor_id=str(number), added_s=at_s) for number in range(1, executors + 1)]
        return cls(requested=executors, changed_s=at_s, running=running, numbers=executors)

    @property
    def expected(self) -> int:
        """The number of running and starting executors."""
        return len(self.running) + len(self.coming)

    @property
    def paid(self) -> int:
        """The number of expected executors, and of those that are not gone yet."""
        return self.expected + self.leaving

    def ask(self) -> int:
        """Start another executor, and return its number."""
        self.numbers += 1
        self.coming.add(self.numbers)
        return self.numbers

    def arrive(self, number: int, at_s: float) -> bool:
        """Add a starting executor to the running ones, unless it was called off; return whether it was added."""
        if number not in self.coming:
            return False
        self.coming.remove(number)
        self.running.append(Executor(executor_id=str(number), added_s=at_s, cold_since_s=at_s))
        self.came.append(self.running[-1])
        self.changed_s = at_s
        return True

    def call_off(self, most: int) -> None:
        """Call off starting executors beyond `most` in all, newest first."""
        while self.coming and self.expected > most:
            self.coming.remove(max(self.coming))

    def dismiss(self, most: int, at_s: float) -> int:
        """Dismiss the newest executors until `most` run; return how many are leaving."""
        dismissed = max(0, len(self.running) - most)
        if dismissed:
            del self.running[most:]
            self.leaving += dismissed
            self.changed_s = at_s
        return dismissed

    def lose(self, executor_id: str, at_s: float) -> bool:
        """Remove an executor that failed; return False if it has gone already."""
        left = [each for each in self.running if each.executor_id != executor_id]
        found = len(left) < len(self.running)
        if found:
            self.running, self.lost, self.changed_s = left, self.lost + 1, at_s
        return found


@dataclass(slots=True, kw_only=True, eq=False)
class UnderWay:
    """A rescale; it is `leaving` from when its executors are dismissed until they are gone."""

    number: int
    after: int
    report: Callable[[Outcome], None]
    asked_s: float
    before: int
    leaving: bool = False


class LiveScaling:
    """Carries out one rescale at a time: new executors are used as they get ready; surplus ones leave between two batches, or after `gap_wait_s`."""

    def __init__(self, pool: Pool, agenda: Agenda, settings: MicroBatchSettings, records: Sequence[Record], seed: int) -> None:
        self._pool = pool
        self._agenda = agenda
        self._settings = settings
        self._records = records
        self._key = key_of(seed, STARTS)
        self._under_way: UnderWay | None = None

    @property
    def is_under_way(self) -> bool:
        return self._under_way is not None

    def ask(self, number: int, executors: int, report: Callable[[Outcome], None], at_s: float, *, torn: Callable[[int], None]) -> None:
        """Begin a rescale; `torn` is called with the number of executors that had to leave in the middle of a batch."""
        under_way = UnderWay(number=number, after=executors, report=report, asked_s=at_s, before=self._pool.requested)
        self._pool.requested = executors
        self._pool.call_off(executors)
        for _ in range(executors - self._pool.expected):
            self._start_one(at_s, self._settings.up_s, self._settings.up_spread)
        self._under_way = under_way

        def without_a_gap(now_s: float) -> None:
            if self._under_way is under_way:
                torn(self._dismiss(now_s))
                self._settle(now_s)

        if len(self._pool.running) > under_way.after:
            self._agenda.add(at_s + self._settings.gap_wait_s, without_a_gap)
        self._settle(at_s)

    def gap(self, at_s: float) -> None:
        """Dismiss surplus executors, as no batch runs."""
        self._dismiss(at_s)
        self._settle(at_s)

    def replace_lost(self, at_s: float) -> None:
        """Start another executor if fewer are expected than requested."""
        if self._pool.expected < self._pool.requested:
            self._start_one(at_s, self._settings.replace_s, 0.0)

    def _start_one(self, at_s: float, takes_s: float, spread: float) -> None:
        number = self._pool.ask()
        share = float(uniform(self._key, np.array([number]))[0]) - 0.5
        self._agenda.add(at_s + takes_s * (1.0 + spread * share), lambda now_s: self._ready(number, now_s))

    def _ready(self, number: int, at_s: float) -> None:
        if self._pool.arrive(number, at_s):
            self._settle(at_s)

    def _dismiss(self, at_s: float) -> int:
        under_way = self._under_way
        if under_way is None or not (dismissed := self._pool.dismiss(under_way.after, at_s)):
            return 0
        under_way.leaving = True

        def are_gone(now_s: float) -> None:
            self._pool.leaving -= dismissed
            under_way.leaving = False
            self._settle(now_s)

        self._agenda.add(at_s + self._settings.down_s, are_gone)
        return dismissed

    def _settle(self, at_s: float) -> None:
        """End the rescale if the requested number of executors runs."""
        under_way = self._under_way
        if under_way is not None and not under_way.leaving and len(self._pool.running) == under_way.after:
            self._under_way = None
            if under_way.after != under_way.before:
                done = Rescaled(asked_s=under_way.asked_s, done_s=at_s, before=under_way.before, after=under_way.after)
                for record in self._records:
                    record.rescales.append(done)
            under_way.report(Outcome(number=under_way.number, done=True, took_s=at_s - under_way.asked_s))
