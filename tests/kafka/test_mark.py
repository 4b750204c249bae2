import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from confluent_kafka import KafkaError
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import UserMistake
from penstock.core.shapes.schedule import Schedule, TraceRecipe
from penstock.kafka.block import BlockMaker
from penstock.kafka.mark import Deliveries, Mark, take_lease
from penstock.leases import FileLease
from penstock.trace.rows import keyed_numbers

SCHEDULE = Schedule.begin(TraceRecipe(shape="constant(1000)"), 1000.0)
ROWS = 300


@given(st.integers(0, 2**60), st.lists(st.integers(0, 2**60), min_size=1, max_size=9))
def test_a_mark_is_read_as_it_was_written(position: int, offsets: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file, mark = Path(folder) / "mark", Mark(position=position, offsets=tuple(offsets))
        assert Mark.read(file) is None
        mark.write(file)
        assert Mark.read(file) == mark


@pytest.mark.parametrize("text", ["", "{}", '{"position": "x", "offsets": []}', "[1]"])
def test_a_damaged_mark_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "mark").write_text(text)
    with pytest.raises(UserMistake, match=f"feed: its mark {tmp_path}/mark is damaged"):
        Mark.read(tmp_path / "mark")


@pytest.mark.parametrize(("ends", "why"), [([5, 4], "it is another topic"), ([5, 5, 0], "the topic has 3 partitions, it was fed with 2")])
def test_a_topic_that_is_not_the_one_that_was_fed_is_refused(ends: list[int], why: str) -> None:
    with pytest.raises(UserMistake, match=why):
        Mark(position=10, offsets=(5, 5)).sent_since(ends)


def test_two_feeders_never_share_a_mark(tmp_path: Path) -> None:
    with FileLease(tmp_path / "mark.lock"), pytest.raises(UserMistake, match="another feeder is at work with"):
        take_lease(tmp_path / "mark", 0.2)
    with take_lease(tmp_path / "mark", 0.2) as lease:
        assert lease.path == tmp_path / "mark.lock"


def blocks(partitions: int, *, keyed: bool) -> BlockMaker:
    rows = keyed_numbers if keyed else lambda positions, seed: pa.RecordBatch.from_pydict({"value": positions})
    return BlockMaker(rows=rows, seed=3, value_format="json", partitions=partitions, report=lambda *delivery: None)


@given(st.integers(1, 5), st.booleans(), st.integers(0, ROWS), st.data())
def test_rows_that_a_topic_holds_already_are_left_out_and_a_block_goes_on_exactly_where_it_is_put_back(
    partitions: int, keyed: bool, sent: int, data: st.DataObject
) -> None:
    maker, none = blocks(partitions, keyed=keyed), np.zeros(partitions, dtype=np.int64)
    whole = maker.make(SCHEDULE, 0, ROWS, none, none)
    held = np.array([data.draw(st.integers(0, whole.partitions.count(each))) for each in range(partitions)], dtype=np.int64)
    block = maker.make(SCHEDULE, 0, ROWS, none, held)
    for partition in range(partitions):
        rows, left = (
            [(position, value) for position, value, at in zip(each.positions, each.values, each.partitions, strict=True) if at == partition]
            for each in (whole, block)
        )
        assert left == rows[held[partition] :]
    block.sent = min(sent, len(block.positions))
    after = block.position
    assert block.offsets_now().sum() == after
    if after < ROWS:
        rest = maker.make(SCHEDULE, after, ROWS, block.offsets_now(), block.held_now())
        assert [*block.positions[: block.sent], *rest.positions] == block.positions
        rest.sent = len(rest.positions)
        assert rest.offsets_now().tolist() == [whole.partitions.count(each) for each in range(partitions)]
        assert rest.held_now().tolist() == none.tolist()


def test_rows_are_due_when_their_time_has_come() -> None:
    block = blocks(2, keyed=True).make(SCHEDULE, 0, ROWS, np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64))
    assert [block.due(at) for at in (999.0, 1000.0, 1000.0501, 1001.0)] == [0, 0, 50, ROWS]
    assert block.stamps_ms[:3] == [1_000_001, 1_000_002, 1_000_003]


def delivered(offset: int | None) -> SimpleNamespace:
    return SimpleNamespace(offset=lambda: offset)


def test_a_mark_is_confirmed_when_every_partition_has_reached_it() -> None:
    deliveries = Deliveries("t", [10, 20])
    first, second = Mark(position=3, offsets=(12, 21)), Mark(position=5, offsets=(13, 22))
    deliveries.await_mark(first)
    deliveries.await_mark(second)
    deliveries.report(0, 12, None, delivered(11))
    assert deliveries.confirmed() is None
    deliveries.report(1, 22, None, delivered(21))
    assert deliveries.confirmed() == first
    deliveries.report(0, 13, None, delivered(None))
    assert (deliveries.confirmed(), deliveries.confirmed(), deliveries.problem) == (second, None, None)


@pytest.mark.parametrize(
    ("offset", "error", "why"),
    [
        (15, None, "something else writes to it, too"),
        (10, None, "it has lost rows"),
        (None, KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED, "not yours"), "feed: t does not take the rows: not yours"),
    ],
)
def test_a_record_that_lands_elsewhere_or_is_refused_is_a_problem(offset: int | None, error: KafkaError | None, why: str) -> None:
    deliveries = Deliveries("t", [10])
    deliveries.report(0, 12, error, delivered(offset))
    assert why in (deliveries.problem or "")
