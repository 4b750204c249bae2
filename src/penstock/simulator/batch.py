"""A simulated micro-batch: how long it takes, what happens to it while it runs, and what Spark would report of it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Self

import numpy as np

from penstock.core.domain.reading import IN_TASKS
from penstock.core.models.capacity.batch_law import waves
from penstock.core.models.recovery.batch_recovery import cold_batch_s
from penstock.core.monitor.facts import ARRIVAL_PROBABILITIES, ArrivalSample, BatchFact, ExecutorShare, StageFact
from penstock.core.shapes.chance import FloatArray
from penstock.simulator.crew import Crew, Newcomer
from penstock.simulator.engine_settings import Contention, MicroBatchSettings
from penstock.simulator.executor_pool import Executor
from penstock.simulator.load import Rows

LATENCIES = (np.arange(20) + 0.5) / 20
"""The rows of a batch whose latencies are recorded."""
LOOKED_AT = np.minimum(np.concatenate([ARRIVAL_PROBABILITIES, LATENCIES]), 1.0 - 1e-9)
"""All rows of a batch whose arrival is looked up; the last row arrived before the first of the next batch."""
OVERHEAD_PARTS = {"latestOffset": 0.05, "queryPlanning": 0.15, "walCommit": 0.15, "commitOffsets": 0.15}
"""Shares of the overhead by the names of Spark's phases; the rest is spent starting tasks."""
SHORTEST_BATCH_S = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A batch of the rows from number `first_row` on, started at `started_s`. Undisturbed it takes `planned_s`, of which its tasks take `work_s`,
    and all of them together `tasks_s`, in which they compute for `cpu_s`.

    It `takes_all` if it leaves no row to the next batch. Its tasks start at `works_from_s`. At `speed` 1 it has the executors to itself, and its tasks are
    done at `done_s`; at speed 0 it waits, with `left_s` of work. A batch that hangs does not end before `hung_s`. `after_s` of the remaining time is not
    for tasks of its `crew`: the sink, and repeated work.
    """

    batch_id: int
    first_row: float
    rows: float
    started_s: float
    works_from_s: float
    done_s: float
    planned_s: float
    overhead_s: float
    work_s: float
    tasks_s: float
    cpu_s: float
    crew: Crew
    takes_all: bool
    after_s: float = 0.0
    hung_s: float = -inf
    speed: float = 1.0
    left_s: float = 0.0

    @property
    def ends_s(self) -> float:
        return max(self.done_s, self.hung_s)

    @property
    def duration_s(self) -> float:
        return self.ends_s - self.started_s

    @property
    def wave_s(self) -> float:
        """The duration of a task."""
        return self.work_s / self.crew.waves

    def still_s(self, now_s: float) -> float:
        """Return the remaining time at speed 1."""
        return max(0.0, self.done_s - now_s) * self.speed if self.speed > 0 else self.left_s

    def at_speed(self, speed: float, now_s: float) -> Self:
        """Return the batch with another speed from now on."""
        if speed == self.speed:
            return self
        left_s = self.still_s(now_s)
        return replace(self, speed=speed, left_s=left_s, done_s=now_s + left_s / speed if speed > 0 else inf)

    def wave_at(self, now_s: float) -> float:
        """Return the number of waves that its tasks have run for."""
        return max(0.0, self.crew.waves - (self.still_s(now_s) - self.after_s) / self.wave_s)

    def has_waiting_tasks(self, now_s: float) -> bool:
        return self.wave_s > 0 and self.crew.has_waiting(self.wave_at(now_s))

    def joined(self, executor_id: str, now_s: float, lost_s: float) -> Self:
        """Return the batch with an executor that takes waiting tasks from now on; it counts as joining later by the time it loses while it warms up."""
        before, wave_s = self.crew, self.wave_s
        crew = before.joined(Newcomer(executor_id=executor_id, from_wave=self.wave_at(now_s) + lost_s / wave_s))
        saved_s = (before.waves - crew.waves) * wave_s
        if self.speed == 0:
            return replace(self, crew=crew, work_s=self.work_s - saved_s, left_s=self.left_s - saved_s)
        return replace(self, crew=crew, work_s=self.work_s - saved_s, done_s=self.done_s - saved_s / self.speed)

    def without(self, executor_id: str, left: int, retry_s: float) -> Self:
        """Return the batch after the loss of an executor: as with Spark, the `left` others run all of its tasks again, whole ones in waves."""
        tasks = self.crew.tasks_of_each(self.batch_id)[self.crew.everyone.index(executor_id)]
        return self.longer(retry_s + waves(tasks, left * self.crew.slots_each) * self.wave_s) if tasks else self

    def taken_over(self, executor_id: str) -> Self:
        """Return the batch on one new executor, when all others are lost."""
        return replace(self, crew=replace(self.crew, executors=(executor_id,), newcomers=()))

    def with_first_task(self, from_s: float, first_task_s: float) -> Self:
        """Return the batch with a task from `from_s` on that takes `first_task_s` longer than the others."""
        return self.hung(from_s + first_task_s + self.wave_s) if first_task_s > 0 else self

    def hung(self, until_s: float) -> Self:
        """Return the batch with a task that does not end before `until_s`."""
        return replace(self, hung_s=until_s) if until_s > max(self.hung_s, self.started_s) else self

    def longer(self, seconds: float) -> Self:
        if self.speed == 0:
            return replace(self, left_s=self.left_s + seconds, after_s=self.after_s + seconds)
        hung_s = (self.ends_s - self.done_s) * self.speed
        return replace(self, done_s=self.ends_s + seconds / self.speed, after_s=self.after_s + hung_s + seconds)

    def again(self, from_s: float) -> Self:
        """Return the batch with all tasks run again from `from_s` on."""
        crew = replace(self.crew, newcomers=())
        work_s = self.wave_s * crew.waves
        after_s = self.planned_s - self.overhead_s - work_s
        return replace(self, done_s=from_s + self.planned_s, works_from_s=from_s, hung_s=-inf, speed=1.0, crew=crew, work_s=work_s, after_s=after_s)

    def arrived_s(self, load: Rows) -> tuple[FloatArray, FloatArray]:
        """Return when its rows arrived: those at `ARRIVAL_PROBABILITIES`, and those that are recorded."""
        arrived_s = np.minimum(load.arrived_s(self.first_row + LOOKED_AT * self.rows), self.started_s)
        return arrived_s[: len(ARRIVAL_PROBABILITIES)], arrived_s[len(ARRIVAL_PROBABILITIES) :]


def batch_fact(batch: Batch, settings: MicroBatchSettings, arrived_s: FloatArray) -> BatchFact:
    """Return what Spark would report of the batch; `arrived_s` are times at `ARRIVAL_PROBABILITIES`."""
    parts_s = {name: share * batch.overhead_s for name, share in OVERHEAD_PARTS.items()}
    return BatchFact(
        batch_id=batch.batch_id,
        started_s=batch.started_s,
        committed_s=batch.ends_s,
        committed_wall_s=batch.ends_s,
        rows=batch.rows,
        parts_s={IN_TASKS: batch.duration_s - sum(parts_s.values()), **parts_s},
        arrivals=(ArrivalSample(rows=batch.rows, probabilities=ARRIVAL_PROBABILITIES, wall_s=tuple(arrived_s.tolist())),),
        stages=_stages(batch, settings),
        state_rows=int(batch.first_row + batch.rows) if settings.state_growth else None,
    )


def _stages(batch: Batch, settings: MicroBatchSettings) -> tuple[StageFact, ...]:
    """Return the stages before and after the shuffle; surplus tasks go to other executors in each batch, as with Spark's scheduler."""
    tasks_s = batch.tasks_s
    tasks = batch.crew.tasks_of_each(batch.batch_id)
    return tuple(
        StageFact(
            position=position,
            name=name,
            tasks=settings.partitions,
            run_time_s=share * tasks_s,
            cpu_s=share * batch.cpu_s,
            rows=round(batch.rows),
            reads_source=position == 0,
            shares=tuple(
                ExecutorShare(
                    executor_id=executor_id, task_time_s=share * tasks_s * count / settings.partitions, rows=round(batch.rows * count / settings.partitions)
                )
                for executor_id, count in zip(batch.crew.everyone, tasks, strict=True)
            ),
        )
        for position, (name, share) in enumerate((("source", 1.0 - settings.state_share), ("state", settings.state_share)))
    )


def planned_batch(
    settings: MicroBatchSettings, executors: Sequence[Executor], batch_id: int, processed_rows: float, waiting_rows: float, start_s: float, noise: float,
    ran_s: float = 0.0,
) -> Batch:  # fmt: skip
    """Return the batch of the waiting rows, up to the limit, on these executors; `noise` is a standard normal number, `ran_s` how long the job has run.

    New executors make it longer, as SPARK-FACTS measured whole batches; where they delay a single round of tasks, the others wait for them.

    >>> from penstock.simulator.executor_pool import Pool
    >>> settings = MicroBatchSettings(overhead_s=0.5, row_s=0.001, partitions=12)
    >>> planned_batch(settings, Pool.warm(4, at_s=0.0).running, 0, 0.0, 4000.0, 10.0, noise=0.0).ends_s
    11.5
    """
    rows = min(waiting_rows, settings.limit_rows)
    factor = math.exp(settings.noise * noise)
    overhead_s = settings.overhead_s * (1.0 + settings.state_growth * processed_rows)
    dearer = 1.0 + settings.drift_per_hour * ran_s / 3600.0
    work_s = settings.law.row_cost_s(len(executors)) * dearer * rows
    alone_s = max(factor * (overhead_s + work_s + settings.sink_s_per_row * rows), SHORTEST_BATCH_S)
    warm_s = beside_s(settings.contention, ran_s, alone_s)
    factor *= warm_s / alone_s
    crew = Crew(tasks=settings.partitions, slots_each=settings.cores_per_executor, executors=tuple(each.executor_id for each in executors))
    ages_s = [each.age_s(start_s) for each, tasks in zip(executors, crew.tasks_of_each(batch_id), strict=True) if tasks]
    cold = partial(cold_batch_s, warm_s, rounds=crew.waves, ages_s=ages_s, executors=len(ages_s), factor=settings.warm_up_factor, fades_s=settings.warm_up_s)
    shared_s, cold_s = cold(task_s=0.0), cold(task_s=factor * work_s / crew.waves)
    stretch = factor * (1.0 + shared_s / warm_s)
    works_s, tasks_s = work_s * stretch + cold_s - shared_s, settings.row_s * dearer * rows * stretch
    return Batch(
        batch_id=batch_id, first_row=processed_rows, rows=rows, started_s=start_s, works_from_s=start_s + overhead_s * stretch,
        done_s=start_s + warm_s + cold_s, planned_s=warm_s + cold_s, overhead_s=overhead_s * stretch, work_s=works_s, tasks_s=tasks_s,
        cpu_s=tasks_s * alone_s / warm_s, crew=crew, takes_all=rows == waiting_rows, after_s=warm_s + cold_s - overhead_s * stretch - works_s,
    )  # fmt: skip


def beside_s(contention: Sequence[Contention], from_s: float, work_s: float) -> float:
    """Return how long work takes that takes `work_s` alone, beside others that take their share.

    >>> beside_s([Contention(from_s=2.0, until_s=10.0, share=0.5)], 0.0, 3.0), beside_s([Contention(from_s=2.0, until_s=4.0, share=0.5)], 0.0, 4.0)
    (4.0, 5.0)
    """
    now_s, left_s = from_s, work_s
    for edge_s in sorted({each for one in contention for each in (one.from_s, one.until_s) if each > from_s}):
        speed = 1.0 - sum(one.share for one in contention if one.from_s <= now_s < one.until_s)
        if left_s <= speed * (edge_s - now_s):
            return now_s + left_s / speed - from_s
        now_s, left_s = edge_s, left_s - speed * (edge_s - now_s)
    return now_s + left_s - from_s
