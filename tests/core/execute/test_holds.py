"""Holds run out; the values stay."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.domain.events.steering import HoldEnded
from penstock.core.execute.holds import end_holds, hold
from penstock.core.knowledge.knowledge import Desired, Hold, Knowledge

HOLDS = st.lists(
    st.builds(Hold, knob=st.sampled_from(["executors", "trigger:a", "trigger:b"]), value=st.just("3"), who=st.just("ann"), until_s=st.floats(0, 100))
)


def knowing(holds: list[Hold]) -> Knowledge:
    knowledge = Knowledge(declared=Desired(executors=1), desired=Desired(executors=3))
    for each in holds:
        knowledge = hold(knowledge, each)
    return knowledge


@given(HOLDS, st.floats(0, 100))
@settings(deadline=None)
def test_a_hold_ends_when_its_time_has_run_out_and_its_value_stays(holds: list[Hold], at_s: float) -> None:
    before = knowing(holds)
    after, events = end_holds(before, at_s)
    assert all(each.until_s > at_s for each in after.holds)
    assert {event.knob for event in events if isinstance(event, HoldEnded) and event.expired} == {each.knob for each in before.holds if each.until_s <= at_s}
    assert len(after.holds) + len(events) == len(before.holds)
    assert after.desired == before.desired
    assert (after is before) == (not events), "where nothing ended nothing is copied"


@given(HOLDS)
@settings(deadline=None)
def test_a_knob_is_held_once_by_whoever_spoke_last(holds: list[Hold]) -> None:
    kept = knowing(holds).holds
    assert {each.knob: each for each in kept} == {each.knob: each for each in holds}
    assert len(kept) == len({each.knob for each in holds})
