"""What differs from what is desired is asked for, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from penstock.core.domain.decision import Comparison, Decision
from penstock.core.domain.events.steering import InstructionGiven
from penstock.core.domain.instruction import ChangeQuery, Instruction, ScaleExecutors
from penstock.core.domain.reading import QueryReading
from penstock.core.domain.trigger import Trigger
from penstock.core.execute.reconcile import reconcile
from penstock.core.knowledge.knowledge import Desired, Hold, Knowledge, Pending
from penstock.core.knowledge.steering import Steering
from penstock.runtime.fakes import blank_reading

SLOW, FAST = Trigger(interval_s=10.0), Trigger(interval_s=1.0)
SEEN = QueryReading(name="a", state="running", trigger=SLOW, rate_limit_rows_per_s=None, partitions=4)


def knowing(seen: QueryReading = SEEN, unable: dict[str, str] | None = None, **wishes: Any) -> Knowledge:
    is_now = Desired(executors=2, triggers={"a": SLOW}, rate_limits_rows_per_s={"a": None}, partitions={"a": None})
    reading = blank_reading(1.0, executors_running=2, executors_requested=2, queries=(seen,), unable=unable or {})
    return Knowledge(declared=is_now, desired=replace(is_now, **wishes), last=reading)


def asked(knowledge: Knowledge) -> list[Instruction]:
    return reconcile(knowledge, 5.0)[1]


def change(**settings: Any) -> ChangeQuery:
    return ChangeQuery(**{"number": 1, "query": "a", "trigger": SLOW, "rate_limit_rows_per_s": None, **settings})


def test_what_is_as_desired_is_left_alone() -> None:
    knowledge = knowing()
    after, instructions, events = reconcile(knowledge, 5.0)
    assert after is knowledge and not instructions and not events


@pytest.mark.parametrize(
    ("wish", "instruction", "before", "after"),
    [
        ({"executors": 3}, ScaleExecutors(number=1, executors=3), "2", "3"),
        ({"triggers": {"a": FAST}}, change(trigger=FAST), "trigger 10s", "trigger 1s"),
        ({"rate_limits_rows_per_s": {"a": 5e4}}, change(rate_limit_rows_per_s=5e4), "no limit", "limit 50k/s"),
        ({"partitions": {"a": 8}}, change(partitions=8), "4 partitions", "8 partitions"),
        ({"triggers": {"a": FAST}, "partitions": {"a": 8}}, change(trigger=FAST, partitions=8), "trigger 10s, 4 partitions", "trigger 1s, 8 partitions"),
    ],
)
def test_each_wish_becomes_one_instruction_with_its_reason(wish: dict[str, Any], instruction: Instruction, before: str, after: str) -> None:
    knowledge, instructions, events = reconcile(knowing(**wish), 5.0)
    assert instructions == [instruction]
    assert events == [InstructionGiven(at_s=5.0, number=1, knob=instruction.knob, before=before, after=after, reason="desired state")]
    assert knowledge.pending == (Pending(instruction=instruction, since_s=5.0),) and knowledge.next_number == 2
    assert asked(knowledge) == [], "a knob that is being turned is not turned again"


def test_a_held_value_names_who_holds_it() -> None:
    holds = (Hold(knob="trigger:b", value="1s", who="bob", until_s=1e9), Hold(knob="trigger:a", value="1s", who="ann", until_s=1e9))
    _, _, (given,) = reconcile(replace(knowing(triggers={"a": FAST}), holds=holds), 5.0)
    assert isinstance(given, InstructionGiven) and given.reason == "held by ann"


@pytest.mark.parametrize(("requested", "reason"), [(3, "decided by auto"), (2, "desired state")])
def test_what_a_cluster_gives_beyond_what_was_asked_for_does_not_leave_in_the_name_of_the_policy(requested: int, reason: str) -> None:
    knowledge = knowing()
    assert knowledge.last is not None
    last = replace(knowledge.last, executors_running=4, executors_requested=requested)
    decided = Decision(policy="auto", executors=2, current=2, why=Comparison(code="smallest_that_holds"))
    [given] = reconcile(replace(knowledge, last=last, steering=Steering(mode="active", last=decided)), 5.0)[2]
    assert isinstance(given, InstructionGiven) and (given.before, given.after, given.reason) == ("4", "2", reason)


@pytest.mark.parametrize("state", ["starting", "restarting", "failed", "given up", "stopped"])
def test_a_query_that_does_not_run_is_not_steered(state: str) -> None:
    assert asked(knowing(replace(SEEN, state=state), triggers={"a": FAST})) == []


def test_a_knob_that_cannot_be_turned_is_left_as_it_is() -> None:
    assert asked(knowing(unable={"executors": "use a cluster"}, executors=3)) == []
    stiff = replace(SEEN, unable={"trigger": "x", "partitions": "x"})
    assert asked(knowing(stiff, triggers={"a": FAST}, partitions={"a": 8})) == []
    assert asked(knowing(stiff, triggers={"a": FAST}, rate_limits_rows_per_s={"a": 5.0})) == [change(rate_limit_rows_per_s=5.0)]


def test_partitions_wait_until_it_is_known_how_many_there_are() -> None:
    assert asked(knowing(replace(SEEN, partitions=None), partitions={"a": 8})) == []


def test_a_query_nobody_declared_is_not_steered() -> None:
    assert asked(knowing(replace(SEEN, name="other", trigger=FAST))) == []


def test_several_knobs_are_turned_in_one_turn_with_numbers_of_their_own() -> None:
    assert asked(replace(knowing(executors=3, triggers={"a": FAST}), next_number=7)) == [ScaleExecutors(number=7, executors=3), change(number=8, trigger=FAST)]
