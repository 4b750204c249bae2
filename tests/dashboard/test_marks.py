from changes import changing, rescaled, scaled_to
from example_run import example_run
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.domain.decision import Comparison
from penstock.core.domain.events.autopilot_events import AutopilotChanged, PolicyPaused, PolicyResumed, PromiseBroken, Proposed, RolledBack, ScalingIneffective
from penstock.core.domain.events.executor_events import ExecutorLost
from penstock.core.domain.events.run_events import NothingToDo
from penstock.core.domain.events.steering_events import InstructionGiven
from penstock.core.domain.trigger import Trigger
from penstock.dashboard.marks import LABEL_CHARACTERS, Kind, marks, rows_for_labels

PLACES = st.lists(st.tuples(st.floats(0, 100), st.floats(1, 30)), max_size=25).map(sorted)


def test_rescales_failures_and_restarts_are_marked_in_the_order_of_time() -> None:
    _, events = example_run()
    labels = {Kind.RESCALE: ["1 → 2", "2 → 4", "4 → 2"], Kind.FAILURE: ["failed"], Kind.RESTART: ["restarted"]}
    found = marks(list(reversed(events)))
    assert {kind: [mark.label for mark in found if mark.kind == kind] for kind in labels} == labels
    assert [mark.label for mark in found] == ["1 → 2", "2 → 4", "failed", "restarted", "4 → 2"]


def test_a_change_of_a_query_is_marked_by_its_new_value_cut_to_size_and_a_lost_executor_as_a_failure() -> None:
    assert [mark.kind for mark in marks([ExecutorLost(at_s=0, executor_id="1", reason="gone")])] == [Kind.FAILURE]
    moves = changing(1, "lookup", trigger=(Trigger(), Trigger(interval_s=10.0)), rate_limit=(None, 2e4))
    change = InstructionGiven(at_s=0, number=1, knob=moves.target, change=moves.change, reason="")
    (mark,) = marks([change, NothingToDo(at_s=1)])
    assert (mark.kind, mark.label) == (Kind.CHANGE, "trigger 10s, rate…")
    assert len(mark.label) == LABEL_CHARACTERS


def test_what_becomes_of_the_trust_in_a_policy_is_marked() -> None:
    why = Comparison(code="partitions", value=2.0, limit=4.0)
    events = [
        AutopilotChanged(at_s=1.0, changes=(("mode", "shadow", "ask"),)),
        AutopilotChanged(at_s=2.0, changes=(("max_step", "none", "2"),)),
        Proposed(at_s=3.0, proposal=1, change=rescaled(3, 5), policy="hpa", expires_s=9.0),
        ScalingIneffective(at_s=4.0, change=rescaled(3, 5), throughput_before_rows_per_s=9.0, throughput_after_rows_per_s=9.0, bottleneck=why),
        PromiseBroken(at_s=5.0, promise="latency p95", value=3.0, limit=2.0),
        RolledBack(at_s=6.0, reason="blind", before=scaled_to(2), configuration=scaled_to(4)),
        PolicyPaused(at_s=6.0, who="penstock", until_s=None),
        PolicyResumed(at_s=7.0, who="ann"),
    ]
    assert [mark.label for mark in marks(events)] == ["mode ask", "5 proposed", "no effect", "promise broken", "rolled back", "paused", "resumed"]
    assert [mark.kind for mark in marks(events)] == [Kind.TRUST] * 2 + [Kind.FAILURE] * 3 + [Kind.TRUST] * 2
    assert all(len(mark.label) <= LABEL_CHARACTERS for mark in marks(events))


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
