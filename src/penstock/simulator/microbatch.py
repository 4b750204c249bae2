"""The micro-batch engine: a job that takes in what has arrived, batch by batch, while executors come and go."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from penstock.core.domain.instruction import ChangeQuery, Instruction, Outcome, ScaleExecutors
from penstock.core.monitor.facts import BatchFact, ExecutorFact, Observation, QueryFacts
from penstock.core.shapes.chance import key_of, uniform
from penstock.simulator.agenda import Agenda
from penstock.simulator.batch import Batch, batch_fact
from penstock.simulator.batch_plan import planned_batch
from penstock.simulator.chance import normal
from penstock.simulator.diary import Diary
from penstock.simulator.live_scaling import LiveScaling
from penstock.simulator.load import Load
from penstock.simulator.microbatch_settings import MicroBatchSettings
from penstock.simulator.pool import Pool
from penstock.simulator.query_change import Changing, refusal
from penstock.simulator.record import Fault, Record, Struck
from penstock.simulator.trigger_grid import next_trigger_s, trigger_from_s

DURATIONS, VICTIMS = 12, 13
"""The parts of a seed that make durations noisy and choose whom a fault strikes."""
LEAST_ROWS = 1e-3
"""Less than this does not start a batch."""
NOISE_AT_ONCE = 1024
HARDLY_LONGER = 1.2
"""Times as long as before a failure: without an interval to fit into, a job whose batches take no longer has caught up."""


class MicroBatchEngine:
    """A job of one query; the executors that run when a batch starts do all of it (those that come later mostly miss its last wave of tasks)."""

    def __init__(self, settings: MicroBatchSettings, load: Load, *, executors: int, seed: int = 0, faults: Sequence[Fault] = ()) -> None:
        self._settings = settings
        self._load = load
        self._seed = seed
        self._record = Record(load.start_s)
        self._now_s = self._started_s = self._due_s = load.start_s
        self._pool = Pool.warm(executors, load.start_s)
        self._diary = Diary(self._record, executors)
        self._agenda = Agenda()
        self._scaling = LiveScaling(self._pool, self._agenda, settings, self._record, seed)
        self._changing: Changing | None = None
        self._batch: Batch | None = None
        self._committed: list[BatchFact] = []
        self._last: Batch | None = None
        self._batch_id = 0
        self._processed_rows = 0.0
        self._idle_s: float | None = None
        self._frozen: dict[str, float] = {}
        self._noises: list[float] = []
        for number, fault in enumerate(faults):
            self._agenda.add(fault.at_s, self._striking(number, fault))

    @property
    def record(self) -> Record:
        self._diary.write(self._now_s, self._load)
        return self._record

    def follow(self, load: Load) -> None:
        self._load = load

    def advance(self, until_s: float) -> None:
        """At one moment a fault comes before a commit, and a commit before the next batch."""
        while True:
            agenda_s, ends_s, starts_s = self._agenda.next_s, self._batch.ends_s if self._batch else math.inf, self._starts_s()
            if min(agenda_s, ends_s, starts_s) > until_s:
                break
            if agenda_s <= min(ends_s, starts_s):
                self._now_s = max(self._now_s, agenda_s)
                self._agenda.happen()
            elif self._batch:
                self._now_s = ends_s
                self._commit(self._batch)
            else:
                self._now_s = starts_s
                self._start()
            self._diary.paid(self._now_s, self._pool.paid)
        self._now_s = max(self._now_s, until_s)

    def _rows_until(self, at_s: float) -> float:
        return float(self._load.rows_until(np.array([at_s]))[0])

    def _starts_s(self) -> float:
        """When the next batch starts: at the first trigger that finds rows, the one that is due or a later one."""
        if self._batch or not self._pool.running or (self._changing and self._changing.stopped_s is not None):
            return math.inf
        if self._rows_until(self._due_s) - self._processed_rows >= LEAST_ROWS / 2:
            return max(self._due_s, self._now_s)
        came_s, interval_s = float(self._load.arrived_s(np.array([self._processed_rows + LEAST_ROWS]))[0]), self._settings.interval_s
        return max(trigger_from_s(came_s, interval_s), next_trigger_s(self._due_s, interval_s), self._now_s)

    def _start(self) -> None:
        settings, start_s = self._settings, self._now_s
        if start_s > self._due_s:
            self._idle_s = max(self._due_s, start_s - settings.interval_s)
        waiting = max(0.0, self._rows_until(start_s) - self._processed_rows)
        batch = planned_batch(settings, self._pool.running, self._batch_id, self._processed_rows, waiting, start_s, self._noise())
        self._batch_id += 1
        self._batch = batch.hung(max(self._frozen.values(), default=start_s))

    def _noise(self) -> float:
        """A normal number of its own for each batch."""
        place = self._batch_id % NOISE_AT_ONCE
        if place == 0:
            self._noises = normal(key_of(self._seed, DURATIONS), self._batch_id + np.arange(NOISE_AT_ONCE)).tolist()
        return self._noises[place]

    def _commit(self, batch: Batch) -> None:
        self._batch = None
        self._processed_rows += batch.rows
        self._due_s = max(batch.ends_s, next_trigger_s(batch.started_s, self._settings.interval_s))
        told_s, recorded_s = batch.arrived_s(self._load)
        self._committed.append(batch_fact(batch, self._settings, told_s))
        self._diary.committed(batch, recorded_s)
        self._watch_recovery(batch)
        if self._changing:
            self._stop(self._changing, self._now_s)
        self._scaling.gap(self._now_s)

    def _watch_recovery(self, batch: Batch) -> None:
        """Recovered at the end of the first batch that takes all rows and fits the interval; without an interval, one hardly longer than before."""
        if all(each.recovered_s is not None for each in self._record.struck):
            self._last = batch
        elif batch.takes_all:
            usual_s = HARDLY_LONGER * self._last.duration_s if self._last else batch.planned_s
            if batch.duration_s <= (self._settings.interval_s or usual_s):
                self._record.recovered(batch.ends_s)

    def _striking(self, number: int, fault: Fault) -> Callable[[float], None]:
        def strike(at_s: float) -> None:
            self._record.struck.append(Struck(at_s=fault.at_s, kind=fault.kind))
            if not self._pool.running:
                return
            place = int(float(uniform(key_of(self._seed, VICTIMS), np.array([number]))[0]) * len(self._pool.running))
            victim = self._pool.running[place].executor_id
            if fault.kind == "crash":
                self._lose(victim, at_s)
                return
            noticed_s = at_s + self._settings.timeout_s
            self._frozen[victim] = noticed_s
            self._batch = self._batch.hung(noticed_s) if self._batch else None
            self._agenda.add(noticed_s, lambda now_s: self._lose(victim, now_s))

        return strike

    def _lose(self, executor_id: str, at_s: float) -> None:
        """An executor is gone: the others repeat its share of the running batch, and another one is sent for."""
        self._frozen.pop(executor_id, None)
        if not self._pool.lose(executor_id, at_s):
            return
        self._scaling.replace_lost(at_s)
        if self._batch and executor_id in self._batch.executors:
            left, retry_s = len(self._pool.running), self._settings.retry_s
            if left:
                self._batch = self._batch.longer(self._batch.work_s / left + retry_s)
            else:
                self._batch = self._batch.again(at_s + self._settings.replace_s + retry_s)

    def perform(self, instruction: Instruction, report: Callable[[Outcome], None]) -> None:
        under_way = [*(["executors"] if self._scaling.is_under_way else []), *([self._changing.instruction.knob] if self._changing else [])]
        refused = refusal(instruction, self._settings, under_way)
        if refused:
            report(Outcome(number=instruction.number, done=False, took_s=0.0, reason=refused))
        elif isinstance(instruction, ScaleExecutors):
            self._scaling.ask(instruction, report, self._now_s, torn=self._torn)
            if not self._batch:
                self._scaling.gap(self._now_s)
            self._diary.paid(self._now_s, self._pool.paid)
        elif isinstance(instruction, ChangeQuery):
            changing = Changing(instruction=instruction, report=report, asked_s=self._now_s)
            self._changing = changing
            if self._batch:
                self._agenda.add(self._now_s + self._settings.commit_wait_s, lambda at_s: self._stop(changing, at_s) if self._changing is changing else None)
            else:
                self._stop(changing, self._now_s)

    def _torn(self, executors: int) -> None:
        """So many left in the middle of a batch: the others repeat their share."""
        if self._batch and executors:
            self._batch = self._batch.longer(self._batch.work_s * executors / len(self._pool.running))

    def _stop(self, changing: Changing, at_s: float) -> None:
        """Stop the query where it is; the batch that runs is taken in again when it is back."""
        self._batch = None
        self._changing = replace(changing, stopped_s=at_s)
        back_s = at_s + self._settings.restart_s
        self._diary.stood_still(at_s, back_s)
        self._agenda.add(back_s, self._restart)

    def _restart(self, at_s: float) -> None:
        changing = self._changing
        assert changing is not None and changing.stopped_s is not None
        wanted, self._changing = changing.instruction, None
        partitions = wanted.partitions or self._settings.partitions
        self._settings = replace(self._settings, trigger=wanted.trigger, rate_limit_rows_per_s=wanted.rate_limit_rows_per_s, partitions=partitions)
        self._started_s = self._due_s = at_s
        delayed_rows = self._rows_until(at_s) - self._rows_until(changing.stopped_s)
        took_s, down_s = at_s - changing.asked_s, at_s - changing.stopped_s
        changing.report(Outcome(number=wanted.number, done=True, took_s=took_s, down_s=down_s, delayed_rows=delayed_rows))

    def observation(self) -> Observation:
        return Observation(
            at_s=self._now_s,
            started_s=self._record.start_s,
            disturbed_s=max(self._pool.changed_s, self._started_s),
            executors_requested=self._pool.requested,
            executors=tuple(
                ExecutorFact(executor_id=each.executor_id, host="simulated", slots=self._settings.cores_per_executor, added_s=each.added_s)
                for each in self._pool.running
            ),
            queries=(self._query(),),
            executors_lost=self._pool.lost,
        )

    def _query(self) -> QueryFacts:
        committed, self._committed = tuple(self._committed), []
        settings, newest = self._settings, self._rows_until(self._now_s)
        waiting = newest - self._processed_rows >= LEAST_ROWS
        oldest_s = float(self._load.arrived_s(np.array([self._processed_rows]))[0]) if waiting else self._now_s
        return QueryFacts(
            name=settings.query,
            state="restarting" if self._changing and self._changing.stopped_s is not None else "running",
            trigger=settings.trigger,
            rate_limit_rows_per_s=settings.rate_limit_rows_per_s,
            started_s=self._started_s,
            batches=committed,
            idle_s=self._now_s if not self._batch and not waiting and self._due_s <= self._now_s else self._idle_s,
            newest_rows=newest,
            processed_rows=self._processed_rows,
            oldest_waiting_s=max(0.0, self._now_s - oldest_s),
            partitions=settings.partitions,
        )
