"""Run the same saturated, CPU-bound query plain and under Penstock in turns, and measure its batches."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

import penstock
from penstock.core.domain.reading import IN_TASKS
from penstock.runtime.home import JobFolder
from penstock.selftest.overhead_cost import Kept, Overhead, Start, Turn, overhead_of
from penstock.selftest.spark_runs import place
from penstock.spark.jvm import StatusStore

EXECUTORS = 2
JOB = "selftest-overhead"
WARM_UP = 2
"""Turns of each query that are not counted."""
ALONE = 2
"""Turns of the plain query alone, which show the CPU of the driver without the loop."""


def measure_overhead(starts: int, pairs: int, keep: Path | None, progress: Callable[[int, int], None]) -> Overhead:
    """Measure `starts` starts of the executors with `pairs` pairs of turns each; which query starts first alternates."""
    each = 2 * WARM_UP + ALONE + 2 * pairs
    kept = Kept(keep, pairs)
    measured = list(kept.starts()[:starts])
    for number in range(len(measured), starts):
        done = number * each

        def count(turns: int, before: int = done) -> None:
            progress(before + turns, starts * each)

        measured.append(measure_start(pairs, plain_first=number % 2 == 0, count=count))
        kept.add(measured[-1])
    return overhead_of(measured, rows_per_turn=BATCHES * ROWS, cores=psutil.cpu_count() or EXECUTORS)


def measure_start(pairs: int, *, plain_first: bool, count: Callable[[int], None]) -> Start:
    """Measure one start.

    The loop runs during both turns of a pair. Its own CPU is the difference of the driver's CPU in plain turns with and without the loop.
    """
    done = 0

    def take(turns: Turns, query: Any, times: int) -> tuple[Turn, ...]:
        nonlocal done
        taken = []
        for _ in range(times):
            taken.append(one_turn(turns, query, work))
            done += 1
            count(done)
        return tuple(taken)

    with place(JOB, EXECUTORS, **CONF) as there, ExitStack() as running:
        work = WorkReader(StatusStore(there.session))
        fuel = Fuel.made(there.session, there.folder / "fuel")
        plain, under = Turns(there.folder / "plain", fuel), Turns(there.folder / "under", fuel)

        def start_plain() -> Any:
            query = plain.writer(there.session).start()
            running.callback(query.stop)
            take(plain, query, WARM_UP)
            return query

        def start_under() -> Any:
            running.callback(shutil.rmtree, JobFolder(JOB).path, ignore_errors=True)
            query = penstock.start(under.writer(there.session), job=JOB, arrival_column="timestamp", max_executors=EXECUTORS)
            running.callback(query.stop)
            take(under, query, WARM_UP)
            return query

        if plain_first:
            plain_query = start_plain()
            alone, before_mb = take(plain, plain_query, ALONE), driver_memory_mb(there.session)
            query = start_under()
        else:
            query, plain_query, alone, before_mb = start_under(), start_plain(), (), None
        taken = take_pairs(take, (plain, plain_query), (under, query), pairs)
        extra_mb = None if before_mb is None else driver_memory_mb(there.session) - before_mb
    return Start(alone=alone, plain=taken[0], under=taken[1], driver_extra_mb=extra_mb)


def take_pairs(take: Any, plain: tuple[Turns, Any], under: tuple[Turns, Any], pairs: int) -> tuple[tuple[Turn, ...], tuple[Turn, ...]]:
    """Take pairs of turns; which query comes first alternates."""
    plain_turns: list[Turn] = []
    under_turns: list[Turn] = []
    for pair in range(pairs):
        both = [(plain, plain_turns), (under, under_turns)]
        for (turns, query), taken in both if pair % 2 == 0 else reversed(both):
            taken.extend(take(turns, query, 1))
    return tuple(plain_turns), tuple(under_turns)


def one_turn(turns: Turns, query: Any, work: WorkReader) -> Turn:
    driver = Driver()
    before_s = driver.cpu_s()
    wall_s = turns.take(query)
    driver_cpu_s = driver.cpu_s() - before_s
    return Turn(wall_s=wall_s, work_s=work.since_last(query).alone_s(wall_s, EXECUTORS), driver_cpu_s=driver_cpu_s)


ROWS = 120_000
"""Rows of a batch: about three seconds on two cores."""
BATCHES = 3
"""Batches of a turn."""
TASKS = 12
"""Tasks of a batch; they are small, so that a faster core takes more of them."""
REPEATED = 8
"""Each row compares two texts of 64 letters, so that most time is spent in one function, whose machine code is the same in every query. JIT-compiled
code around it differs by some percent. Texts this short stay in the cache; longer ones would measure the shared memory of the machine."""
LONGEST_TURN_S = 120.0
CONF = {"spark.sql.shuffle.partitions": "2", "spark.sql.streaming.pollingDelay": "1s", "spark.executor.extraJavaOptions": "-XX:+UseSerialGC"}
"""The waiting query must poll rarely. Executors use the C2 compiler as in production, which the embedded cluster disables for a quick start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fuel:
    """The rows of one batch, one file for each task; a query gets hard links to them for all batches of a turn."""

    files: tuple[Path, ...]

    @classmethod
    def made(cls, session: SparkSession, folder: Path) -> Fuel:
        rows = session.range(ROWS, numPartitions=TASKS).selectExpr("id AS value", "current_timestamp() AS timestamp")
        rows.write.parquet(str(folder))
        return cls(files=tuple(sorted(folder.glob("*.parquet"))))

    def put(self, folder: Path) -> None:
        """Add all files at once: fill a hidden folder, then rename it."""
        fresh = folder.with_name(f".{folder.name}")
        fresh.mkdir(parents=True)
        for batch in range(BATCHES):
            for file in self.files:
                os.link(file, fresh / f"{batch}-{file.name}")
        fresh.replace(folder)


class Turns:
    """One query and its turns. Its input is never deleted, as the source fails if a folder disappears while it lists files."""

    def __init__(self, folder: Path, fuel: Fuel) -> None:
        self._inbox, self.checkpoint = folder / "inbox", folder / "checkpoint"
        self._fuel = fuel
        self._done = 0
        self._inbox.mkdir(parents=True)

    def writer(self, session: SparkSession) -> Any:
        """Return the query, which takes tens of microseconds for each row; one task reads one file, so that both executors stay busy."""
        largest = max(file.stat().st_size for file in self._fuel.files)
        session.conf.set("spark.sql.files.maxPartitionBytes", str(largest))
        reader = session.readStream.schema("value LONG, timestamp TIMESTAMP").option("maxFilesPerTrigger", TASKS)
        rows = reader.parquet(f"{self._inbox}/*")
        text = sf.repeat(sf.lpad(sf.col("value").cast("string"), 8, "0"), REPEATED)
        counted = rows.groupBy((sf.levenshtein(text, sf.reverse(text)) % 16).alias("distance")).count()
        written = counted.writeStream.format("noop").outputMode("complete").option("checkpointLocation", str(self.checkpoint))
        return written.trigger(processingTime="0 seconds")

    def take(self, query: Any) -> float:
        """Return the seconds that the next batches take, by Spark's own reports."""
        self._fuel.put(self._inbox / str(self._done))
        last = self._done + BATCHES - 1
        deadline_s = time.monotonic() + LONGEST_TURN_S
        while not has_done(query.lastProgress, last):
            if time.monotonic() > deadline_s:
                raise RuntimeError(f"the measured query did not finish batch {last} within {LONGEST_TURN_S:g} s")
            time.sleep(0.1)
        took_s = sum(batch_s(report) for report in query.recentProgress if self._done <= report["batchId"] <= last)
        self._done += BATCHES
        return took_s


def has_done(report: Any, batch: int) -> bool:
    return report is not None and report["batchId"] == batch and IN_TASKS in report["durationMs"]


def batch_s(report: Any) -> float:
    """Return the duration of a batch; 0 for a report without rows."""
    return float(report["durationMs"]["triggerExecution"]) / 1000 if IN_TASKS in report["durationMs"] else 0.0


KEEPER = "penstock.spark.embedded"


class Driver:
    """The processes of the driver at the time of construction, without the embedded cluster."""

    def __init__(self) -> None:
        me = psutil.Process()
        keepers = [child for child in me.children() if child.status() != psutil.STATUS_ZOMBIE and KEEPER in child.cmdline()]
        apart = {process.pid for keeper in keepers for process in (keeper, *keeper.children(recursive=True))}
        self._processes = [me, *(child for child in me.children(recursive=True) if child.pid not in apart)]

    def cpu_s(self) -> float:
        return sum(map(cpu_s, self._processes))


def cpu_s(process: psutil.Process) -> float:
    """Return the CPU seconds of a process; 0 if it has ended."""
    try:
        return float(sum(process.cpu_times()[:2]))
    except psutil.Error:
        return 0.0


def driver_memory_mb(session: SparkSession) -> float:
    """Return the memory of the driver: its Python process, and the heap of its JVM after a garbage collection."""
    jvm: Any = session._jvm
    runtime = jvm.java.lang.Runtime.getRuntime()
    runtime.gc()
    return float(psutil.Process().memory_info().rss + runtime.totalMemory() - runtime.freeMemory()) / 1e6


REPORTED_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """CPU and garbage collection of tasks in seconds of one core, and the duration of the query's jobs."""

    task_s: float
    jobs_s: float

    def alone_s(self, took_s: float, cores: int) -> float:
        """Return the seconds that the batches would take on an idle machine: task time over all cores, plus the driver's time outside of jobs.

        >>> Work(task_s=5.0, jobs_s=3.0).alone_s(took_s=3.5, cores=2)
        3.0
        """
        return self.task_s / cores + took_s - self.jobs_s


class WorkReader:
    """Reads each Spark job of a query once."""

    def __init__(self, store: StatusStore) -> None:
        self._store = store
        self._seen: dict[str, int] = {}

    def since_last(self, query: Any) -> Work:
        run_id = str(query.runId)
        fresh = [job_id for job_id in self._store.job_ids(run_id) if job_id > self._seen.get(run_id, -1)]
        self._seen[run_id] = max(fresh, default=self._seen.get(run_id, -1))
        jobs = [self._ended(job_id) for job_id in fresh]
        stages = [self._store.stage(stage_id) for job in jobs for stage_id in job["stageIds"]]
        return Work(
            task_s=sum(task_s(stage) for stage in stages if stage is not None), jobs_s=sum(job["completionTime"] - job["submissionTime"] for job in jobs) / 1e3
        )

    def _ended(self, job_id: int) -> dict[str, Any]:
        """Wait until Spark's status store knows the end of a job, and return it."""
        deadline_s = time.monotonic() + REPORTED_S
        while (job := self._store.job(job_id)) is None or job["completionTime"] is None:
            if time.monotonic() > deadline_s:
                raise RuntimeError(f"Spark's job {job_id} is not reported as ended within {REPORTED_S:g} s")
            time.sleep(0.05)
        return job


def task_s(stage: dict[str, Any]) -> float:
    """Return the core seconds of the tasks of a stage.

    >>> task_s({"executorCpuTime": 2_000_000_000, "executorDeserializeCpuTime": 0, "jvmGcTime": 500})
    2.5
    """
    return float((stage["executorCpuTime"] + stage["executorDeserializeCpuTime"]) / 1e9 + stage["jvmGcTime"] / 1e3)
