"""A saturated, CPU-bound query that works off one batch when it is its turn, so that two of them can be measured in turns within seconds."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

ROWS = 40_000
"""In a batch: some three seconds on two cores."""
TASKS = 12
"""Small ones: where a core is slower for a moment, the other takes more of them."""
HASHES, REPEATED = 4, 25
"""Of long texts, so that the time goes into the hash itself: what a JIT compiler makes of the code around it differs from query to query by some percent."""
LONGEST_TURN_S = 120.0
CONF = {"spark.sql.shuffle.partitions": "2", "spark.sql.streaming.pollingDelay": "200ms"}
"""The one who waits for its turn must not look for rows all the time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fuel:
    """The rows of one batch, in as many files as it has tasks; hard links of them are put where a query finds them."""

    files: tuple[Path, ...]

    @classmethod
    def made(cls, session: SparkSession, folder: Path) -> Fuel:
        rows = session.range(ROWS, numPartitions=TASKS).selectExpr("id AS value", "current_timestamp() AS timestamp")
        rows.write.parquet(str(folder))
        return cls(files=tuple(sorted(folder.glob("*.parquet"))))

    def put(self, folder: Path) -> None:
        """All files at once: a folder is filled beside the place and then moved there."""
        fresh = folder.with_name(f".{folder.name}")
        fresh.mkdir(parents=True)
        for file in self.files:
            os.link(file, fresh / file.name)
        fresh.replace(folder)


class Turns:
    """One query and its turns. What it has read stays: a folder that goes while the source looks through it ends the query."""

    def __init__(self, folder: Path, fuel: Fuel) -> None:
        self._inbox, self.checkpoint = folder / "inbox", folder / "checkpoint"
        self._fuel = fuel
        self._done = 0
        self._inbox.mkdir(parents=True)

    def writer(self, session: SparkSession) -> Any:
        """Some tens of microseconds of hashing for each row; one task a file, so that both executors are busy to the end."""
        largest = max(file.stat().st_size for file in self._fuel.files)
        session.conf.set("spark.sql.files.maxPartitionBytes", str(largest))
        rows = session.readStream.schema("value LONG, timestamp TIMESTAMP").parquet(f"{self._inbox}/*")
        hashed = F.col("value").cast("string")
        for _ in range(HASHES):
            hashed = F.sha2(F.repeat(hashed, REPEATED), 512)
        counted = rows.withColumn("hash", hashed).groupBy(F.substring("hash", 1, 1).alias("first")).count()
        written = counted.writeStream.format("noop").outputMode("complete").option("checkpointLocation", str(self.checkpoint))
        return written.trigger(processingTime="0 seconds")

    def take(self, query: Any) -> float:
        """Seconds that its next batch takes, by Spark's own report."""
        self._fuel.put(self._inbox / str(self._done))
        deadline_s = time.monotonic() + LONGEST_TURN_S
        while (took_s := batch_s(query.lastProgress, self._done)) is None:
            if time.monotonic() > deadline_s:
                raise RuntimeError(f"the measured query did not finish batch {self._done} within {LONGEST_TURN_S:g} s")
            time.sleep(0.02)
        self._done += 1
        return took_s


def batch_s(report: Any, batch: int) -> float | None:
    """How long this batch took, once it is reported."""
    reported = report is not None and report["batchId"] == batch and "addBatch" in report["durationMs"]
    return report["durationMs"]["triggerExecution"] / 1000 if reported else None
