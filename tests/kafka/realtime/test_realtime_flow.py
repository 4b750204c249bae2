import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
import psutil
import pytest
from confluent_kafka import Consumer, TopicPartition
from topic_reader import read_messages, read_positions

from penstock.core.domain.reading import Reading
from penstock.runtime.home import JobFolder
from penstock.stores.reader import HistoryReader

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1600)]
RATE = 800
PARTITIONS = 4
TOPICS = {"clicks": PARTITIONS, "seen": 2}
STOPPED_S, BACKLOG_S = 12.0, 5.0
"""The duration in which nothing is processed: less than what makes Spark give an executor up; and the duration of lag that counts as a backlog."""
WINDOW_S = 13.0
JOB = f"""
name = "flow"
master = "embedded"
limits = {{ min_executors = 1, max_executors = 2 }}
settings = {{ reading_interval_s = 2, reading_window_s = {WINDOW_S}, commit_wait_s = 30 }}
sources.clicks = {{ format = "kafka", subscribe = "clicks", startingOffsets = "earliest" }}
[kafka]
bootstrap = "embedded"
topics = {{ clicks = 4, seen = 2 }}
feeds.clicks = {{ rate = "constant({RATE})" }}
[queries.seen]
function = "job.py:first_seen"
trigger = {{ real_time = "6s" }}
output_mode = "update"
sink = {{ format = "kafka", topic = "seen" }}
"""
CODE = """
def first_seen(clicks):
    parsed = clicks.selectExpr("cast(key as string) key", "cast(value as string) value")
    parsed = parsed.selectExpr("*", "cast(get_json_object(value, '$.position') as long) position")
    return parsed.dropDuplicates(["position"]).select("key", "value")
"""


@pytest.fixture(scope="module")
def flow(job_process: Callable[..., Any]) -> Iterator[Any]:
    with job_process("flow", JOB, CODE) as job:
        job.wait_until(lambda: job.query("seen").get("batches", 0) >= 1 and job.query("seen")["latency"], 150, "the first commit and outputs")
        yield job
        broker = [each for each in psutil.process_iter(["cmdline", "ppid"]) if is_broker_of(job.process.pid, each.info)]
        assert len(broker) == 1 and job.stop() == 0
        assert not broker[0].is_running(), "the broker goes with its job"


def is_broker_of(driver_pid: int, process: dict[str, Any]) -> bool:
    return process["ppid"] == driver_pid and "kafka.Kafka" in (process["cmdline"] or ())


class Truth(threading.Thread):
    """How many rows had come into each partition of the input, and how many of them were in the output: at any moment.

    It asks the broker ten times a second what has come. An output record tells its input partition by its key, and when it was written.
    """

    def __init__(self, bootstrap: str) -> None:
        super().__init__(daemon=True)
        self._servers = bootstrap
        self._consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "truth", "enable.auto.commit": False})
        self._over = threading.Event()
        self.at_s: list[float] = []
        self._came: list[list[float]] = [[] for _ in range(PARTITIONS)]
        self._written_s: list[npt.NDArray[np.float64]] = []

    def run(self) -> None:
        while not self._over.wait(0.1):
            asked_s = time.time()
            ends = [self._consumer.get_watermark_offsets(TopicPartition("clicks", each))[1] for each in range(PARTITIONS)]
            self.at_s.append((asked_s + time.time()) / 2)
            for came, end in zip(self._came, ends, strict=True):
                came.append(float(end))

    def stop(self) -> None:
        self._over.set()
        self.join()
        self._consumer.close()
        written: list[dict[int, float]] = [{} for _ in range(PARTITIONS)]
        for message in read_messages(self._servers, "seen", TOPICS["seen"]):
            position = json.loads(message.value() or b"")["position"]
            written[crc32(message.key() or b"") % PARTITIONS].setdefault(position, message.timestamp()[1] / 1000)
        self._written_s = [np.sort(np.array(list(each.values()))) for each in written]

    def came(self, partition: int, at_s: float) -> float:
        return float(np.interp(at_s, self.at_s, self._came[partition]))

    def written(self, partition: int, at_s: float) -> float:
        return float(np.searchsorted(self._written_s[partition], at_s))

    def waiting(self, partition: int, at_s: float) -> float:
        return self.came(partition, at_s) - self.written(partition, at_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """Readings of a steady flow, and then of one that stands still while rows come; and what is true."""

    steady: list[Reading]
    standing: list[Reading]
    truth: Truth


def all_of(count: Callable[[int, float], float], at_s: float) -> float:
    return sum(count(each, at_s) for each in range(PARTITIONS))


def keeps_up(flow: Any) -> bool:
    lag_s = flow.query("seen").get("lag_s")
    return lag_s is not None and lag_s < 2


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


@pytest.fixture(scope="module")
def watched(flow: Any) -> Watched:
    """The flow for a while, then with its executors stopped, and until it has caught up."""
    flow.wait_until(lambda: keeps_up(flow) and flow.query("seen")["latency"]["p50_s"] < 1, 60, "a steady flow")
    truth = Truth(flow.bootstrap)
    truth.start()
    began_s = time.time()
    flow.wait_until(lambda: time.time() > began_s + WINDOW_S + 30, 60, "some readings")
    executors = flow.executors()
    for executor in executors:
        executor.suspend()
    try:
        stopped_s = time.time()
        flow.wait_until(lambda: time.time() > stopped_s + STOPPED_S, 60, "a backlog")
    finally:
        for executor in executors:
            executor.resume()
    flow.wait_until(lambda: keeps_up(flow), 60, "the backlog to be worked off")
    truth.stop()
    readings = [reading for reading in readings_since(began_s) if reading.at_s < truth.at_s[-1]]
    steady = [reading for reading in readings if reading.at_s < stopped_s]
    return Watched(steady=steady, standing=readings[len(steady) :], truth=truth)


@pytest.mark.long
def test_rates_between_commits_are_within_three_percent_of_the_truth(watched: Watched) -> None:
    readings, truth = watched.steady, watched.truth
    errors: dict[str, list[float]] = {"arrival": [], "throughput": []}
    for i, reading in enumerate(readings):
        older = [before.at_s for before in readings[:i] if before.at_s <= reading.at_s - WINDOW_S]
        if not older:
            continue
        query, at_s, since_s = reading.queries[0], reading.at_s, older[-1]
        by_partition = sum(each.arrival_rows_per_s for each in query.source_partitions)
        for name, read, count in (("arrival", by_partition, truth.came), ("throughput", query.throughput_rows_per_s, truth.written)):
            errors[name].append(abs(read * (at_s - since_s) / (all_of(count, at_s) - all_of(count, since_s)) - 1))
    worst = {name: float(np.quantile(values, 0.9)) for name, values in errors.items()}
    assert len(errors["arrival"]) >= 8 and all(error < 0.03 for error in worst.values()), (worst, errors)


@pytest.mark.long
def test_what_waits_is_within_three_percent_of_the_truth_in_each_partition(watched: Watched) -> None:
    """A lag is known by counts that are up to a heartbeat old: against seconds of rows that wait, not against the few that always do."""
    truth = watched.truth
    together, apart = list[float](), list[float]()
    for reading in (each for each in watched.standing if all_of(truth.waiting, each.at_s) > BACKLOG_S * RATE):
        query, waiting = reading.queries[0], all_of(truth.waiting, reading.at_s)
        together.append(abs(query.lag_rows - waiting) / waiting)
        for partition in query.source_partitions:
            true_rows = truth.waiting(int(partition.name.removeprefix("clicks-")), reading.at_s)
            apart.append(abs(partition.lag_rows - true_rows) / true_rows)
    assert len(together) >= 2 and len(apart) == PARTITIONS * len(together)
    assert float(np.quantile(together, 0.9)) < 0.03 and float(np.quantile(apart, 0.9)) < 0.03, (together, apart)


@pytest.mark.long
def test_a_steady_flow_is_read_as_steady(watched: Watched) -> None:
    """Where next to nothing waits, that is known within a heartbeat of arrivals."""
    readings, truth = watched.steady, watched.truth
    wrong = [abs((reading.queries[0].lag_rows or 0.0) - all_of(truth.waiting, reading.at_s)) / RATE for reading in readings]
    assert len(readings) >= 8 and float(np.quantile(wrong, 0.9)) < 0.25, wrong


def test_the_batch_duration_and_the_mode_change_on_the_same_checkpoint(flow: Any) -> None:
    for trigger, kind in (("realtime:8s", "real_time"), ("2s", "processing_time"), ("realtime:6s", "real_time")):
        [done] = flow.steer("trigger", value=trigger, query=None)
        assert "down" in done
        query = flow.query("seen")
        assert query["trigger"]["kind"] == kind, query
        flow.wait_until(lambda: flow.query("seen")["since_commit_s"] < 5 and flow.query("seen")["state"] == "running", 60, f"commits with {trigger}")
    assert not flow.events("QueryFailed")


@pytest.mark.long
def test_executors_leave_by_a_restart_and_come_without_one(flow: Any) -> None:
    [done] = flow.steer("scale", value="1")
    assert "down" in done
    flow.wait_until(lambda: flow.status()["reading"]["executors_running"] == 1, 60, "one executor")
    [done] = flow.steer("scale", value="2")
    assert "down" not in done, "no restart"
    flow.wait_until(lambda: all(each["throughput_rows_per_s"] for each in flow.status()["reading"]["executors"]), 60, "tasks on the new one")
    assert not flow.events("QueryFailed")


@pytest.mark.long
def test_partitions_change_and_too_many_for_the_slots_are_refused_without_a_stop(flow: Any) -> None:
    uptime_s = flow.query("seen")["uptime_s"]
    answer = flow.ask("partitions", value="40", query=None)
    flow.wait_until(lambda: not flow.ask("outcomes", numbers=answer["numbers"])["pending"], 60, "the refusal")
    [words] = flow.ask("outcomes", numbers=answer["numbers"])["ended"].values()
    assert "it needs 44 slots (4 partitions of its source + 40 shuffle partitions), there are 16 (2 executors of 8)" in words
    assert flow.query("seen")["uptime_s"] > uptime_s, "the query went on meanwhile"
    flow.steer("partitions", value="3", query=None)
    flow.wait_until(lambda: flow.query("seen")["partitions"] == 3, 60, "three partitions")


def test_no_row_was_lost_or_doubled_by_all_that(flow: Any) -> None:
    flow.say("rate", source="clicks", value="0")
    flow.wait_until(lambda: flow.has_caught_up("seen"), 90, "the query to catch up")
    sent, seen = (read_positions(flow.bootstrap, topic, partitions) for topic, partitions in TOPICS.items())
    assert sorted(sent) == list(range(len(sent))), "the feeder itself loses and doubles nothing"
    assert set(seen) == set(sent), "nothing is lost"
    assert len(seen) - len(set(seen)) <= flow.query("seen")["replayed_rows"], "what is doubled was counted"
