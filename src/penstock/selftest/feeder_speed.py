"""Measure how many rows per second a feeder writes to a topic, and its CPU."""

import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from penstock.core.errors import UserMistake
from penstock.kafka.broker import EmbeddedBroker
from penstock.kafka.feed import Feed, Order
from penstock.kafka.feeder import FeedReport
from penstock.kafka.topics import make_topics
from penstock.selftest.spark_runs import FED, clicks_job, wait_for
from penstock.spark.connector import broker_jars

TOPIC = "fed"
PARTITIONS = 4
WARM_UP_S = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FeederResult:
    """The rate asked and reached, the maximum delay of a row, and the CPU of the feeder."""

    asked_rows_per_s: float
    reached_rows_per_s: float
    worst_behind_s: float
    cores: float

    def rows(self) -> list[tuple[str, str]]:
        return [
            ("asked of the feeder", f"{self.asked_rows_per_s:,.0f} rows/s"),
            ("reached", f"{self.reached_rows_per_s:,.0f} rows/s"),
            ("worst behind", f"{self.worst_behind_s:.2f} s"),
            ("CPU of the feeder", f"{self.cores:.2f} cores"),
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class FeederResults:
    """A feeder alone, and one beside a job that reads its topic and processes `job_rows_per_s`."""

    alone: FeederResult
    beside_job: FeederResult
    job_rows_per_s: float | None

    def rows(self) -> list[tuple[str, str]]:
        read = "unknown" if self.job_rows_per_s is None else f"{self.job_rows_per_s:,.0f} rows/s"
        return [("alone", ""), *self.alone.rows(), ("beside a job that reads the topic", ""), *self.beside_job.rows(), ("processed by the job", read)]


def measure_feeder(rate_rows_per_s: float, seconds: float, progress: Callable[[int, int], None]) -> FeederResults:
    """Measure the same constant rate alone, then beside a job in micro-batches."""
    whole = 2 * int(seconds)
    alone = measure_alone(rate_rows_per_s, seconds, lambda done, of: progress(done, whole))
    with clicks_job("selftest-feeder", rate_rows_per_s, '"2s"') as job:
        controller = job.host.controller
        wait_for(lambda: bool(controller.last_reading and controller.last_reading.throughput_rows_per_s), "the first throughput")
        beside = measure_feed(job.kafka.feeds[FED], rate_rows_per_s, seconds, lambda done, of: progress(int(seconds) + done, whole))
        processed = controller.last_reading.throughput_rows_per_s if controller.last_reading else None
    return FeederResults(alone=alone, beside_job=beside, job_rows_per_s=processed)


def measure_alone(rate_rows_per_s: float, seconds: float, progress: Callable[[int, int], None]) -> FeederResult:
    """Measure a feeder at a constant rate into a topic of an embedded broker."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-selftest-"))
    broker = EmbeddedBroker(folder / "kafka", broker_jars().jars)
    try:
        broker.start()
        client = {"bootstrap.servers": broker.bootstrap}
        make_topics(client, {TOPIC: PARTITIONS})
        options = {"rate": f"constant({rate_rows_per_s:.3f})", "state": str(folder / "feed.json")}
        feed = Feed(Order(topic=TOPIC, partitions=PARTITIONS, client=client, options=options, mark=folder / "feed.mark"))
        try:
            feed.wait_first()
            return measure_feed(feed, rate_rows_per_s, seconds, progress)
        finally:
            feed.close()
    finally:
        broker.stop()
        shutil.rmtree(folder, ignore_errors=True)


def measure_feed(feed: Feed, asked_rows_per_s: float, seconds: float, progress: Callable[[int, int], None]) -> FeederResult:
    """Measure a running feeder, from a few seconds after its start."""
    process = psutil.Process(feed.pid)
    watch(feed, WARM_UP_S, lambda done, of: None)
    before, cpu_s, began_s = last_of(feed), cpu_of(process), time.monotonic()
    kept = watch(feed, seconds, progress)
    spent_s = time.monotonic() - began_s
    return FeederResult(
        asked_rows_per_s=asked_rows_per_s,
        reached_rows_per_s=(last_of(feed).sent_rows - before.sent_rows) / spent_s,
        worst_behind_s=max(report.behind_s for report in kept),
        cores=(cpu_of(process) - cpu_s) / spent_s,
    )


def watch(feed: Feed, seconds: float, progress: Callable[[int, int], None]) -> list[FeedReport]:
    """Return the feeder's reports of some seconds, up to and including one after their end."""
    kept, began_s = [last_of(feed)], time.monotonic()
    while (spent_s := time.monotonic() - began_s) < seconds or last_of(feed) is kept[-1]:
        if not feed.is_running:
            raise UserMistake(feed.close() or "feed: the feeder has ended")
        if last_of(feed) is not kept[-1]:
            kept.append(last_of(feed))
        progress(min(int(spent_s), int(seconds)), int(seconds))
        time.sleep(0.02)
    return [*kept, last_of(feed)]


def last_of(feed: Feed) -> FeedReport:
    assert feed.last is not None
    return feed.last


def cpu_of(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system
