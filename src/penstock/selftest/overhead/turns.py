"""A saturated, CPU-bound query that works off some batches when it is its turn, so that two of them can be measured in turns within seconds."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from penstock.core.domain.reading import IN_TASKS

ROWS = 120_000
"""In a batch: some three seconds on two cores."""
BATCHES = 3
"""In a turn, one right after the other."""
TASKS = 12
"""Small ones: where a core is slower for a moment, the other takes more of them."""
REPEATED = 8
"""Each row compares two texts of 64 letters, so that the time goes into the comparison itself, which is the same machine code in every query: what a
JIT compiler makes of the code around it differs from query to query by some percent, for as long as its JVM lives. It allocates next to nothing and stays in
the nearest cache: a long text for each row would measure the memory of the machine, which others on it share."""
LONGEST_TURN_S = 120.0
CONF = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.pollingDelay": "1s",
    "spark.executor.extraJavaOptions": "-XX:+UseSerialGC",
}
"""The one who waits for its turn must not look for rows all the time. Executors compile as in production: what the embedded cluster leaves out for a quick
start (C2) makes such code five times as fast."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fuel:
    """The rows of one batch, in as many files as it has tasks; hard links of them, those of all batches of a turn, are put where a query finds them."""

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
        for batch in range(BATCHES):
            for file in self.files:
                os.link(file, fresh / f"{batch}-{file.name}")
        fresh.replace(folder)


class Turns:
    """One query and its turns. What it has read stays: a folder that goes while the source looks through it ends the query."""

    def __init__(self, folder: Path, fuel: Fuel) -> None:
        self._inbox, self.checkpoint = folder / "inbox", folder / "checkpoint"
        self._fuel = fuel
        self._done = 0
        self._inbox.mkdir(parents=True)

    def writer(self, session: SparkSession) -> Any:
        """Some tens of microseconds for each row; one task a file, so that both executors are busy to the end."""
        largest = max(file.stat().st_size for file in self._fuel.files)
        session.conf.set("spark.sql.files.maxPartitionBytes", str(largest))
        reader = session.readStream.schema("value LONG, timestamp TIMESTAMP").option("maxFilesPerTrigger", TASKS)
        rows = reader.parquet(f"{self._inbox}/*")
        text = F.repeat(F.lpad(F.col("value").cast("string"), 8, "0"), REPEATED)
        counted = rows.groupBy((F.levenshtein(text, F.reverse(text)) % 16).alias("distance")).count()
        written = counted.writeStream.format("noop").outputMode("complete").option("checkpointLocation", str(self.checkpoint))
        return written.trigger(processingTime="0 seconds")

    def take(self, query: Any) -> float:
        """Seconds that its next batches take, by Spark's own reports."""
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
    """Whether this batch is reported."""
    return report is not None and report["batchId"] == batch and IN_TASKS in report["durationMs"]


def batch_s(report: Any) -> float:
    """How long a batch took; a report of waiting for rows counts nothing."""
    return float(report["durationMs"]["triggerExecution"]) / 1000 if IN_TASKS in report["durationMs"] else 0.0
