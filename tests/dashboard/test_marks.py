from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.core.domain.event import ExecutorLost, InstructionGiven, NothingToDo
from penstock.dashboard.example import example_run
from penstock.dashboard.marks import LABEL_CHARACTERS, Kind, marks, rows_for_labels

PLACES = st.lists(st.tuples(st.floats(0, 100), st.floats(1, 30)), max_size=25).map(sorted)


def test_rescales_failures_and_restarts_are_marked_in_the_order_of_time() -> None:
    _, events = example_run()
    assert [(mark.kind, mark.label) for mark in marks(list(reversed(events)))] == [
        (Kind.RESCALE, "1 → 2"),
        (Kind.RESCALE, "2 → 4"),
        (Kind.FAILURE, "failed"),
        (Kind.RESTART, "restarted"),
        (Kind.RESCALE, "4 → 2"),
    ]


def test_a_change_of_a_query_is_marked_by_its_new_value_cut_to_size() -> None:
    change = InstructionGiven(at_s=0, number=1, knob="query:lookup", before="2s", after="trigger 10s,\nlimit 20000/s", reason="")
    (mark,) = marks([change, NothingToDo(at_s=1)])
    assert (mark.kind, mark.label) == (Kind.CHANGE, "trigger 10s, limi…")
    assert len(mark.label) == LABEL_CHARACTERS


def test_a_lost_executor_is_a_failure() -> None:
    assert [mark.kind for mark in marks([ExecutorLost(at_s=0, executor_id="1", reason="gone")])] == [Kind.FAILURE]


@given(PLACES)
def test_no_two_labels_touch(places: list[tuple[float, float]]) -> None:
    starts, widths = [start for start, _ in places], [width for _, width in places]
    placed = [(row, start, width) for row, start, width in zip(rows_for_labels(starts, widths, 4), starts, widths, strict=True) if row is not None]
    for i, (row, start, width) in enumerate(placed):
        assert all(start + width < other for other_row, other, _ in placed[i + 1 :] if other_row == row)


@given(PLACES)
def test_no_line_runs_through_the_label_of_another_mark(places: list[tuple[float, float]]) -> None:
    starts, widths = [start for start, _ in places], [width for _, width in places]
    rows = rows_for_labels(starts, widths, 4)
    for i, row in enumerate(rows):
        for j, other in enumerate(rows):
            if row is not None and other is not None and other > row and starts[i] < starts[j]:
                assert starts[j] > starts[i] + widths[i]
