"""One job with a broker of its own in Real-Time Mode: what is read of it is true, and it can be steered, mode and all."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import psutil
import pytest
from confluent_kafka import Consumer, TopicPartition

from penstock.core.domain.reading import Reading
from penstock.kafka.topics import end_offsets
from penstock.runtime.home import JobFolder
from penstock.stores.reader import HistoryReader

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]

RATE = 800
TOPICS = {"clicks": 4, "seen": 2}
WINDOW_S = 13.0
JOB = f"""
name = "flow"
master = "embedded"
[limits]
min_executors = 1
max_executors = 2
[kafka]
bootstrap = "embedded"
topics = {{ clicks = 4, seen = 2 }}
[kafka.feeds.clicks]
rate = "constant({RATE})"
[sources.clicks]
format = "kafka"
subscribe = "clicks"
startingOffsets = "earliest"
[queries.seen]
function = "job.py:first_seen"
trigger = {{ real_time = "6s" }}
output_mode = "update"
[queries.seen.sink]
format = "kafka"
topic = "seen"
[settings]
reading_interval_s = 2
reading_window_s = {WINDOW_S}
commit_wait_s = 30
"""
CODE = """
def first_seen(clicks):
    told = clicks.selectExpr("cast(key as string) key", "cast(value as string) value")
    told = told.selectExpr("*", "cast(get_json_object(value, '$.position') as long) position")
    return told.dropDuplicates(["position"]).select("key", "value")
"""


@pytest.fixture(scope="module")
def flow(job_process: Callable[..., Any]) -> Iterator[Any]:
    with job_process("flow", JOB, CODE) as job:
        job.wait_until(lambda: job.query("seen").get("batches", 0) >= 1 and job.query("seen")["latency"], 150, "the first commit and outputs")
        yield job
        children = psutil.Process(job.process.pid).children(recursive=True)
        broker = [child for child in children if "kafka.Kafka" in (child.as_dict(["cmdline"])["cmdline"] or ())]
        assert len(broker) == 1 and job.stop() == 0
        assert not broker[0].is_running(), "the broker goes with its job"


class Truth(threading.Thread):
    """Asks the broker ten times a second how many rows both topics hold."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(daemon=True)
        self._consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "truth", "enable.auto.commit": False})
        self._over = threading.Event()
        self.at_s: list[float] = []
        self.counts: dict[str, list[float]] = {"clicks": [], "seen": []}

    def run(self) -> None:
        while not self._over.wait(0.1):
            asked_s = time.time()
            ends = {topic: sum(self._consumer.get_watermark_offsets(TopicPartition(topic, i))[1] for i in range(n)) for topic, n in TOPICS.items()}
            self.at_s.append((asked_s + time.time()) / 2)
            for topic, end in ends.items():
                self.counts[topic].append(float(end))

    def stop(self) -> None:
        self._over.set()
        self.join()
        self._consumer.close()

    def rows(self, topic: str, at_s: float) -> float:
        return float(np.interp(at_s, self.at_s, self.counts[topic]))


def bootstrap_of(flow: Any) -> str:
    lines = (flow.folder / "checkpoint/_penstock/kafka/server.properties").read_text().splitlines()
    listeners = next(line for line in lines if line.startswith("advertised.listeners="))
    return listeners.rpartition("//")[2]


def readings_since(at_s: float) -> list[Reading]:
    with HistoryReader.open(JobFolder("flow").history) as reader:
        return [reading for reading in reader.readings() if reading.at_s >= at_s]


def test_a_reading_in_real_time_mode_is_complete(flow: Any) -> None:
    flow.wait_until(lambda: flow.query("seen").get("boundary_pause_s") is not None, 60, "a boundary")
    flow.wait_until(lambda: all(each["cpu_cores"] is not None for each in flow.status()["reading"]["executors"]), 30, "the CPU of all executors")
    reading = flow.status()["reading"]
    query = reading["queries"][0]
    assert query["latency"]["p50_s"] <= query["latency"]["p95_s"] <= query["latency"]["p99_s"]
    assert 0 < query["boundary_pause_s"] < 10 and query["busyness"] is None and query["state_rows"] is not None
    assert [each["name"] for each in query["source_partitions"]] == [f"clicks-{i}" for i in range(4)]
    assert all(each["busyness"] is None and each["slots"] == 8 for each in reading["executors"])
    assert flow.status()["feeds"][0]["topic"] == "clicks"


@pytest.mark.long
def test_what_is_estimated_between_commits_is_within_three_percent_of_the_truth(flow: Any) -> None:
    flow.wait_until(lambda: (flow.query("seen").get("lag_s") or 99) < 2 and flow.query("seen")["latency"]["p50_s"] < 1, 60, "a steady flow")
    truth = Truth(bootstrap_of(flow))
    truth.start()
    began_s = time.time()
    flow.wait_until(lambda: time.time() > began_s + WINDOW_S + 30, 60, "some readings")
    truth.stop()
    readings = [reading for reading in readings_since(began_s) if reading.at_s < truth.at_s[-1]]
    assert len(readings) >= 8
    errors: dict[str, list[float]] = {"arrival": [], "throughput": [], "lag": [], "lag by partition": []}
    for i, reading in enumerate(readings):
        older = [before.at_s for before in readings[:i] if before.at_s <= reading.at_s - WINDOW_S]
        if not older:
            continue
        query, at_s, since_s = reading.queries[0], reading.at_s, older[-1]
        arrived = truth.rows("clicks", at_s) - truth.rows("clicks", since_s)
        written = truth.rows("seen", at_s) - truth.rows("seen", since_s)
        waiting = truth.rows("clicks", at_s) - truth.rows("seen", at_s)
        by_partition = sum(each.arrival_rows_per_s for each in query.source_partitions)
        errors["arrival"].append(abs(by_partition * (at_s - since_s) / arrived - 1))
        errors["throughput"].append(abs(query.throughput_rows_per_s * (at_s - since_s) / written - 1))
        errors["lag"].append(abs(query.lag_rows - waiting) / written)
        errors["lag by partition"].append(abs(sum(each.lag_rows for each in query.source_partitions) - waiting) / written)
    worst = {name: float(np.quantile(values, 0.9)) for name, values in errors.items()}
    assert all(error < 0.03 for error in worst.values()), (worst, errors)


def test_the_batch_duration_and_the_mode_change_on_the_same_checkpoint(flow: Any) -> None:
    for trigger, kind in (("realtime:8s", "real_time"), ("2s", "processing_time"), ("realtime:6s", "real_time")):
        [done] = flow.steer("trigger", trigger=trigger, query=None)
        assert "down" in done
        query = flow.query("seen")
        assert query["trigger"]["kind"] == kind, query
        flow.wait_until(lambda: flow.query("seen")["since_commit_s"] < 5 and flow.query("seen")["state"] == "running", 60, f"commits with {trigger}")
    assert not flow.events("QueryFailed")


def test_executors_leave_by_a_restart_and_come_without_one(flow: Any) -> None:
    [done] = flow.steer("scale", executors=1)
    assert "down" in done
    flow.wait_until(lambda: flow.status()["reading"]["executors_running"] == 1, 60, "one executor")
    [done] = flow.steer("scale", executors=2)
    assert "down" not in done, "no restart"
    flow.wait_until(lambda: all(each["throughput_rows_per_s"] for each in flow.status()["reading"]["executors"]), 60, "tasks on the new one")
    assert not flow.events("QueryFailed")


@pytest.mark.long
def test_partitions_change_and_too_many_for_the_slots_are_refused_without_a_stop(flow: Any) -> None:
    uptime_s = flow.query("seen")["uptime_s"]
    answer = flow.ask("partitions", partitions=40, query=None)
    flow.wait_until(lambda: not flow.ask("outcomes", numbers=answer["numbers"])["pending"], 60, "the refusal")
    [words] = flow.ask("outcomes", numbers=answer["numbers"])["ended"].values()
    assert "it needs 44 slots (4 partitions of its source + 40 shuffle partitions), there are 16 (2 executors of 8)" in words
    assert flow.query("seen")["uptime_s"] > uptime_s, "the query went on meanwhile"
    flow.steer("partitions", partitions=3, query=None)
    flow.wait_until(lambda: flow.query("seen")["partitions"] == 3, 60, "three partitions")


def test_no_row_was_lost_or_doubled_by_all_that(flow: Any) -> None:
    flow.say("rate", source="clicks", rows_per_s=0.0)
    flow.wait_until(lambda: flow.has_caught_up("seen"), 90, "the query to catch up")
    sent = sum(end_offsets({"bootstrap.servers": bootstrap_of(flow)}, "clicks", 4))
    seen = sum(end_offsets({"bootstrap.servers": bootstrap_of(flow)}, "seen", 2))
    replayed = flow.query("seen")["replayed_rows"]
    assert sent <= seen <= sent + replayed, (sent, seen, replayed)
