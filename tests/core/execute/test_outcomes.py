"""What became of instructions closes them, and failures end the wish."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.core.domain.events.executors import ExecutorsMissing
from penstock.core.domain.events.steering import InstructionDone, InstructionFailed
from penstock.core.domain.instruction import MISSING, ChangeQuery, Instruction, Outcome, ScaleExecutors
from penstock.core.domain.reading import QueryReading
from penstock.core.domain.trigger import Trigger
from penstock.core.execute.outcomes import take_outcomes
from penstock.core.knowledge.knowledge import Desired, Hold, Knowledge, Pending
from penstock.runtime.fakes import blank_reading

SLOW, FAST = Trigger(interval_s=10.0), Trigger(interval_s=1.0)
SEEN = QueryReading(name="a", state="running", trigger=SLOW, rate_limit_rows_per_s=50.0, partitions=4)
READING = blank_reading(9.0, executors_running=1, executors_requested=2, queries=(SEEN,))
SCALE = ScaleExecutors(number=1, executors=4)
CHANGE = ChangeQuery(number=2, query="a", trigger=FAST, rate_limit_rows_per_s=50.0, partitions=8)


def wishing(instruction: Instruction, **wishes: Any) -> Knowledge:
    """Knowledge that desires what the instruction asks for, unless told otherwise."""
    declared = Desired(executors=2, triggers={"a": SLOW}, rate_limits_rows_per_s={"a": 50.0}, partitions={"a": None})
    asked = {"executors": 4} if isinstance(instruction, ScaleExecutors) else {"triggers": {"a": FAST}, "partitions": {"a": 8}}
    holds = tuple(Hold(knob=knob, value="x", who="ann", until_s=1e9) for knob in ("executors", "trigger:a", "rate-limit:a", "partitions:a"))
    pending = (Pending(instruction=instruction, since_s=3.0),)
    return Knowledge(declared=declared, desired=replace(declared, **{**asked, **wishes}), holds=holds, pending=pending, last=READING)


def held(knowledge: Knowledge) -> list[str]:
    return [hold.knob for hold in knowledge.holds]


def test_what_was_done_is_said_with_its_price_and_the_knob_is_free() -> None:
    before = wishing(SCALE)
    after, events = take_outcomes(before, [Outcome(number=1, done=True, took_s=2.5, delayed_rows=70.0, reason="down 0.4 s")], 10.0)
    assert events == [InstructionDone(at_s=10.0, number=1, knob="executors", took_s=2.5, delayed_rows=70.0, note="down 0.4 s")]
    assert after == replace(before, pending=())


def test_an_outcome_that_nobody_waits_for_is_passed_over() -> None:
    assert take_outcomes(wishing(SCALE), [Outcome(number=9, done=False, took_s=0.0)], 10.0) == (wishing(SCALE), [])
    once = [Outcome(number=1, done=True, took_s=0.0)]
    assert len(take_outcomes(wishing(SCALE), [*once, *once], 10.0)[1]) == 1


def test_executors_that_failed_are_desired_as_they_are() -> None:
    after, events = take_outcomes(wishing(SCALE), [Outcome(number=1, done=False, took_s=1.0, reason="refused")], 10.0)
    assert events == [InstructionFailed(at_s=10.0, number=1, knob="executors", took_s=1.0, reason="refused")]
    assert after.desired.executors == READING.executors_requested
    assert after.stuck_executors == READING.executors_running
    assert held(after) == ["trigger:a", "rate-limit:a", "partitions:a"]


def test_executors_that_have_not_come_are_still_desired() -> None:
    after, events = take_outcomes(wishing(SCALE), [Outcome(number=1, done=False, took_s=120.0, reason=MISSING)], 130.0)
    assert events == [ExecutorsMissing(at_s=130.0, requested=4, running=1, waited_s=120.0, number=1)]
    assert after.desired.executors == 4
    assert (after.missing_since_s, after.missing_reported) == (3.0, True)


def test_a_query_that_could_not_be_changed_is_desired_as_it_is_and_a_value_it_has_stays_held() -> None:
    after, _ = take_outcomes(wishing(CHANGE), [Outcome(number=2, done=False, took_s=1.0, reason="boom")], 10.0)
    assert after.desired.triggers == {"a": SLOW}
    assert after.desired.partitions == {"a": None}
    assert after.desired.rate_limits_rows_per_s == {"a": 50.0}
    assert held(after) == ["executors", "rate-limit:a"]


def test_a_failure_does_not_end_a_wish_that_came_after_it() -> None:
    for newer in (wishing(SCALE, executors=3), wishing(CHANGE, triggers={"a": Trigger()}, partitions={"a": 16})):
        after, _ = take_outcomes(newer, [Outcome(number=newer.pending[0].instruction.number, done=False, took_s=1.0, reason="boom")], 10.0)
        assert after == replace(newer, pending=())


def test_partitions_that_were_changed_are_no_longer_a_wish_unless_another_came_meanwhile() -> None:
    done = [Outcome(number=2, done=True, took_s=1.0)]
    assert take_outcomes(wishing(CHANGE), done, 10.0)[0].desired.partitions == {"a": None}
    assert take_outcomes(wishing(CHANGE, partitions={"a": 16}), done, 10.0)[0].desired.partitions == {"a": 16}


def test_a_failure_of_which_nothing_was_seen_leaves_the_wish() -> None:
    failed = [Outcome(number=2, done=False, took_s=1.0, reason="boom")]
    for last in (None, replace(READING, queries=())):
        before = replace(wishing(CHANGE), last=last)
        assert take_outcomes(before, failed, 10.0)[0] == replace(before, pending=())
