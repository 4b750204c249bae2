"""One query of a job in micro-batches: its input, its position, its triggers and the running batch."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from penstock.core.domain.cadence import batch_latency_s
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.domain.trigger import HAIR, next_trigger_s
from penstock.core.models.recovery.batch_recovery import cold_work_s
from penstock.core.monitor.facts import BatchFact, QueryFacts
from penstock.core.shapes.chance import key_of
from penstock.simulator.batch import Batch, batch_fact, planned_batch
from penstock.simulator.diary import Diary
from penstock.simulator.engine import changed
from penstock.simulator.engine_settings import MicroBatchSettings
from penstock.simulator.executor_pool import Executor
from penstock.simulator.ground_truth import Record
from penstock.simulator.load import Rows, Topic
from penstock.simulator.seeded_draws import DURATIONS, normal

LEAST_ROWS = 1e-3
"""Fewer rows do not start a batch."""
NOISE_AT_ONCE = 1024
HARDLY_LONGER = 1.2
"""A job has recovered when the latency is at most this many times that of before the failure."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Changing:
    """New settings of the query, which wait for a commit; the query is stopped for them at `stopped_s`."""

    instruction: Instruction
    report: Callable[[Outcome], None]
    asked_s: float
    stopped_s: float | None = None


def misfit(name: str, values: Mapping[str, Any]) -> str:
    """Return why a query in micro-batches cannot have these values; empty if it can."""
    trigger = values.get("trigger")
    return "" if trigger is None or trigger.kind == "processing_time" else f"a job in micro-batches has no trigger {trigger}"


class MicroBatchQuery:
    """A query whose engine starts and commits its batches. `changing` is a change under way; `writes` is the topic of its results, if a query reads them."""

    def __init__(
        self, settings: MicroBatchSettings, reads: Rows, start_s: float, *, executors: int, seed: int, writes: Topic | None = None, selectivity: float = 1.0,
        promised_s: float | None = None,
    ) -> None:  # fmt: skip
        self.settings = settings
        self.reads = reads
        self.record = Record(start_s)
        self.diary = Diary(self.record, executors)
        self.batch: Batch | None = None
        self.changing: Changing | None = None
        self.started_s = self.disturbed_s = self._began_s = start_s
        self._writes, self._selectivity = writes, selectivity
        self._noise_key = key_of(seed, DURATIONS)
        self._due_s = start_s
        self._committed: list[BatchFact] = []
        self._usual_s, self._promised_s = 0.0, promised_s
        self._batch_id = 0
        self._processed_rows = 0.0
        self._idle_s: float | None = None
        self._failures = 0
        self._is_down = False
        self._noises: list[float] = []

    @property
    def name(self) -> str:
        return self.settings.query

    @property
    def is_stopped(self) -> bool:
        """Whether it is stopped for a change or by a failure."""
        return self._is_down or (self.changing is not None and self.changing.stopped_s is not None)

    def is_idle(self, at_s: float) -> bool:
        """Return whether no batch runs and no row waits."""
        return self.batch is None and self.rows_until(at_s) - self._processed_rows < LEAST_ROWS

    def rows_until(self, at_s: float) -> float:
        return float(self.reads.rows_until(np.array([at_s]))[0])

    def starts_s(self, now_s: float) -> float:
        """Return when the next batch starts: at the first trigger, from the one that is due on, that finds rows."""
        if self.batch or self.is_stopped:
            return math.inf
        if self.rows_until(self._due_s) - self._processed_rows >= LEAST_ROWS / 2:
            return max(self._due_s, now_s)
        came_s, interval_s = float(self.reads.arrived_s(np.array([self._processed_rows + LEAST_ROWS]))[0]), self.settings.interval_s
        return max(trigger_from_s(came_s, interval_s), next_trigger_s(self._due_s, interval_s), now_s)

    def start(self, start_s: float, executors: Sequence[Executor], hung_s: float, *, first_task: bool) -> None:
        """Start a batch of the waiting rows; no task ends before `hung_s`. `first_task`: one is the first of a new executor."""
        settings = self.settings
        if start_s > self._due_s:
            self._idle_s = max(self._due_s, start_s - settings.interval_s)
        waiting = max(0.0, self.rows_until(start_s) - self._processed_rows)
        batch = planned_batch(settings, executors, self._batch_id, self._processed_rows, waiting, start_s, self._noise(), start_s - self._began_s).hung(hung_s)
        self.batch = batch.with_first_task(batch.works_from_s, settings.first_task_s) if first_task else batch
        self._batch_id += 1

    def join(self, newcomer: Executor, now_s: float, running: Sequence[Executor]) -> bool:
        """Offer the waiting tasks of the batch to a new executor; return whether it takes one."""
        batch, settings = self.batch, self.settings
        slower = partial(cold_work_s, factor=settings.warm_up_factor, fades_s=settings.warm_up_s)
        if batch is None:
            return False
        if not any(each.executor_id in batch.crew.everyone for each in running):
            slow_s = slower(batch.planned_s, newcomer.age_s(max(now_s, batch.works_from_s)))
            self.batch = batch.taken_over(newcomer.executor_id).longer(settings.first_task_s + slow_s)
            return True
        if not batch.has_waiting_tasks(now_s):
            return False
        slow_s = slower(batch.still_s(now_s), newcomer.age_s(now_s))
        self.batch = batch.joined(newcomer.executor_id, now_s, settings.first_task_s + slow_s).with_first_task(now_s, settings.first_task_s)
        return True

    def _noise(self) -> float:
        """Return the normal random number of this batch."""
        place = self._batch_id % NOISE_AT_ONCE
        if place == 0:
            self._noises = normal(self._noise_key, self._batch_id + np.arange(NOISE_AT_ONCE)).tolist()
        return self._noises[place]

    def commit(self, batch: Batch) -> None:
        self.batch = None
        self._processed_rows += batch.rows
        self._due_s = max(batch.ends_s, next_trigger_s(batch.started_s, self.settings.interval_s))
        reported_s, recorded_s = batch.arrived_s(self.reads)
        self._committed.append(batch_fact(batch, self.settings, reported_s))
        self.diary.committed(batch, recorded_s)
        if self._writes is not None:
            self._writes.write(np.array([batch.ends_s]), np.array([self._selectivity * batch.rows]))
        self._watch_recovery(batch, float(recorded_s[0]))

    def _watch_recovery(self, batch: Batch, first_s: float) -> None:
        """Note a recovery at the end of the first batch that takes all rows and whose latency is the promised one, or hardly longer than before."""
        latency_s = batch_latency_s(batch.started_s - first_s, batch.duration_s)
        if all(each.recovered_s is not None for each in self.record.struck):
            self._usual_s = latency_s
        elif batch.takes_all and latency_s <= max(self._promised_s or 0.0, HARDLY_LONGER * self._usual_s):
            self.record.recovered(batch.ends_s)

    def stop(self, changing: Changing, at_s: float) -> float:
        """Stop for a change, and return when it restarts; the rows of the running batch are processed again then."""
        self.batch, self.changing = None, replace(changing, stopped_s=at_s)
        back_s = at_s + self.settings.restart_s
        self.diary.down(at_s, back_s)
        return back_s

    def restart(self, at_s: float) -> None:
        changing = self.changing
        assert changing is not None and changing.stopped_s is not None
        wanted, self.changing = changing.instruction, None
        self.settings = changed(self.settings, wanted.change, self.name)
        self.started_s = self.disturbed_s = self._due_s = at_s
        delayed_rows = self.rows_until(at_s) - self.rows_until(changing.stopped_s)
        took_s, down_s = at_s - changing.asked_s, at_s - changing.stopped_s
        changing.report(Outcome(number=wanted.number, done=True, took_s=took_s, down_s=down_s, delayed_rows=delayed_rows))

    def fail(self, at_s: float) -> float | None:
        """Fail, and return when it restarts; None if it is stopped already."""
        if self.is_stopped:
            return None
        self.batch, self._is_down, self.disturbed_s = None, True, at_s
        self._failures += 1
        back_s = at_s + self.settings.failed_s
        self.diary.down(at_s, back_s)
        return back_s

    def come_back(self, at_s: float) -> None:
        """Restart after a failure, from the last commit."""
        self._is_down = False
        self.started_s = self.disturbed_s = self._due_s = at_s

    def facts(self, now_s: float) -> QueryFacts:
        """Return the present state, with the batches since the last call."""
        committed, self._committed = tuple(self._committed), []
        settings, newest = self.settings, self.rows_until(now_s)
        waiting = newest - self._processed_rows >= LEAST_ROWS
        oldest_s = float(self.reads.arrived_s(np.array([self._processed_rows]))[0]) if waiting else now_s
        return QueryFacts(
            name=settings.query, state="restarting" if self.is_stopped else "running", trigger=settings.trigger,
            rate_limit_rows_per_s=settings.rate_limit_rows_per_s, started_s=self.started_s, batches=committed,
            idle_s=now_s if not self.batch and not waiting and self._due_s <= now_s else self._idle_s, newest_rows=newest,
            processed_rows=self._processed_rows, oldest_waiting_s=max(0.0, now_s - oldest_s), partitions=settings.partitions, failures=self._failures,
        )  # fmt: skip


def trigger_from_s(came_s: float, interval_s: float) -> float:
    """Return the first trigger that finds a row that arrived at `came_s`.

    >>> trigger_from_s(10.0, 5.0), trigger_from_s(10.1, 5.0), trigger_from_s(10.1, 0.0)
    (10.0, 15.0, 10.1)
    """
    return interval_s * math.ceil(came_s / interval_s - HAIR) if interval_s and math.isfinite(came_s) else came_s
