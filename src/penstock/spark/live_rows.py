"""Rows that the tasks of a query have read so far, and rows that its next run reads again."""

import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.core.errors import NotReachable
from penstock.spark.checkpoint import Checkpoint
from penstock.spark.jvm import StatusStore
from penstock.spark.positions import between, where
from penstock.spark.progress import batch_of_job
from penstock.spark.recipe import Recipe

LOOKED_AT_JOBS = 3
LOOKED_BACK_JOBS = 20
"""Of older jobs only those with failed tasks are looked at: other tasks have read those rows again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTasks:
    """The tasks of one batch that read a source: rows by task, and the wall times when the first began and the last ended (None: it runs)."""

    rows: tuple[int, ...]
    launched_wall_s: float | None
    ended_wall_s: float | None

    @property
    def rows_in_all(self) -> int:
        return sum(self.rows)


@dataclass
class _Stage:
    """One stage: rows by task, and tasks that a newer attempt has replaced."""

    seen: dict[int, int] = field(default_factory=dict)
    replaced: set[int] = field(default_factory=set)


@dataclass
class _Run:
    """One run of the query: its tasks by batch, its newest jobs with their stages, and which of these jobs are over."""

    run_id: str = ""
    batches: dict[int, BatchTasks] = field(default_factory=dict)
    jobs: dict[int, list[int]] = field(default_factory=dict)
    over: set[int] = field(default_factory=set)
    stages: dict[int, _Stage] = field(default_factory=dict)

    def forget_all_but(self, jobs: list[int]) -> None:
        """Drop all other jobs, and what was counted of their stages."""
        self.jobs = {job: stages for job, stages in self.jobs.items() if job in jobs}
        self.over.intersection_update(jobs)
        kept = {stage for stages in self.jobs.values() for stage in stages}
        self.stages = {stage: counted for stage, counted in self.stages.items() if stage in kept}


class LiveRows:
    """Counts the rows that tasks of one query read, across its runs; Spark reports them by heartbeat.

    `read_rows` never falls: what is replayed after a restart counts again. `replayed_rows` are those that may have been read twice: by a run that ended
    between two commits, or by a task that Spark started again.
    """

    def __init__(self, store: StatusStore, heartbeat_s: float) -> None:
        self._store = store
        self._heartbeat_s = heartbeat_s
        self._lock = threading.Lock()
        self._run = _Run()
        self._by_executor: dict[str, float] = defaultdict(float)
        self.replayed_rows = 0.0

    def look(self, run_id: str) -> None:
        """Count what the newest batches of a run have read."""
        with self._lock:
            if run_id != self._run.run_id:
                self._run = _Run(run_id=run_id)
            newest = self._store.job_ids(run_id)[-LOOKED_BACK_JOBS:]
            for job_id in newest:
                job = self._store.job(job_id) if job_id not in self._run.over else None
                batch = None if job is None else batch_of_job(job)
                if job is not None and batch is not None:
                    if job_id in newest[-LOOKED_AT_JOBS:] or job["numFailedTasks"]:
                        self._run.jobs[job_id] = sorted(job["stageIds"])
                        self._take_in(batch, self._run.jobs[job_id])
                    self._run.over |= {job_id} if job["status"] != "RUNNING" else set()
            self._run.forget_all_but(newest)

    def _take_in(self, batch: int, stage_ids: list[int]) -> None:
        attempts = [
            (stage_id, task)
            for stage_id in stage_ids
            if (tasks := self._store.tasks(stage_id)) and (stage_id == stage_ids[0] or any(rows_read(task) for task in tasks))
            for task in tasks
        ]
        newest: dict[tuple[int, int], dict[str, Any]] = {}
        for stage_id, task in sorted(attempts, key=lambda each: each[1]["taskId"]):
            stage = self._run.stages.setdefault(stage_id, _Stage())
            self._count(stage, task)
            replaced = newest.get((stage_id, task["index"]))
            if replaced is not None and replaced["taskId"] not in stage.replaced:
                stage.replaced.add(replaced["taskId"])
                self.replayed_rows += self._at_most(rows_read(replaced), (replaced.get("duration") or 0) / 1000)
            newest[stage_id, task["index"]] = task
        tasks = [task for _, task in sorted(newest.items())]
        launched = [task["launchTime"] / 1000 for task in tasks if task["launchTime"]]
        ended = [(task["launchTime"] + task["duration"]) / 1000 for task in tasks if task["status"] != "RUNNING" and task.get("duration") is not None]
        self._run.batches[batch] = BatchTasks(
            rows=tuple(rows_read(task) for task in tasks),
            launched_wall_s=min(launched, default=None),
            ended_wall_s=max(ended) if tasks and len(ended) == len(tasks) else None,
        )

    def _count(self, stage: _Stage, task: Mapping[str, Any]) -> None:
        rows = rows_read(task)
        self._by_executor[task["executorId"]] += max(0, rows - stage.seen.get(task["taskId"], 0))
        stage.seen[task["taskId"]] = rows

    def _at_most(self, reported: float, lasted_s: float) -> float:
        """Return the most rows that tasks can have read: the last heartbeat may be a little more than one interval old."""
        return reported * (1 + 2 * self._heartbeat_s / max(lasted_s, self._heartbeat_s))

    def beyond(self, committed: int | None) -> BatchTasks | None:
        """Return what was read of all batches that are not committed; None if nothing was looked at yet."""
        with self._lock:
            after = [tasks for batch, tasks in sorted(self._run.batches.items()) if committed is None or batch > committed]
            if not self._run.batches:
                return None
            if not after:
                return BatchTasks(rows=(), launched_wall_s=None, ended_wall_s=None)
            widest = max(len(tasks.rows) for tasks in after)
            rows = tuple(sum(tasks.rows[i] for tasks in after if i < len(tasks.rows)) for i in range(widest))
            return BatchTasks(rows=rows, launched_wall_s=after[-1].launched_wall_s, ended_wall_s=after[-1].ended_wall_s)

    def ended(self, committed: int | None, arrived_since: float | None) -> float:
        """End the run. Return how many rows, at most, the next run reads again: those read since the last commit, and no more than had arrived since."""
        self.look(self._run.run_id)
        again = self.beyond(committed)
        rows = 0.0
        if again is not None and again.rows_in_all:
            until_s = again.ended_wall_s or time.time()
            rows = self._at_most(again.rows_in_all, until_s - (again.launched_wall_s or until_s))
        rows = rows if arrived_since is None else min(rows, arrived_since)
        self.replayed_rows += rows
        with self._lock:
            self._run.batches.clear()
        return rows

    def replay(self, rows: float | None) -> float | None:
        """Count the rows of a logged batch that are read again; unknown counts as none. Return them."""
        self.replayed_rows += rows or 0.0
        return rows

    def is_reading(self, run_id: str) -> bool:
        self.look(run_id)
        with self._lock:
            return any(tasks.launched_wall_s is not None for tasks in self._run.batches.values())

    def tasks_of(self, batch: int) -> BatchTasks | None:
        with self._lock:
            return self._run.batches.get(batch)

    def pause_before_s(self, batch: int) -> float | None:
        """Return how long rows waited at the boundary before a batch: from the end of the last batch's tasks to the start of its own."""
        with self._lock:
            before, this = self._run.batches.get(batch - 1), self._run.batches.get(batch)
        if before is None or this is None or before.ended_wall_s is None or this.launched_wall_s is None:
            return None
        return max(0.0, this.launched_wall_s - before.ended_wall_s)

    def forget_before(self, batch: int) -> None:
        with self._lock:
            for old in [each for each in self._run.batches if each < batch - 1]:
                del self._run.batches[old]

    @property
    def by_executor(self) -> Mapping[str, float]:
        return dict(self._by_executor)

    @property
    def read_rows(self) -> float:
        return sum(self._by_executor.values())


def rows_read(task: Mapping[str, object]) -> int:
    """Return the rows that a task has read from a source.

    >>> rows_read({"taskMetrics": {"inputMetrics": {"recordsRead": 7}}}), rows_read({"taskMetrics": None})
    (7, 0)
    """
    metrics = task.get("taskMetrics")
    return int(metrics["inputMetrics"]["recordsRead"]) if isinstance(metrics, Mapping) else 0


class Replay:
    """Counts the rows that the next run reads again, at most: from the checkpoint for micro-batches, from what tasks had read in Real-Time Mode."""

    def __init__(self, recipe: Recipe, checkpoint: Checkpoint | None, live: LiveRows) -> None:
        self._recipe = recipe
        self._checkpoint = checkpoint
        self._live = live

    def committed(self) -> tuple[Any, ...] | None:
        """Return the committed offsets of each source, for a new query those at which it begins; None without a checkpoint."""
        if self._checkpoint is None:
            return None
        return self._checkpoint.committed_offsets() or tuple(None if source is None else source.origin() for source in self._recipe.positions)

    def all_committed(self) -> bool | None:
        """Return whether every logged batch is committed; None if the checkpoint does not answer. The next batch may begin before a commit is reported."""
        try:
            return self._checkpoint is None or self._checkpoint.last_logged() == self._checkpoint.last_committed()
        except NotReachable:
            return None

    def of_batch(self) -> float | None:
        """Count the rows of a batch that was logged and not committed; None if the sources do not count rows, or the checkpoint does not answer."""
        try:
            return self._live.replay(self._logged_not_committed())
        except NotReachable:
            return None

    def _logged_not_committed(self) -> float | None:
        if self._checkpoint is None:
            return None
        if self._checkpoint.last_logged() == self._checkpoint.last_committed():
            return 0.0
        begin, end = self.committed() or (), self._checkpoint.logged_offsets() or ()
        rows = between(self._recipe.positions, begin, end) if None not in begin else None
        return None if rows is None else sum(rows.values())

    def of_flow(self, committed_batch: int | None, processed: Sequence[Any] | None) -> float:
        """Count the rows that tasks had read since the last commit in Real-Time Mode."""
        place = where(self._recipe.positions, processed)
        known = place.newest_rows is not None and place.processed_rows is not None
        return self._live.ended(committed_batch, (place.newest_rows or 0.0) - (place.processed_rows or 0.0) if known else None)
