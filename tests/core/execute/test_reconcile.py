from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from changes import changing, rescaled, scaled_to, scaling
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.config import Config
from penstock.core.domain.autopilot import Mode
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.executor_events import ExecutorsComplete, ExecutorsMissing
from penstock.core.domain.events.steering_events import InstructionGiven
from penstock.core.domain.instruction import Instruction
from penstock.core.domain.reading import QueryReading
from penstock.core.domain.trigger import Trigger
from penstock.core.execute.reconcile import reconcile, watch_executors
from penstock.core.knowledge.knowledge import Author, Hold, Knowledge, Missing, Pending
from penstock.core.knowledge.steering import Applied, Schedule
from penstock.runtime.fakes import blank_reading

SLOW, FAST = Trigger(interval_s=10.0), Trigger(interval_s=1.0)
SEEN = QueryReading(name="a", state="running", trigger=SLOW, rate_limit_rows_per_s=None, partitions=4)
CONFIG = Config(executors_timeout_s=30.0)
WANTED = Knowledge(declared=scaled_to(3), desired=scaled_to(3))


def knowing(wishes: Mapping[str, Any] | None = None, seen: QueryReading = SEEN, unable: dict[str, str] | None = None) -> Knowledge:
    desired = is_now = scaled_to(2, a="10s")
    for address, value in (wishes or {}).items():
        desired = desired.having(address, value)
    reading = blank_reading(1.0, executors_running=2, executors_requested=2, queries=(seen,), unable=unable or {})
    return Knowledge(declared=is_now, desired=desired, last=reading)


def asked(knowledge: Knowledge) -> list[Instruction]:
    return reconcile(knowledge, 5.0)[1]


def test_what_is_as_desired_is_left_alone() -> None:
    knowledge = knowing()
    after, instructions, events = reconcile(knowledge, 5.0)
    assert after is knowledge and not instructions and not events


@pytest.mark.parametrize(
    ("wish", "instruction", "before", "after"),
    [
        ({"executors": 3}, scaling(1, 2, 3), "2", "3"),
        ({"trigger:a": FAST}, changing(1, "a", trigger=(SLOW, FAST)), "trigger 10s", "trigger 1s"),
        ({"rate-limit:a": 5e4}, changing(1, "a", rate_limit=(None, 5e4)), "rate-limit none", "rate-limit 50k/s"),
        ({"partitions:a": 8}, changing(1, "a", partitions=(4, 8)), "partitions 4", "partitions 8"),
        (
            {"trigger:a": FAST, "partitions:a": 8},
            changing(1, "a", trigger=(SLOW, FAST), partitions=(4, 8)),
            "trigger 10s, partitions 4",
            "trigger 1s, partitions 8",
        ),
    ],
)
def test_each_wish_becomes_one_instruction_with_its_reason(wish: dict[str, Any], instruction: Instruction, before: str, after: str) -> None:
    knowledge, instructions, events = reconcile(knowing(wish), 5.0)
    assert instructions == [instruction]
    assert events == [InstructionGiven(at_s=5.0, number=1, knob=instruction.target, change=instruction.change, reason="desired state")]
    assert instruction.change.sides() == (before, after)
    assert knowledge.pending == (Pending(instruction=instruction, since_s=5.0),) and knowledge.next_number == 2
    assert asked(knowledge) == [], "a knob that is being turned is not turned again"


def test_a_held_value_names_who_holds_it() -> None:
    holds = (Hold(knob="trigger:b", value="1s", who="bob", until_s=1e9), Hold(knob="trigger:a", value="1s", who="ann", until_s=1e9))
    _, _, (given,) = reconcile(replace(knowing({"trigger:a": FAST}), holds=holds), 5.0)
    assert isinstance(given, InstructionGiven) and given.reason == "held by ann"


def test_a_hold_of_another_knob_of_the_query_does_not_hide_the_decision() -> None:
    authors = {"trigger:a": Author(decision_id=6, policy="auto")}
    for knob, limit, decision, reason in (
        ("rate-limit:a", None, 6, "decided by auto"),
        ("rate-limit:a", 5.0, 6, "held by ann"),
        ("trigger:a", None, None, "held by ann"),
    ):
        holds = (Hold(knob=knob, value="x", who="ann", until_s=1e9),)
        _, [step], [given] = reconcile(replace(knowing({"trigger:a": FAST, "rate-limit:a": limit}), holds=holds, authors=authors), 5.0)
        assert isinstance(given, InstructionGiven) and (step.decision, given.decision_id, given.reason) == (decision, decision, reason)


@pytest.mark.parametrize(("requested", "reason"), [(3, "decided by auto"), (2, "desired state")])
def test_what_a_cluster_gives_beyond_what_was_asked_for_does_not_leave_in_the_name_of_the_policy(requested: int, reason: str) -> None:
    knowledge = knowing()
    assert knowledge.last is not None
    last = replace(knowledge.last, executors_running=4, executors_requested=requested)
    authors = {"executors": Author(decision_id=6, policy="auto")}
    _, [step], [given] = reconcile(replace(knowledge, last=last, authors=authors), 5.0)
    assert isinstance(given, InstructionGiven) and (given.change, given.reason, given.repeats) == (rescaled(4, 2), reason, requested == 2)
    assert step.decision == given.decision_id == (6 if requested == 3 else None)


NOT_STEERED: dict[str, Knowledge] = {
    **{f"it is {state}": knowing({"trigger:a": FAST}, replace(SEEN, state=state)) for state in ("starting", "restarting", "failed", "given up", "stopped")},
    "its partitions are not known yet": knowing({"partitions:a": 8}, replace(SEEN, partitions=None)),
    "it was not declared": knowing(None, replace(SEEN, name="other", trigger=FAST)),
}


@pytest.mark.parametrize("knowledge", NOT_STEERED.values(), ids=NOT_STEERED)
def test_a_query_is_not_steered_while(knowledge: Knowledge) -> None:
    assert asked(knowledge) == []


def test_a_knob_that_cannot_be_turned_is_left_as_it_is() -> None:
    assert asked(knowing({"executors": 3}, unable={"executors": "use a cluster"})) == []
    stiff = replace(SEEN, unable={"trigger": "x", "partitions": "x"})
    assert asked(knowing({"trigger:a": FAST, "partitions:a": 8}, stiff)) == []
    assert asked(knowing({"trigger:a": FAST, "rate-limit:a": 5.0}, stiff)) == [changing(1, "a", rate_limit=(None, 5.0))]


def test_several_knobs_are_turned_in_one_turn_with_numbers_of_their_own() -> None:
    both = replace(knowing({"executors": 3, "trigger:a": FAST}), next_number=7)
    assert asked(both) == [scaling(7, 2, 3), changing(8, "a", trigger=(SLOW, FAST))]


def rescaling(mode: Mode = "active", **known: Any) -> Knowledge:
    """Knowledge that desires 5 executors of 3, after its next instruction was given."""
    last = blank_reading(10.0, **{"executors_running": 2, "executors_requested": 3, "throughput_rows_per_s": 100.0, **known})
    return reconcile(Knowledge(declared=scaled_to(3), desired=scaled_to(5), last=last, schedule=Schedule(mode=mode), next_number=4), 10.0)[0]


@pytest.mark.parametrize(("mode", "applied", "rescaled_s"), [("observe", 0, None), ("shadow", 1, None), ("ask", 1, 10.0), ("active", 1, 10.0)])
def test_a_rescale_is_remembered_where_there_is_a_policy_and_starts_its_timer_unless_in_shadow(mode: Mode, applied: int, rescaled_s: float | None) -> None:
    after = rescaling(mode)
    assert after.applied == (Applied(number=4, decision_id=None, change=scaling(4, 3, 5).change, at_s=10.0),) * applied
    assert after.schedule.rescaled_s == rescaled_s


def test_what_changes_before_the_first_batch_of_any_query_is_the_start_of_the_job_and_no_rescale() -> None:
    assert rescaling(throughput_rows_per_s=None).rescale is None
    reads = replace(SEEN, throughput_rows_per_s=100.0)
    assert rescaling(throughput_rows_per_s=None, queries=(reads, replace(reads, name="b", throughput_rows_per_s=None))).schedule.rescaled_s == 10.0


def test_a_change_of_a_query_is_no_rescale() -> None:
    knowledge = knowing({"trigger:a": FAST}, replace(SEEN, throughput_rows_per_s=100.0))
    after = reconcile(replace(knowledge, schedule=Schedule(mode="active")), 10.0)[0]
    assert (after.rescale, after.schedule.rescaled_s, len(after.applied)) == (None, None, 1)


def test_the_last_rescale_is_remembered_however_many_changes_of_queries_follow() -> None:
    knowledge = knowing({"trigger:a": FAST}, replace(SEEN, throughput_rows_per_s=100.0))
    rescale = Applied(number=1, decision_id=3, change=scaling(1, 1, 2).change, at_s=1.0)
    knowledge = replace(knowledge, schedule=Schedule(mode="active"), applied=(rescale,), next_number=2)
    for _ in range(20):
        knowledge = replace(reconcile(knowledge, 10.0)[0], pending=())
    assert knowledge.rescale == rescale and [each.number for each in knowledge.applied] == [1, *range(14, 22)]


def watch(running: list[int], every_s: float = 10.0, unable: dict[str, str] | None = None) -> list[Event]:
    knowledge, events = WANTED, list[Event]()
    for number, each in enumerate(running):
        at_s = number * every_s
        reading = blank_reading(at_s, executors_running=each, executors_requested=3, unable=unable or {})
        knowledge, said = watch_executors(replace(knowledge, last=reading), at_s, CONFIG)
        events += said
    return events


def test_missing_executors_are_reported_after_the_time_out_and_their_return_once() -> None:
    assert watch([3, 2, 2, 2, 2, 2, 2, 3, 3]) == [ExecutorsMissing(at_s=40.0, requested=3, running=2, waited_s=30.0), ExecutorsComplete(at_s=70.0, running=3)]
    assert watch([3, 2, 2, 3, 2, 2, 3]) == [], "they were replaced in time"
    assert watch([0] * 20, unable={"executors": "use a cluster"}) == [], "there are none to scale"


def test_while_all_are_there_nothing_is_copied() -> None:
    complete = replace(WANTED, last=blank_reading(5.0, executors_running=3, executors_requested=3))
    assert watch_executors(complete, 5.0, CONFIG)[0] is complete
    reported = replace(complete, last=blank_reading(5.0, executors_running=2), missing=Missing(since_s=0.0, reported=True))
    assert watch_executors(reported, 99.0, CONFIG)[0] is reported


@given(st.lists(st.integers(0, 4), max_size=40))
@settings(deadline=None)
def test_missing_and_complete_are_said_in_turns(running: list[int]) -> None:
    kinds = [type(event) for event in watch(running)]
    assert kinds == [ExecutorsMissing if number % 2 == 0 else ExecutorsComplete for number in range(len(kinds))]


def test_while_executors_are_being_asked_for_nothing_is_missing() -> None:
    pending = (Pending(instruction=scaling(1, 1, 3), since_s=0.0),)
    asking = replace(WANTED, last=blank_reading(500.0, executors_running=1), pending=pending, missing=Missing(since_s=0.0))
    assert watch_executors(asking, 500.0, CONFIG) == (asking, [])
