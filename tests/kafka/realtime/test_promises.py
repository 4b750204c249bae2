"""What is promised through kills, restarts, changes of the interval and a broker that goes away: nothing lost anywhere, and nothing doubled
but in a Kafka sink, where what may be doubled is counted."""

import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from ledgers import positions_in
from topic_reader import read_messages

from penstock.core.domain.events.query_events import QueryRestarted
from penstock.kafka.broker import EmbeddedBroker
from penstock.kafka.topics import end_offsets
from penstock.runtime.home import JobFolder
from penstock.stores.reader import HistoryReader

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(2400)]
QUERIES = ("passed", "counts", "sent", "booked", "filed")
KAFKA_SINKS = {"passed": "Real-Time Mode", "sent": "micro-batches"}
RATE, AWAY_S = 300, 20
CHANGED = {"passed": "realtime:8s", "counts": "realtime:8s", "sent": "1s", "booked": "1s", "filed": "1s"}
LONGEST_BATCH_S = {"passed": 8, "sent": 2}
JOB = """
name = "promises"
master = "embedded"
limits = {{ min_executors = 1, max_executors = 2 }}
settings = {{ reading_interval_s = 2, reading_window_s = 8, restart_budget = 30 }}
sources.numbers = {{ format = "kafka", subscribe = "numbers", startingOffsets = "earliest" }}
[kafka]
bootstrap = "{broker}"
topics = {{ numbers = 2, passed = 1, counts = 1, sent = 1 }}
feeds.numbers = {{ rate = "constant({rate})" }}
[queries]
passed = {{ function = "job.py:passed", trigger = {{ real_time = "5s" }}, output_mode = "update", sink = {{ format = "kafka", topic = "passed" }} }}
counts = {{ function = "job.py:counts", trigger = {{ real_time = "5s" }}, output_mode = "update", sink = {{ format = "kafka", topic = "counts" }} }}
sent = {{ function = "job.py:passed", trigger = "2s", sink = {{ format = "kafka", topic = "sent" }} }}
booked = {{ function = "job.py:numbers", trigger = "2s", sink = {{ format = "ledger", path = "ledger" }} }}
filed = {{ function = "job.py:numbers", trigger = "2s", sink = {{ format = "parquet", path = "files" }} }}
[spark]
"spark.executor.cores" = 14
"spark.sql.shuffle.partitions" = 2
"spark.executor.memory" = "1200m"
"""
CODE = """
from pyspark.sql import functions as F

def numbers(records):
    return records.selectExpr("cast(get_json_object(cast(value as string), '$.position') as long) position", "cast(key as string) key")

def passed(records):
    return records.selectExpr("key", "cast(value as string) value")

def counts(records):
    keyed = records.selectExpr("cast(key as string) key", "timestamp")
    counted = keyed.groupBy("key").agg(F.count("*").alias("n"), F.max("timestamp").alias("arrival"))
    return counted.selectExpr("key", "to_json(struct(n, arrival)) value")
"""


def read_topic(bootstrap: str, topic: str, partitions: int) -> list[tuple[str, dict[str, Any]]]:
    """All records of a topic: key and JSON value, in the order of each partition."""
    return [(message.key().decode(), json.loads(message.value())) for message in read_messages(bootstrap, topic, partitions)]


def positions_filed(folder: Path) -> list[int]:
    """What the file sink has committed, by its own log: a reader of plain files would also see those of interrupted batches."""
    logged = [json.loads(line) for log in (folder / "_spark_metadata").glob("[0-9]*") for line in log.read_text().splitlines()[1:]]
    paths = sorted({entry["path"].removeprefix("file://") for entry in logged})
    return sorted(ds.dataset(paths, format="parquet").to_table(columns=["position"]).column("position").to_pylist())


def kill_until_a_query_fails(job: Any) -> None:
    """Kill the executors one after the other: one that happens to have only tasks of micro-batches ends no query."""
    for executor in job.executors():
        executor.kill()
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            if job.events("QueryFailed"):
                return
            time.sleep(0.25)


def test_nothing_is_lost_and_only_a_kafka_sink_doubles_what_is_counted(job_process: Callable[..., Any], away_broker: EmbeddedBroker) -> None:
    with job_process("promises", JOB.format(broker=away_broker.bootstrap, rate=RATE), CODE) as job:
        job.wait_until(lambda: all(job.query(name).get("batches") for name in QUERIES), 150, "the first commits of all")

        kill_until_a_query_fails(job)
        job.wait_until(lambda: job.events("QueryRestarted"), 90, "a query in Real-Time Mode to be back")
        assert all("rows replayed" in words for words in job.events("QueryRestarted"))
        job.wait_until(lambda: all(job.query(name).get("state") == "running" for name in QUERIES), 90, "all queries to run again")
        for name, trigger in CHANGED.items():
            job.steer("trigger", value=trigger, query=name)

        away_broker.stop()
        time.sleep(AWAY_S)
        away_broker.start()
        sent = job.status()["feeds"][0]["sent_rows"]
        job.wait_until(lambda: job.status()["feeds"][0]["sent_rows"] > sent + 3000, 120, "the feeder to go on")
        job.say("rate", source="numbers", value="0")
        job.wait_until(lambda: all(job.has_caught_up(name) for name in QUERIES), 150, "all queries to catch up")
        replayed = {name: job.query(name)["replayed_rows"] for name in KAFKA_SINKS}
        assert job.stop() == 0

    with HistoryReader.open(JobFolder("promises").history) as reader:
        restarts = Counter(row.event.query for row in reader.events() if isinstance(row.event, QueryRestarted))
    ends = end_offsets({"bootstrap.servers": away_broker.bootstrap}, "numbers", 2)
    sent = read_topic(away_broker.bootstrap, "numbers", 2)
    everything = list(range(sum(ends)))
    assert sorted(value["position"] for _, value in sent) == everything, "the feeder itself loses and doubles nothing"
    assert positions_in(job.folder / "ledger") == everything, "micro-batches into an idempotent sink"
    assert positions_filed(job.folder / "files") == everything, "micro-batches into files"

    for topic, mode in KAFKA_SINKS.items():
        found = Counter(value["position"] for _, value in read_topic(away_broker.bootstrap, topic, 1))
        assert sorted(found) == everything, f"{mode} loses nothing"
        doubled = sum(found.values()) - len(found)
        assert doubled <= replayed[topic], f"what is doubled in {mode} was counted"
        stops = restarts[topic] + 2  # the kill, which may restart tasks alone, and the change of the interval
        assert replayed[topic] <= stops * RATE * (3 * LONGEST_BATCH_S[topic] + AWAY_S), f"{mode} replays what came since a commit, and no more"
    counted = {key: value["n"] for key, value in read_topic(away_broker.bootstrap, "counts", 1)}
    assert counted == Counter(key for key, _ in sent), "the state is exact"
