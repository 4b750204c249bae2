import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.core.errors import UserMistake
from penstock.core.shapes.schedule import Override
from penstock.kafka import feeder as feeder_module
from penstock.kafka.broker import EmbeddedBroker
from penstock.kafka.feed import Feed, Order
from penstock.kafka.feeder import FeedReport
from penstock.kafka.mark import find_mark
from penstock.trace.rows import keyed_numbers
from penstock.trace.state import TraceState, recipe_of

HEARD_S = 0.5
"""A rate of none from now on would find rows sent that were never due: a feeder hears of it a moment later."""
PARENT = """
import json, sys, time
from pathlib import Path
from penstock.kafka.feed import Feed, Order
feed = Feed(Order(**{**json.loads(sys.argv[1]), "mark": Path(sys.argv[2])}))
feed.wait_first()
print(feed.pid, flush=True)
time.sleep(600)
"""
ASKED = 50_000


class Feeding:
    """The feed of one topic, which a test starts and starts again."""

    def __init__(self, topic: Any, folder: Path, options: dict[str, str], **order: Any) -> None:
        self.topic = topic
        self.options = {"state": str(folder / "trace.json"), **options}
        self.order = Order(topic=topic.name, partitions=topic.partitions, client=topic.client, options=self.options, mark=folder / "mark", **order)
        self.feeds: list[Feed] = []
        self.heard: list[FeedReport | None] = []

    def start(self, limit: int | None = None) -> Feed:
        order = Order(**{name: getattr(self.order, name) for name in Order.__slots__} | {"limit": limit})
        self.feeds.append(Feed(order, self.heard.append))
        self.feeds[-1].wait_first()
        return self.feeds[-1]

    def finish(self, limit: int) -> FeedReport:
        self.start(limit).wait(60)
        return self.last

    @property
    def last(self) -> FeedReport:
        """The newest report of the newest feeder."""
        last = self.feeds[-1].last
        assert last is not None
        return last

    @property
    def sent(self) -> int:
        return self.last.sent_rows

    @property
    def trace(self) -> TraceState:
        return TraceState(Path(self.options["state"]), recipe_of(self.options))

    def check_exact(self, rows: int, within_s: float = 0.002) -> None:
        """All rows are there once, in order by partition, where their keys say, and stamped with their scheduled arrival."""
        records = self.topic.records()
        positions = np.array([json.loads(record.value)["position"] for record in records])
        assert sorted(positions.tolist()) == list(range(rows))
        for partition in range(self.topic.partitions):
            mine = positions[[record.partition == partition for record in records]]
            assert (np.diff(mine) > 0).all()
        assert all(record.partition == crc32(record.key or b"") % self.topic.partitions for record in records)
        stamps_s = np.array([record.stamp_ms for record in records]) / 1000
        assert np.abs(stamps_s - self.trace.schedule().arrival_of(positions)).max() <= within_s


@pytest.fixture
def feeding(topic: Callable, tmp_path: Path) -> Iterator[Callable[..., Feeding]]:
    made: list[Feeding] = []

    def make(*, partitions: int = 4, order: dict[str, Any] | None = None, **options: str) -> Feeding:
        made.append(Feeding(topic(partitions), tmp_path, options, **(order or {})))
        return made[-1]

    yield make
    for each in made:
        for feed in each.feeds:
            feed.close()
            assert not psutil.pid_exists(feed.pid)


def test_every_row_comes_once_in_order_with_its_arrival(feeding: Callable[..., Feeding]) -> None:
    fed = feeding(rate="constant(20k)", seed="5")
    last = fed.finish(10_000)
    fed.check_exact(10_000)
    assert (last.sent_rows, last.scheduled_rows, last.behind_rows, last.ended) == (10_000, 10_000, 0, True)
    rows = {json.loads(record.value)["position"]: record for record in fed.topic.records()}
    made = keyed_numbers(np.arange(10_000), 5).to_pydict()
    document = json.loads(rows[77].value)
    assert (document["key"], document["value"], rows[77].key) == (made["key"][77], made["value"][77], made["key"][77].encode())
    assert np.datetime64(document["arrival"].removesuffix("Z")).astype("int64") / 1e6 == pytest.approx(
        fed.trace.schedule().arrival_of(np.array([77]))[0], abs=1e-6
    )


@pytest.mark.parametrize(("moving", "rows"), [({"rate": "sine(mean=2000, amplitude=1500, period=4)"}, 6_500), ({"csv": "rates.csv"}, 5_000)])
def test_a_rate_that_moves_is_followed_row_by_row(moving: dict[str, str], rows: int, feeding: Callable[..., Feeding], tmp_path: Path) -> None:
    (tmp_path / "rates.csv").write_text("t,rate\n0,500\n1,4000\n2,500\n")
    fed = feeding(**moving, folder=str(tmp_path), partitions=2)
    fed.finish(rows)
    fed.check_exact(rows)
    came_s = np.array([record.stamp_ms for record in fed.topic.records()]) / 1000 - fed.trace.schedule().arrival_of(np.array([0]))[0]
    by_half_second = np.histogram(came_s, bins=[0, 0.5, 1.0, 1.5, 2.0, 2.5])[0]
    assert by_half_second.max() > 1.5 * by_half_second.min() > 0, by_half_second


def test_it_goes_on_exactly_where_it_was_stopped_or_killed(feeding: Callable[..., Feeding], wait_until: Callable) -> None:
    fed = feeding(rate="constant(15k)", partitions=3)
    for stop in ("close", "kill", "kill"):
        feed, before = fed.start(), sum(fed.topic.ends())
        wait_until(lambda before=before: fed.sent > before + 5_000)
        if stop == "close":
            assert feed.close() == ""
        else:
            os.kill(feed.pid, signal.SIGKILL)
            wait_until(lambda feed=feed: not feed.is_running)
    rows = sum(fed.topic.ends()) + 5_000
    assert fed.finish(rows).sent_rows == rows
    fed.check_exact(rows)
    assert fed.heard.count(None) == 2


def test_a_broker_that_is_away_costs_time_and_no_rows(feeding: Callable[..., Feeding], broker: EmbeddedBroker, wait_until: Callable) -> None:
    fed = feeding(rate="constant(3k)")
    feed = fed.start(20_000)
    wait_until(lambda: fed.sent > 2_000)
    broker.stop()
    time.sleep(2.5)
    wait_until(lambda: fed.last.behind_s > 2)
    broker.start()
    feed.wait(60)
    fed.check_exact(20_000)
    assert fed.last.worst_behind_s > 2


def test_a_producer_that_has_given_up_is_replaced_and_no_row_is_lost_or_doubled(
    feeding: Callable[..., Feeding], broker: EmbeddedBroker, wait_until: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    fed = feeding(rate="constant(20k)")
    marks: list[Any] = []
    monkeypatch.setattr(feeder_module, "STUCK_S", 0.3)
    monkeypatch.setattr(feeder_module, "find_mark", lambda order: marks.append(found := find_mark(order)) or found)
    order = {**json.loads(fed.order.text()), "limit": 40_000}
    with open(os.devnull, "wb") as nowhere:
        feeder = feeder_module.Feeder(order, nowhere.fileno())
        thread = threading.Thread(target=feeder.run)
        thread.start()
        wait_until(lambda: sum(fed.topic.ends()) > 5_000)
        assert broker.pid is not None
        # What it has under way is taken by the broker only after the producer was thought to be stuck.
        os.kill(broker.pid, signal.SIGSTOP)
        time.sleep(1.0)
        os.kill(broker.pid, signal.SIGCONT)
        thread.join(60)
    assert not thread.is_alive() and len(marks) > 1
    fed.check_exact(40_000)


def test_its_rate_changes_at_once(feeding: Callable[..., Feeding], wait_until: Callable) -> None:
    fed = feeding(rate="constant(200)")
    feed = fed.start()
    wait_until(lambda: fed.sent > 100)
    fed.trace.override(Override(from_s=time.time(), rows_per_s=20_000.0))
    began_s = time.monotonic()
    wait_until(lambda: fed.sent > 10_000)
    assert time.monotonic() - began_s < 5
    wait_until(lambda: fed.last.rate_rows_per_s == 20_000)
    fed.trace.override(Override(from_s=time.time() + HEARD_S, rows_per_s=0.0))
    wait_until(lambda: fed.last.rate_rows_per_s == 0)
    wait_until(lambda: fed.last.behind_rows == 0)
    assert feed.close() == ""
    rows = sum(fed.topic.ends())
    assert rows == fed.sent
    fed.check_exact(rows, within_s=0.2)


def test_it_says_how_far_behind_it_is(feeding: Callable[..., Feeding], wait_until: Callable) -> None:
    fed = feeding(rate="constant(5M)")
    feed = fed.start()
    wait_until(lambda: fed.sent > 100_000)
    assert feed.close() == ""
    behind = [report for report in fed.heard if report is not None and not report.ended and report.sent_rows > 0]
    assert behind and all(report.behind_s > 0.1 and report.behind_rows > 500_000 for report in behind)
    assert max(report.behind_s for report in behind) <= fed.last.worst_behind_s
    fed.check_exact(fed.sent)


def test_rows_come_from_a_function_and_what_it_prints_is_no_report(feeding: Callable[..., Feeding], tmp_path: Path) -> None:
    (tmp_path / "made.py").write_text(
        "import numpy as np\n"
        "def rows(positions, seed):\n"
        "    print('noise ' * 30_000)\n"
        "    return {'key': [f'k{p % 7}' for p in positions], 'value': [f'{seed}:{p}'.encode() for p in positions]}\n"
    )
    fed = feeding(rate="constant(2k)", rows="made.py:rows", folder=str(tmp_path), seed="9", order={"value_format": "raw"})
    fed.finish(1_000)
    records = fed.topic.records()
    assert sorted(int(record.value.split(b":")[1]) for record in records) == list(range(1_000))
    assert all(record.key == b"k%d" % (int(record.value[2:]) % 7) and record.value.startswith(b"9:") for record in records)


def test_recorded_rows_come_in_their_order_and_again_from_the_start(feeding: Callable[..., Feeding], tmp_path: Path) -> None:
    table = pa.table({"position": [900 + i for i in range(10)], "arrival": [0] * 10, "word": [f"w{i}" for i in range(10)]})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=3)
    fed = feeding(rate="constant(1k)", parquet=str(tmp_path / "rows.parquet"), partitions=2)
    fed.finish(35)
    documents = sorted((json.loads(record.value) for record in fed.topic.records()), key=lambda document: document["position"])
    assert [(document["position"], document["word"]) for document in documents] == [(i, f"w{i % 10}") for i in range(35)]
    assert all(record.key is None and json.loads(record.value)["position"] % 2 == record.partition for record in fed.topic.records())


def test_a_row_maker_that_fails_is_heard_before_anything_is_sent(feeding: Callable[..., Feeding], tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def rows(positions, seed):\n    raise ValueError('no rows today')\n")
    fed = feeding(rate="constant(10)", rows="broken.py:rows", folder=str(tmp_path))
    with pytest.raises(UserMistake, match=r"^feed: ValueError: no rows today$"):
        fed.start()
    assert fed.heard == [None]


def test_another_number_of_partitions_or_no_topic_is_refused(feeding: Callable[..., Feeding], tmp_path: Path) -> None:
    fed = feeding(rate="constant(10)", partitions=2)
    order = {"client": fed.topic.client, "options": fed.options, "mark": tmp_path / "other"}
    for topic, why in ((fed.topic.name, "it has 2"), ("nowhere", "there is no such topic")):
        feed = Feed(Order(topic=topic, partitions=3, **order))
        with pytest.raises(UserMistake, match=f"feed: {topic}: found 3 partitions, {why}"):
            feed.wait_first()


def test_another_writer_in_its_topic_is_reported(feeding: Callable[..., Feeding], wait_until: Callable) -> None:
    fed = feeding(rate="constant(500)", partitions=1)
    feed = fed.start()
    wait_until(lambda: fed.sent > 100)
    other = Producer(fed.topic.client)
    other.produce(fed.topic.name, b"intruder", partition=0)
    other.flush()
    wait_until(lambda: None in fed.heard)
    assert "something else writes to it, too, and a feeder needs a topic of its own" in feed.close()


def test_rows_that_the_topic_refuses_are_reported_and_none_is_lost_silently(feeding: Callable[..., Feeding], wait_until: Callable) -> None:
    fed = feeding(rate="constant(5k)", partitions=2)
    small = f"{fed.topic.name}-small"
    admin = AdminClient(fed.topic.client)
    admin.create_topics([NewTopic(small, 2, config={"max.message.bytes": "100"})])[small].result()
    feed = Feed(Order(topic=small, partitions=2, client=fed.topic.client, options=fed.options, mark=fed.order.mark), fed.heard.append)
    wait_until(lambda: None in fed.heard)
    assert f"feed: {small} does not take the rows: " in feed.close()
    assert json.loads(fed.order.mark.read_text())["position"] == 0


def test_it_ends_with_its_parent(feeding: Callable[..., Feeding], tmp_path: Path, wait_until: Callable) -> None:
    fed = feeding(rate="constant(100)")
    order = {"topic": fed.topic.name, "partitions": 4, "client": fed.topic.client, "options": fed.options}
    parent = subprocess.Popen([sys.executable, "-c", PARENT, json.dumps(order), str(tmp_path / "mark")], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    wait_until(lambda: not psutil.pid_exists(pid), 15)
    fed.finish(300)
    fed.check_exact(300)


@pytest.mark.spark
@pytest.mark.long
def test_it_keeps_up_with_fifty_thousand_rows_a_second_beside_a_job(state_home: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "penstock", "selftest", "feeder", "--rate", str(ASKED), "--seconds", "20", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["beside_job"]["asked_rows_per_s"] == ASKED
    assert found["beside_job"]["reached_rows_per_s"] >= 0.99 * ASKED and found["job_rows_per_s"], found
