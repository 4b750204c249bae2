"""Measure the maximum rate of the trace source, written to a sink that drops all rows."""

import json
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import penstock
from penstock.selftest.spark_runs import place
from penstock.spark.progress import parse_progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    executors: int
    partitions: int
    rows_per_s: float

    def rows(self) -> list[tuple[str, str]]:
        return [("executors", str(self.executors)), ("partitions", str(self.partitions)), ("ceiling of the trace source", f"{self.rows_per_s:,.0f} rows/s")]


def measure_ceiling(executors: int, partitions: int, seconds: float, progress: Callable[[int, int], None]) -> Ceiling:
    """Read a trace that is faster than any reader for some seconds, and return the rate reached."""
    with place("selftest-source", executors) as there:
        penstock.register(there.session)
        folder = there.folder / uuid.uuid4().hex
        rows: Any = there.session.readStream.format("trace").options(
            rate="constant(100M)", state=str(folder / "trace.json"), partitions=str(partitions), max_rows_per_batch=str(500_000 * executors)
        )
        query = rows.load().writeStream.format("noop").option("checkpointLocation", str(folder / "checkpoint")).trigger(processingTime="0 seconds").start()
        try:
            wait_for_batch(query, 3)
            first, began = query.lastProgress, time.monotonic()
            while (spent := time.monotonic() - began) < seconds:
                progress(int(spent), int(seconds))
                time.sleep(0.5)
            last = query.lastProgress
        finally:
            query.stop()
    return Ceiling(executors=executors, partitions=partitions, rows_per_s=(position(last) - position(first)) / commits_apart_s(first, last))


def position(report: Any) -> int:
    end = report["sources"][0]["endOffset"]
    return int((json.loads(end) if isinstance(end, str) else end)["position"])


def wait_for_batch(query: Any, batch: int, timeout_s: float = 120.0) -> None:
    deadline = time.monotonic() + timeout_s
    while query.lastProgress is None or query.lastProgress["batchId"] < batch:
        if time.monotonic() > deadline or not query.isActive:
            raise RuntimeError(f"the measured query did not get to batch {batch}")
        time.sleep(0.05)


def commits_apart_s(first: Any, last: Any) -> float:
    """Return the seconds between the commits of two batches, by Spark's own report."""
    ends = [parse_progress(json.loads(report.json)).committed_wall_s for report in (first, last)]
    return ends[1] - ends[0]
