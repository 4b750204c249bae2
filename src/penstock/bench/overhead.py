"""What observation costs: the same saturated, CPU-bound query, plain and under Penstock, in interleaved pairs."""

from __future__ import annotations

import json
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import psutil
from pyspark.sql import functions as F  # noqa: N812

import penstock
from penstock.bench.cluster import Place, place
from penstock.bench.speed import SpeedProbe
from penstock.runtime.home import JobFolder
from penstock.spark.progress import parse_progress

EXECUTORS = 2
JOB = "bench-overhead"
KEEPER = "penstock.spark.embedded.keeper"
WARM_UP_BATCHES = 1
ROWS_PER_BATCH = 240_000
HASHES = 20
DAY_MS = 86_400_000
RESAMPLES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One run: its throughput, how fast the machine was, and what the driver (Python and JVM) took meanwhile."""

    rows_per_s: float
    machine_speed: float
    driver_cpu_cores: float
    driver_rss_mb: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Overhead:
    """`cost` is the share of throughput lost, the machine's own speed in each run taken out, without the outermost pairs; `cost_upper_90` its
    one-sided 90 % bound by bootstrap over the pairs. `raw_cost` is what the clock alone says."""

    pairs: int
    plain_rows_per_s: float
    penstock_rows_per_s: float
    cost: float
    cost_upper_90: float
    raw_cost: float
    raw_cost_upper_90: float
    driver_extra_cpu_cores: float
    driver_extra_rss_mb: float
    pair_costs: tuple[float, ...]

    def rows(self) -> list[tuple[str, str]]:
        return [
            ("pairs", str(self.pairs)),
            ("plain", f"{self.plain_rows_per_s:,.0f} rows/s"),
            ("under Penstock", f"{self.penstock_rows_per_s:,.0f} rows/s"),
            ("cost in throughput", f"{self.cost:.2%}, at most {self.cost_upper_90:.2%} (90 %); target below 3 %"),
            ("by the clock alone", f"{self.raw_cost:.2%}, at most {self.raw_cost_upper_90:.2%} (90 %)"),
            ("driver, extra CPU", f"{self.driver_extra_cpu_cores:.3f} cores"),
            ("driver, extra memory", f"{self.driver_extra_rss_mb:.1f} MB"),
        ]


def measure_overhead(pairs: int, seconds: float, progress: Callable[[int, int], None]) -> Overhead:
    """Run the pairs; which of the two comes first alternates."""
    with place("bench-overhead", EXECUTORS, **{"spark.sql.shuffle.partitions": "2"}) as there:
        one_run(there, seconds, observed=False)
        samples: dict[bool, list[Sample]] = {False: [], True: []}
        for pair in range(pairs):
            for observed in (False, True) if pair % 2 == 0 else (True, False):
                samples[observed].append(one_run(there, seconds, observed=observed))
                progress(sum(map(len, samples.values())), 2 * pairs)
    return compare(samples[False], samples[True])


def compare(plain: list[Sample], under: list[Sample]) -> Overhead:
    """The cost over pairs.

    >>> a = Sample(rows_per_s=100.0, machine_speed=1.0, driver_cpu_cores=0.5, driver_rss_mb=100.0)
    >>> b = Sample(rows_per_s=98.0, machine_speed=1.0, driver_cpu_cores=0.6, driver_rss_mb=110.0)
    >>> round(compare([a] * 10, [b] * 10).cost, 6)
    0.02
    """
    pairs = list(zip(plain, under, strict=True))
    raw = np.array([1 - b.rows_per_s / a.rows_per_s for a, b in pairs])
    costs = np.array([1 - b.rows_per_s / a.rows_per_s * a.machine_speed / b.machine_speed for a, b in pairs])
    return Overhead(
        pairs=len(pairs),
        plain_rows_per_s=float(np.mean([s.rows_per_s for s in plain])),
        penstock_rows_per_s=float(np.mean([s.rows_per_s for s in under])),
        cost=float(middle(costs)),
        cost_upper_90=upper_90(costs),
        raw_cost=float(middle(raw)),
        raw_cost_upper_90=upper_90(raw),
        driver_extra_cpu_cores=float(np.mean([b.driver_cpu_cores - a.driver_cpu_cores for a, b in pairs])),
        driver_extra_rss_mb=float(np.mean([b.driver_rss_mb - a.driver_rss_mb for a, b in pairs])),
        pair_costs=tuple(round(float(cost), 4) for cost in costs),
    )


def middle(costs: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The mean along the last axis without its highest and its lowest tenth: a neighbour on the machine can spoil a pair, not the result.

    >>> float(middle(np.array([0.02] * 9 + [0.5])))
    0.02
    """
    cut = costs.shape[-1] // 10
    return np.asarray(np.sort(costs, axis=-1)[..., cut : costs.shape[-1] - cut].mean(axis=-1))


def upper_90(costs: npt.NDArray[np.float64]) -> float:
    """The one-sided 90 % bound of the middle, by bootstrap."""
    return float(np.quantile(middle(np.random.default_rng(0).choice(costs, size=(RESAMPLES, len(costs)))), 0.9))


def writer_of(there: Place, checkpoint: str) -> Any:
    """A query that keeps the executors' cores busy: some tens of microseconds of hashing for each row, always more rows waiting."""
    source = there.session.readStream.format("rate-micro-batch").option("rowsPerBatch", ROWS_PER_BATCH).option("numPartitions", 4)
    rows = source.option("startTimestamp", int(time.time() * 1000) - DAY_MS).option("advanceMillisPerBatch", 1).load()
    hashed = F.col("value").cast("string")
    for _ in range(HASHES):
        hashed = F.sha2(hashed, 512)
    counted = rows.withColumn("hash", hashed).groupBy(F.substring("hash", 1, 1).alias("first")).count()
    return counted.writeStream.format("noop").outputMode("complete").option("checkpointLocation", checkpoint).trigger(processingTime="0 seconds")


def one_run(there: Place, seconds: float, *, observed: bool) -> Sample:
    folder = there.folder / uuid.uuid4().hex
    writer = writer_of(there, str(folder / "checkpoint"))
    query = penstock.start(writer, job=JOB, arrival_column="timestamp", max_executors=EXECUTORS) if observed else writer.start()
    try:
        wait_for_batch(query, WARM_UP_BATCHES)
        with driver_cpu() as spent, SpeedProbe() as machine:
            first, began = query.lastProgress, time.monotonic()
            while time.monotonic() - began < seconds:
                time.sleep(0.2)
            last = query.lastProgress
    finally:
        query.stop()
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(JobFolder(JOB).path, ignore_errors=True)
    return Sample(rows_per_s=(last["batchId"] - first["batchId"]) * ROWS_PER_BATCH / commits_apart_s(first, last), machine_speed=machine.speed, **spent)


def wait_for_batch(query: Any, batch: int, timeout_s: float = 120.0) -> None:
    deadline = time.monotonic() + timeout_s
    while query.lastProgress is None or query.lastProgress["batchId"] < batch:
        if time.monotonic() > deadline or not query.isActive:
            raise RuntimeError(f"the measured query did not get to batch {batch}")
        time.sleep(0.05)


def commits_apart_s(first: Any, last: Any) -> float:
    """Seconds between the commits of two batches, by Spark's own report."""
    ends = [parse_progress(json.loads(report.json)).committed_wall_s for report in (first, last)]
    return ends[1] - ends[0]


@contextmanager
def driver_cpu() -> Iterator[dict[str, float]]:
    """CPU and memory of this process and its JVM; the cluster's own processes do not count."""
    spent: dict[str, float] = {}
    processes = driver_processes()
    before, began = {process: cpu_s(process) for process in processes}, time.monotonic()
    yield spent
    lasted_s = time.monotonic() - began
    spent["driver_cpu_cores"] = sum(max(0.0, cpu_s(process) - before[process]) for process in processes) / lasted_s
    spent["driver_rss_mb"] = sum(rss_mb(process) for process in processes)


def driver_processes() -> list[psutil.Process]:
    me = psutil.Process()
    keepers = [child for child in me.children() if child.status() != psutil.STATUS_ZOMBIE and KEEPER in child.cmdline()]
    apart = {process.pid for keeper in keepers for process in (keeper, *keeper.children(recursive=True))}
    return [me, *(child for child in me.children(recursive=True) if child.pid not in apart)]


def cpu_s(process: psutil.Process) -> float:
    """CPU seconds a process has taken; 0 for one that is gone."""
    try:
        return float(sum(process.cpu_times()[:2]))
    except psutil.Error:
        return 0.0


def rss_mb(process: psutil.Process) -> float:
    try:
        return float(process.memory_info().rss) / 1e6
    except psutil.Error:
        return 0.0
