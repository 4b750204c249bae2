"""Executors that are not there are noticed, once."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.config import Config
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.executors import ExecutorsComplete, ExecutorsMissing
from penstock.core.domain.instruction import ScaleExecutors
from penstock.core.execute.missing_executors import watch_executors
from penstock.core.knowledge.knowledge import Desired, Knowledge, Pending
from penstock.runtime.fakes import blank_reading

CONFIG = Config(executors_timeout_s=30.0)
WANTED = Knowledge(declared=Desired(executors=3), desired=Desired(executors=3))


def watch(running: list[int], every_s: float = 10.0, unable: dict[str, str] | None = None) -> list[Event]:
    knowledge, events = WANTED, list[Event]()
    for number, each in enumerate(running):
        at_s = number * every_s
        reading = blank_reading(at_s, executors_running=each, executors_requested=3, unable=unable or {})
        knowledge, said = watch_executors(replace(knowledge, last=reading), at_s, CONFIG)
        events += said
    return events


def test_missing_executors_are_reported_after_the_time_out_and_their_return_once() -> None:
    assert watch([3, 2, 2, 2, 2, 2, 2, 3, 3]) == [
        ExecutorsMissing(at_s=40.0, requested=3, running=2, waited_s=30.0),
        ExecutorsComplete(at_s=70.0, running=3),
    ]


def test_while_all_are_there_nothing_is_copied() -> None:
    complete = replace(WANTED, last=blank_reading(5.0, executors_running=3, executors_requested=3))
    assert watch_executors(complete, 5.0, CONFIG)[0] is complete
    reported = replace(complete, last=blank_reading(5.0, executors_running=2), missing_since_s=0.0, missing_reported=True)
    assert watch_executors(reported, 99.0, CONFIG)[0] is reported


def test_executors_replaced_in_time_are_nothing_to_talk_about() -> None:
    assert watch([3, 2, 2, 3, 2, 2, 3]) == []


@given(st.lists(st.integers(0, 4), max_size=40))
@settings(deadline=None)
def test_missing_and_complete_are_said_in_turns(running: list[int]) -> None:
    kinds = [type(event) for event in watch(running)]
    assert kinds == [ExecutorsMissing if number % 2 == 0 else ExecutorsComplete for number in range(len(kinds))]


def test_while_executors_are_being_asked_for_nothing_is_missing() -> None:
    pending = (Pending(instruction=ScaleExecutors(number=1, executors=3), since_s=0.0),)
    asking = replace(WANTED, last=blank_reading(500.0, executors_running=1), pending=pending, missing_since_s=0.0)
    assert watch_executors(asking, 500.0, CONFIG) == (asking, [])


def test_where_there_are_no_executors_to_scale_none_are_missing() -> None:
    assert watch([0] * 20, unable={"executors": "use a cluster"}) == []
