"""What operators say is taken and held, or refused with the reason."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from penstock.core.domain.command import Command, Release, SetExecutors, SetPartitions, SetRateLimit, SetTrigger
from penstock.core.domain.events.steering import CommandRefused, CommandTaken, HoldEnded
from penstock.core.domain.job import Limits
from penstock.core.domain.reading import QueryReading
from penstock.core.domain.trigger import Trigger
from penstock.core.plan.operators import take_commands
from penstock.core.knowledge.knowledge import Desired, Hold, Knowledge
from penstock.core.knowledge.terms import Terms
from penstock.runtime.fakes import blank_reading

TERMS = Terms(limits=Limits(min_executors=2, max_executors=4))
DECLARED = Desired(executors=2, triggers={"a": Trigger(), "b": Trigger()}, rate_limits_rows_per_s={"a": None, "b": None}, partitions={"a": None, "b": None})
FRESH = Knowledge(declared=DECLARED, desired=DECLARED)
ATTACHED = QueryReading(name="a", state="running", trigger=Trigger(), rate_limit_rows_per_s=None, unable={"trigger": "give restart=..."})


def refusals(knowledge: Knowledge, command: Command) -> list[str]:
    after, events = take_commands(knowledge, [command], 10.0, TERMS)
    assert after == knowledge, "a refused wish changes nothing"
    return [event.reason for event in events if isinstance(event, CommandRefused)]


def scale(executors: int, hold_s: float | None = None) -> SetExecutors:
    return SetExecutors(at_s=1.0, who="ann", executors=executors, hold_s=hold_s)


def test_a_wish_is_held_for_as_long_as_the_operator_says_else_as_the_setting_says() -> None:
    for hold_s, until_s in ((None, 10.0 + TERMS.config.hold_s), (60.0, 70.0)):
        knowledge, events = take_commands(FRESH, [scale(3, hold_s)], 10.0, TERMS)
        assert knowledge.desired == replace(DECLARED, executors=3)
        assert knowledge.holds == (Hold(knob="executors", value="3", who="ann", until_s=until_s),)
        assert events == [CommandTaken(at_s=10.0, who="ann", knob="executors", value="3", held_until_s=until_s)]


def test_a_later_wish_takes_the_place_of_an_earlier_one() -> None:
    knowledge, _ = take_commands(FRESH, [scale(3), scale(4)], 10.0, TERMS)
    assert [hold.value for hold in knowledge.holds] == ["4"]


def test_a_wish_for_no_query_in_particular_is_one_for_every_query() -> None:
    knowledge, events = take_commands(FRESH, [SetRateLimit(at_s=1.0, who="ann", rows_per_s=20_000.0)], 10.0, TERMS)
    assert knowledge.desired.rate_limits_rows_per_s == {"a": 20_000.0, "b": 20_000.0}
    assert [(event.knob, event.value) for event in events if isinstance(event, CommandTaken)] == [("rate-limit:a", "20k/s"), ("rate-limit:b", "20k/s")]


def test_each_kind_of_wish_reaches_its_knob_of_one_query() -> None:
    commands = [
        SetTrigger(at_s=1.0, who="ann", trigger=Trigger(interval_s=5.0), query="a"),
        SetRateLimit(at_s=1.0, who="ann", rows_per_s=7.0, query="a"),
        SetRateLimit(at_s=1.0, who="ann", rows_per_s=None, query="a"),
        SetPartitions(at_s=1.0, who="ann", partitions=8, query="a"),
    ]
    knowledge, _ = take_commands(FRESH, commands, 10.0, TERMS)
    assert knowledge.desired == replace(DECLARED, triggers={"a": Trigger(interval_s=5.0), "b": Trigger()}, partitions={"a": 8, "b": None})
    assert {hold.knob: hold.value for hold in knowledge.holds} == {"trigger:a": "5s", "rate-limit:a": "none", "partitions:a": "8"}


@pytest.mark.parametrize("executors", [1, 5, -1])
def test_executors_outside_the_limits_are_refused(executors: int) -> None:
    assert refusals(FRESH, scale(executors)) == ["the job's limits allow 2 to 4 executors"]


@pytest.mark.parametrize("rows_per_s", [0.0, -1.0, math.nan, math.inf])
def test_a_rate_limit_that_is_no_rate_is_refused(rows_per_s: float) -> None:
    assert refusals(FRESH, SetRateLimit(at_s=1.0, who="ann", rows_per_s=rows_per_s, query="a")) == ["a limit above 0 rows/s is allowed"]


def test_a_batch_duration_that_spark_refuses_in_real_time_mode_is_refused_at_once() -> None:
    wish = SetTrigger(at_s=1.0, who="ann", trigger=Trigger.parse("realtime:4s"), query="a")
    assert refusals(FRESH, wish) == ["a batch duration of at least 5s is allowed in Real-Time Mode"]


def test_a_rate_limit_and_real_time_mode_do_not_go_together_whichever_comes_second() -> None:
    flowing = replace(FRESH, desired=replace(DECLARED, triggers={"a": Trigger.parse("realtime:5s"), "b": Trigger()}))
    limited = replace(FRESH, desired=replace(DECLARED, rate_limits_rows_per_s={"a": 9.0, "b": None}))
    [said] = refusals(flowing, SetRateLimit(at_s=1.0, who="ann", rows_per_s=9.0, query="a"))
    assert "Spark keeps to no rate limit in Real-Time Mode" in said
    assert refusals(limited, SetTrigger(at_s=1.0, who="ann", trigger=Trigger.parse("realtime:5s"), query="a")) == [said]
    for command in (SetRateLimit(at_s=1.0, who="ann", rows_per_s=None, query="a"), SetRateLimit(at_s=1.0, who="ann", rows_per_s=9.0, query="b")):
        _, events = take_commands(flowing, [command], 10.0, TERMS)
        assert [type(event) for event in events] == [CommandTaken]


def test_no_partitions_are_refused() -> None:
    assert refusals(FRESH, SetPartitions(at_s=1.0, who="ann", partitions=0, query="a")) == ["at least 1 partition is allowed"]


def test_a_query_that_is_not_there_is_refused_with_those_that_are() -> None:
    assert refusals(FRESH, SetTrigger(at_s=1.0, who="ann", trigger=Trigger(), query="c")) == ["there is no query 'c'; there are: a, b"]
    empty = Knowledge(declared=Desired(executors=2), desired=Desired(executors=2))
    assert refusals(empty, SetTrigger(at_s=1.0, who="ann", trigger=Trigger())) == ["there is no query ''; there are: none"]


def test_what_the_plant_cannot_do_is_refused_with_what_would_change_that() -> None:
    local = replace(FRESH, last=blank_reading(9.0, unable={"executors": "use a cluster"}, queries=(ATTACHED,)))
    assert refusals(local, scale(3)) == ["use a cluster"]
    assert refusals(local, SetTrigger(at_s=1.0, who="ann", trigger=Trigger(interval_s=5.0), query="a")) == ["give restart=..."]
    after, _ = take_commands(local, [SetRateLimit(at_s=1.0, who="ann", rows_per_s=5.0, query="a")], 10.0, TERMS)
    assert after.desired.rate_limits_rows_per_s["a"] == 5.0, "another knob of the same query can still be turned"


def test_a_release_ends_all_holds_and_leaves_the_values() -> None:
    held, _ = take_commands(FRESH, [scale(4), SetTrigger(at_s=1.0, who="bob", trigger=Trigger(interval_s=5.0), query="b")], 10.0, TERMS)
    knowledge, events = take_commands(held, [Release(at_s=1.0, who="ann")], 20.0, TERMS)
    assert knowledge == replace(held, holds=())
    assert events == [
        HoldEnded(at_s=20.0, knob="executors", value="4", expired=False, who="ann"),
        HoldEnded(at_s=20.0, knob="trigger:b", value="5s", expired=False, who="ann"),
    ]
    assert take_commands(knowledge, [Release(at_s=1.0, who="ann")], 30.0, TERMS) == (knowledge, [])
