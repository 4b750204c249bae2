import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from changes import changing, rescaled, scaled_to, scaling
from planned import knowing

from penstock.core.domain.events.executor_events import ExecutorsMissing
from penstock.core.domain.events.steering_events import HoldEnded, InstructionDone, InstructionFailed
from penstock.core.domain.instruction import MISSING, Instruction, Outcome, joined
from penstock.core.domain.prediction import Prediction
from penstock.core.domain.reading import QueryReading
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge.knowledge import Hold, Knowledge, Missing, Pending
from penstock.core.knowledge.learnt import Learnt
from penstock.core.knowledge.steering import Applied
from penstock.core.models.anomaly.recovery_watch import RecoveryWatch
from penstock.core.monitor.outcomes import take_outcomes
from penstock.runtime.fakes import blank_reading

SLOW, FAST = Trigger(interval_s=10.0), Trigger(interval_s=1.0)
SEEN = QueryReading(name="a", state="running", trigger=SLOW, rate_limit_rows_per_s=50.0, partitions=4)
READING = blank_reading(9.0, executors_running=1, executors_requested=2, queries=(SEEN,))
SCALE = scaling(1, 2, 4, decision=6)
CHANGE = changing(2, "a", trigger=(SLOW, FAST), partitions=(4, 8))
REFUSED = Outcome(number=4, done=False, took_s=1.0)


def wishing(instruction: Instruction, wishes: Mapping[str, Any] | None = None) -> Knowledge:
    desired = declared = scaled_to(2, a="10s").having("rate-limit:a", 50.0)
    for address, value in {**{move.address: move.after for move in instruction.change.moves}, **(wishes or {})}.items():
        desired = desired.having(address, value)
    holds = tuple(Hold(knob=knob, value="x", who="ann", until_s=1e9) for knob in ("executors", "trigger:a", "rate-limit:a", "partitions:a"))
    pending = (Pending(instruction=instruction, since_s=3.0),)
    return Knowledge(declared=declared, desired=desired, holds=holds, pending=pending, last=READING)


def held(knowledge: Knowledge) -> list[str]:
    return [hold.knob for hold in knowledge.holds]


def test_what_was_done_is_said_with_its_price_and_the_knob_is_free() -> None:
    before = wishing(SCALE)
    after, events = take_outcomes(before, [Outcome(number=1, done=True, took_s=2.5, delayed_rows=70.0, reason="down 0.4 s")], 10.0)
    assert events == [InstructionDone(at_s=10.0, number=1, decision_id=6, knob="executors", took_s=2.5, delayed_rows=70.0, note="down 0.4 s")]
    assert after == replace(before, pending=())


def test_an_outcome_without_a_pending_instruction_is_ignored() -> None:
    assert take_outcomes(wishing(SCALE), [Outcome(number=9, done=False, took_s=0.0)], 10.0) == (wishing(SCALE), [])
    once = [Outcome(number=1, done=True, took_s=0.0)]
    assert len(take_outcomes(wishing(SCALE), [*once, *once], 10.0)[1]) == 1


def test_a_rescale_that_was_not_carried_out_is_no_disturbance_and_its_prediction_is_not_graded() -> None:
    made = Prediction(kind="recovery", made_s=1.0, value=1.0, low=1.0, high=1.0, configuration=scaled_to(4), cause="instruction 1")
    health = RecoveryWatch().disturbed(3.0, "rescale_up", cause="instruction 1")
    applied = Applied(number=1, decision_id=6, change=SCALE.change, at_s=3.0)
    before = replace(wishing(SCALE), applied=(applied,), learnt=Learnt(health=health), predictions=(made, replace(made, cause="failure 1")))
    after, _ = take_outcomes(before, [Outcome(number=1, done=False, took_s=60.0, reason=MISSING)], 63.0)
    assert (after.applied, after.learnt.health.open, after.predictions) == ((), (), (replace(made, cause="failure 1"),))


def test_executors_that_failed_are_desired_as_they_are() -> None:
    after, events = take_outcomes(wishing(SCALE), [Outcome(number=1, done=False, took_s=1.0, reason="refused")], 10.0)
    assert events == [
        InstructionFailed(at_s=10.0, number=1, decision_id=6, knob="executors", took_s=1.0, reason="refused"),
        HoldEnded(at_s=10.0, knob="executors", value="x", how="failed", who="ann"),
    ]
    assert after.desired.executors == READING.executors_requested
    assert after.missing.stuck == READING.executors_running
    assert held(after) == ["trigger:a", "rate-limit:a", "partitions:a"]


def test_executors_that_have_not_come_are_still_desired() -> None:
    after, events = take_outcomes(wishing(SCALE), [Outcome(number=1, done=False, took_s=120.0, reason=MISSING)], 130.0)
    assert events == [ExecutorsMissing(at_s=130.0, requested=4, running=1, waited_s=120.0, number=1, decision_id=6)]
    assert after.desired.executors == 4
    assert after.missing == Missing(since_s=3.0, reported=True)


def test_a_query_that_could_not_be_changed_is_desired_as_it_is_and_a_value_it_has_stays_held() -> None:
    after, _ = take_outcomes(wishing(CHANGE), [Outcome(number=2, done=False, took_s=1.0, reason="boom")], 10.0)
    assert after.desired == scaled_to(2, a="10s").having("rate-limit:a", 50.0)
    assert held(after) == ["executors", "rate-limit:a"]


BOTH = Instruction(number=1, change=replace(CHANGE.change, moves=(*SCALE.change.moves, *CHANGE.change.moves)))


def test_of_a_joined_instruction_the_part_that_worked_is_not_undone() -> None:
    refused, worked = Outcome(number=1, done=False, took_s=1.0, reason="boom"), Outcome(number=1, done=True, took_s=1.0, reason="down 0.4 s")
    of_query = joined([worked, replace(refused, failed=("trigger:a", "partitions:a"))])
    after, (said, *_) = take_outcomes(wishing(BOTH), [of_query], 10.0)
    assert isinstance(said, InstructionFailed) and said.reason == "boom"
    assert (after.desired.executors, after.desired.of("trigger:a"), held(after)) == (4, SLOW, ["executors", "rate-limit:a"])
    after, _ = take_outcomes(wishing(BOTH), [joined([replace(refused, failed=("executors",)), worked])], 10.0)
    assert (after.desired.executors, after.desired.of("trigger:a"), after.desired.of("partitions:a")) == (2, FAST, 8)


def test_executors_that_have_not_come_are_missing_whether_the_query_was_changed_or_not() -> None:
    missing = Outcome(number=1, done=False, took_s=120.0, reason=MISSING, failed=("executors",))
    after, (said,) = take_outcomes(wishing(BOTH), [joined([missing, Outcome(number=1, done=True, took_s=1.0, reason="down 0.4 s")])], 130.0)
    assert isinstance(said, ExecutorsMissing) and after.desired == wishing(BOTH).desired
    refused = replace(missing, reason="boom", failed=("trigger:a", "partitions:a"))
    for parts in ([missing, refused], [refused, missing]):
        after, (failed, *_) = take_outcomes(wishing(BOTH), [joined(parts)], 130.0)
        assert isinstance(failed, InstructionFailed) and (failed.reason, after.desired.of("trigger:a")) == ("boom", SLOW)
        assert (after.desired.executors, after.missing.since_s, held(after)) == (4, 3.0, ["executors", "rate-limit:a"]), "they are reported next"


def test_a_failure_does_not_end_a_wish_that_came_after_it() -> None:
    for newer in (wishing(SCALE, {"executors": 3}), wishing(CHANGE, {"trigger:a": Trigger(), "partitions:a": 16})):
        after, _ = take_outcomes(newer, [Outcome(number=newer.pending[0].instruction.number, done=False, took_s=1.0, reason="boom")], 10.0)
        assert after == replace(newer, pending=())


def test_partitions_that_were_changed_are_no_longer_a_wish_unless_another_came_meanwhile() -> None:
    done = [Outcome(number=2, done=True, took_s=1.0)]
    assert take_outcomes(wishing(CHANGE), done, 10.0)[0].desired.of("partitions:a") is None
    assert take_outcomes(wishing(CHANGE, {"partitions:a": 16}), done, 10.0)[0].desired.of("partitions:a") == 16


def test_a_failure_of_which_nothing_was_seen_leaves_the_wish() -> None:
    failed = [Outcome(number=2, done=False, took_s=1.0, reason="boom")]
    for last in (None, replace(READING, queries=())):
        before = replace(wishing(CHANGE), last=last)
        assert take_outcomes(before, failed, 10.0)[0] == replace(before, pending=())


def applying(before: int, after: int, decision: int | None = 1) -> Knowledge:
    """Instruction 4, a rescale that the policy wanted, is under way."""
    step = scaling(4, before, after, decision=decision)
    applied = (Applied(number=4, decision_id=None, change=step.change, at_s=10.0),)
    return knowing(last=READING, applied=applied, pending=(Pending(instruction=step, since_s=10.0),), own_scale_down_s=10.0, rescaled_s=10.0)


def test_executors_that_did_not_leave_were_not_given_away() -> None:
    for asked, own_s in (((3, 5), 10.0), ((3, 1), None), ((3, 1, None), 10.0)):
        left, _ = take_outcomes(applying(*asked), [REFUSED], 10.0)
        assert (left.trust.own_scale_down_s, left.schedule.rescaled_s) == (own_s, 10.0), "it is not tried again at once"


def test_a_rescale_that_came_to_nothing_is_forgotten_and_one_that_was_done_is_not() -> None:
    assert take_outcomes(applying(3, 5), [REFUSED], 10.0)[0].rescale is None
    done, other = replace(REFUSED, done=True), replace(REFUSED, number=3)
    assert take_outcomes(applying(3, 5), [done, other], 10.0)[0].applied == applying(3, 5).applied


def test_what_is_done_within_the_stop_of_a_rescale_is_charged_to_the_rescale() -> None:
    both = replace(CHANGE, change=replace(CHANGE.change, moves=(*rescaled(4, 2).moves, *CHANGE.change.moves)))
    applied = (Applied(number=2, decision_id=None, change=both.change, at_s=3.0),)
    for down_s, cost_s, live in ((12.0, 12.0, ()), (None, 20.0, ("rescale_down",))):
        learnt = take_outcomes(replace(wishing(both), applied=applied), [Outcome(number=2, done=True, took_s=20.0, down_s=down_s)], 10.0)[0].learnt
        costs: Any = {kind: math.exp(seen.mean) for kind, seen in learnt.downtimes.learnt.items()}
        assert costs == pytest.approx({"rescale_down": cost_s})
        assert learnt.live == live, "a job that worked on was not stopped"
