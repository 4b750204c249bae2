"""Executors that come and go while the queries work on, as Spark's allocation client lets them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from penstock.core.domain.instruction import Outcome, ScaleExecutors
from penstock.core.shapes.chance import key_of, uniform
from penstock.simulator.agenda import Agenda
from penstock.simulator.ground_truth import Record, Rescaled
from penstock.simulator.microbatch_settings import MicroBatchSettings
from penstock.simulator.pool import Pool

COMING = 11
"""The part of a seed that spreads the times at which new executors are ready."""


@dataclass(slots=True, kw_only=True, eq=False)
class UnderWay:
    """A rescale; `leaving` from when its executors were dismissed until they are gone."""

    instruction: ScaleExecutors
    report: Callable[[Outcome], None]
    asked_s: float
    before: int
    leaving: bool = False

    @property
    def after(self) -> int:
        return self.instruction.executors


class LiveScaling:
    """One rescale at a time: new executors are used when they are ready, surplus ones leave between two batches, or when nobody waits for that any longer."""

    def __init__(self, pool: Pool, agenda: Agenda, settings: MicroBatchSettings, records: Sequence[Record], seed: int) -> None:
        self._pool = pool
        self._agenda = agenda
        self._settings = settings
        self._records = records
        self._key = key_of(seed, COMING)
        self._under_way: UnderWay | None = None

    @property
    def is_under_way(self) -> bool:
        return self._under_way is not None

    def ask(self, instruction: ScaleExecutors, report: Callable[[Outcome], None], at_s: float, *, torn: Callable[[int], None]) -> None:
        """Begin; `torn` is told of executors that had to leave in the middle of a batch."""
        under_way = UnderWay(instruction=instruction, report=report, asked_s=at_s, before=self._pool.requested)
        self._pool.requested = instruction.executors
        self._pool.call_off(instruction.executors)
        for _ in range(instruction.executors - self._pool.expected):
            self._send_for_one(at_s, self._settings.up_s, self._settings.up_spread)
        self._under_way = under_way

        def without_a_gap(now_s: float) -> None:
            if self._under_way is under_way:
                torn(self._dismiss(now_s))
                self._settle(now_s)

        if len(self._pool.running) > under_way.after:
            self._agenda.add(at_s + self._settings.gap_wait_s, without_a_gap)
        self._settle(at_s)

    def gap(self, at_s: float) -> None:
        """No batch runs: whoever is too many leaves."""
        self._dismiss(at_s)
        self._settle(at_s)

    def replace_lost(self, at_s: float) -> None:
        """Spark asks for another one where fewer run than were asked for."""
        if self._pool.expected < self._pool.requested:
            self._send_for_one(at_s, self._settings.replace_s, 0.0)

    def _send_for_one(self, at_s: float, takes_s: float, spread: float) -> None:
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
            self._pool.gone(dismissed)
            under_way.leaving = False
            self._settle(now_s)

        self._agenda.add(at_s + self._settings.down_s, are_gone)
        return dismissed

    def _settle(self, at_s: float) -> None:
        """The rescale is done when exactly those run that were asked for."""
        under_way = self._under_way
        if under_way is not None and not under_way.leaving and len(self._pool.running) == under_way.after:
            self._under_way = None
            if under_way.after != under_way.before:
                done = Rescaled(asked_s=under_way.asked_s, done_s=at_s, before=under_way.before, after=under_way.after)
                for record in self._records:
                    record.rescales.append(done)
            under_way.report(Outcome(number=under_way.instruction.number, done=True, took_s=at_s - under_way.asked_s))
