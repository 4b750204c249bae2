import json
import math
import os
import signal
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import numpy as np
import psutil
import pytest
from confluent_kafka import Producer
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.monitor.facts import OutputSample
from penstock.kafka.broker import EmbeddedBroker
from penstock.kafka.tail import RUN_RECORDS, RUNS, TopicTail, arrival_of, as_seconds, runs

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5
)


class Looking:
    """A tail, all it has sampled, and a producer whose records are as old as it says."""

    def __init__(self, topic: Any) -> None:
        self.topic = topic
        self.tail = TopicTail(topic.client, topic.name, topic.partitions, "came")
        self.producer = Producer({**topic.client, "linger.ms": 5, "message.timeout.ms": 0, "reconnect.backoff.max.ms": 500})
        self.sampled: list[OutputSample] = []

    def write(self, latencies_s: Any, wall_s: float = 1_700_000_000.0) -> None:
        for i, latency_s in enumerate(latencies_s):
            value = json.dumps({"came": (wall_s + i / 1000) - float(latency_s)})
            self.producer.produce(self.topic.name, value, partition=i % self.topic.partitions, timestamp=round(wall_s * 1000) + i)
        self.producer.flush()

    def weight(self) -> float:
        self.sampled += self.tail.take()
        return sum(each.rows for each in self.sampled)


@pytest.fixture
def looking(topic: Callable, wait_until: Callable) -> Iterator[Callable[..., Looking]]:
    made: list[Looking] = []

    def look(partitions: int = 4) -> Looking:
        made.append(Looking(topic(partitions)))
        wait_until(lambda: made[-1].tail.written_rows == 0)
        return made[-1]

    yield look
    for each in made:
        each.tail.close()


def test_all_of_a_few_records_are_looked_at(looking: Callable[..., Looking], wait_until: Callable) -> None:
    look = looking()
    latencies = np.linspace(0.01, 2.0, 200)
    look.write(latencies)
    wait_until(lambda: look.weight() >= 199.5)
    assert sorted(each.latency_s for each in look.sampled) == pytest.approx(latencies, abs=0.001)
    assert {each.wall_s for each in look.sampled} == {1_700_000_000 + i / 1000 for i in range(200)}
    assert (look.tail.written_rows, look.tail.unreadable) == (200, 0)


@pytest.mark.parametrize("partitions", [1, 12])
def test_of_many_some_are_looked_at_and_stand_for_all(looking: Callable[..., Looking], wait_until: Callable, partitions: int) -> None:
    look = looking(partitions)
    latencies = np.random.default_rng(1).gamma(2.0, 0.1, 30_000)
    look.write(latencies)
    wait_until(lambda: look.weight() >= 29_999.5)
    assert look.weight() == pytest.approx(30_000) and look.tail.written_rows == 30_000 and len(look.sampled) < 6_000
    order = np.argsort([each.latency_s for each in look.sampled])
    share = np.cumsum([look.sampled[at].rows for at in order]) / 30_000
    for wanted in (0.5, 0.95):
        found = look.sampled[order[np.searchsorted(share, wanted)]].latency_s
        assert (latencies < found).mean() == pytest.approx(wanted, abs=0.08)


def test_records_without_an_arrival_are_counted(looking: Callable[..., Looking], wait_until: Callable) -> None:
    look = looking(2)
    for value, headers in ((b"no json", None), (b'{"other": 1}', None), (b"no json", [("came", b"1699999999.5")])):
        look.producer.produce(look.topic.name, value, partition=1, timestamp=1_700_000_000_000, headers=headers)
    look.producer.flush()
    wait_until(lambda: look.weight() and look.tail.unreadable == 2)
    assert [(each.latency_s, each.rows) for each in look.sampled] == [(pytest.approx(0.5), 1.0)]


@pytest.mark.long
def test_a_broker_that_was_killed_is_waited_for(looking: Callable[..., Looking], broker: EmbeddedBroker, wait_until: Callable) -> None:
    look = looking()
    look.write([0.5] * 100)
    wait_until(lambda: look.weight() >= 99.5)
    killed = broker.pid
    assert killed is not None
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: look.tail.written_rows is None)
    broker.start()
    assert not psutil.pid_exists(killed)
    look.write([0.25] * 2_000, wall_s=1_700_000_100.0)
    wait_until(lambda: look.weight() >= 2_099.5)
    assert look.weight() == pytest.approx(2_100) and look.tail.written_rows == 2_100
    assert [each.latency_s for each in look.sampled[100:]] == pytest.approx([0.25] * (len(look.sampled) - 100), abs=0.001)


def test_it_is_closed_quickly_while_records_come(looking: Callable[..., Looking]) -> None:
    look = looking(1)
    look.write([0.1] * 500)
    began_s = time.monotonic()
    look.tail.close()
    assert time.monotonic() - began_s < 5
    assert not look.tail._thread.is_alive()


@given(st.integers(0, 2**50), st.integers(0, 10**7), st.integers(1, 200))
def test_runs_lie_within_what_has_come_and_never_overlap(first: int, count: int, records: int) -> None:
    found = runs(first, first + count, records)
    assert all(first <= begin < stop <= first + count for begin, stop in found)
    assert all(earlier[1] <= later[0] for earlier, later in pairwise(found))
    assert sum(stop - begin for begin, stop in found) == min(count, RUNS * records)
    assert len(runs(0, 10**6)) == RUNS
    assert runs(0, RUNS * RUN_RECORDS) == [(0, RUNS * RUN_RECORDS)]


@given(st.datetimes(datetime(1975, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)))
def test_a_time_is_read_however_it_is_written(moment: datetime) -> None:
    truth_s = moment.timestamp()
    micros = round(truth_s * 1e6)
    for said in (truth_s, str(truth_s), micros // 1000, micros, micros * 1000, moment.isoformat(), moment.isoformat().replace("+00:00", "Z")):
        assert as_seconds(said) == pytest.approx(truth_s, abs=0.0011)


@pytest.mark.parametrize("said", [None, True, "", "soon", "nan", "inf", float("nan"), [], {}, "2023-11-14T22:13:20", "9999999-01-01"])
def test_what_is_no_time_is_unknown(said: Any) -> None:
    assert as_seconds(said) is None


@given(st.binary() | JSON.map(lambda said: json.dumps({"came": said}).encode()))
def test_whatever_a_record_holds_its_arrival_is_a_finite_time_or_unknown(value: bytes) -> None:
    arrived = arrival_of(value, None, "came")
    assert arrived is None or math.isfinite(arrived)
