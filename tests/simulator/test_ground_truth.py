import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.simulator.ground_truth import COLUMNS, ROOM, Record, Seconds, Struck


def seconds(count: int, first: float = 0.0) -> Seconds:
    return Seconds(**{name: first + np.arange(count, dtype=float) + 1e6 * place for place, name in enumerate(COLUMNS)})


@given(st.lists(st.integers(0, ROOM // 2), max_size=5))
def test_pieces_of_any_length_become_one_row_a_second(pieces: list[int]) -> None:
    record, written = Record(100.0), 0
    for count in pieces:
        record.append(seconds(count, float(written)))
        written += count
    assert len(record) == written and record.end_s == 100.0 + written
    for place, name in enumerate(COLUMNS):
        assert np.array_equal(getattr(record.seconds(), name), np.arange(written) + 1e6 * place)


def test_a_part_of_it_can_be_looked_at_and_columns_of_different_length_are_refused() -> None:
    record = Record(0.0)
    record.append(seconds(10))
    assert record.seconds(7).executors.tolist() == [7.0, 8.0, 9.0] and record.seconds(2, 4).executors.tolist() == [2.0, 3.0]
    uneven = {**{name: np.zeros(3) for name in COLUMNS}, "down": np.zeros(2)}
    with pytest.raises(ValueError, match="down"):
        record.append(Seconds(**uneven))
    assert len(record) == 10


def test_latencies_are_kept_in_their_order_apart_from_the_seconds() -> None:
    record = Record(0.0)
    record.deliver(np.array([1.0, 1.0]), np.array([0.5, 0.1]), np.array([10.0, 20.0]))
    record.deliver(np.array([2.0]), np.array([0.3]), np.array([30.0]))
    assert [column.tolist() for column in record.delivered] == [[1.0, 1.0, 2.0], [0.5, 0.1, 0.3], [10.0, 20.0, 30.0]]
    assert len(record) == 0


def test_a_recovery_ends_what_struck_before_it_and_nothing_else() -> None:
    record = Record(0.0)
    record.struck = [Struck(at_s=5.0, kind="kill", recovered_s=9.0), Struck(at_s=10.0, kind="kill"), Struck(at_s=30.0, kind="freeze")]
    record.recovered(25.0)
    assert [each.recovery_s for each in record.struck] == [4.0, 15.0, None]
