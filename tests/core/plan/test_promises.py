"""When a promise is broken, and when it is kept again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from planned import knowing, late, terms

from penstock.core.domain.events.autopilot import PromiseBroken, PromiseKept, Recovered
from penstock.core.domain.events.event import Event
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.knowledge.learnt import Learnt
from penstock.core.domain.disturbance import Disturbance
from penstock.core.models.anomaly.recovery_watch import RecoveryWatch
from penstock.core.plan.trust import watch_promises
from penstock.core.knowledge.terms import Terms
from penstock.runtime.fakes import blank_reading

PROMISED = terms(latency_p95_s=2.0, recovery_s=120.0)


def watched(knowledge: Knowledge, story: list[tuple[float, float | None]], under: Terms = PROMISED) -> tuple[Knowledge, list[Event]]:
    """All that is said of readings (at, p95) in their order."""
    said: list[Event] = []
    for at_s, p95_s in story:
        last = blank_reading(at_s, latency=None if p95_s is None else late(p95_s))
        knowledge, events = watch_promises(replace(knowledge, last=last), [], at_s, under)
        said += events
    return knowledge, said


def every(seconds: int, p95_s: float | None, from_s: int = 0) -> list[tuple[float, float | None]]:
    return [(float(at_s), p95_s) for at_s in range(from_s, from_s + seconds, 5)]


def struck(kind: Any, at_s: float) -> Knowledge:
    return replace(knowing(), learnt=Learnt(health=RecoveryWatch(open=(Disturbance(kind=kind, at_s=at_s),))))


def test_a_latency_above_its_promise_for_a_minute_is_a_broken_promise_said_once() -> None:
    assert watched(knowing(), every(60, 3.0))[1] == []
    assert watched(knowing(), every(300, 3.0))[1] == [PromiseBroken(at_s=60.0, promise="latency p95", value=3.0, limit=2.0)]
    assert [event.at_s for event in watched(knowing(), every(30, 3.0), replace(PROMISED, autopilot=replace(PROMISED.autopilot, time_scale=0.25)))[1]] == [15.0]


def test_a_promise_is_kept_again_only_if_it_was_said_to_be_broken() -> None:
    _, said = watched(knowing(), [*every(100, 3.0), *every(50, 1.0, from_s=100)])
    assert [type(event) for event in said] == [PromiseBroken, PromiseKept]
    assert watched(knowing(), [*every(40, 3.0), *every(50, 1.0, from_s=40), *every(40, 3.0, from_s=90)])[1] == []


def test_a_promise_that_is_kept_is_nothing_to_remember() -> None:
    knowledge = knowing(last=blank_reading(5.0, latency=late(1.0)), broken_s=(4.0,))
    assert watch_promises(knowledge, [], 5.0, PROMISED) == (knowledge, [])
    assert watch_promises(knowledge, [], 5.0, PROMISED)[0] is knowledge


def test_a_promise_that_stays_broken_is_broken_again_every_ten_minutes() -> None:
    _, said = watched(knowing(), every(1500, 3.0))
    assert [event.at_s for event in said] == [60.0, 660.0, 1260.0]


def test_what_is_not_known_neither_breaks_nor_keeps() -> None:
    assert watched(knowing(), [*every(50, 3.0), *every(100, None, from_s=50)])[1] == []
    assert [event.at_s for event in watched(knowing(), [*every(50, 3.0), *every(100, None, from_s=50), (150.0, 3.0)])[1]] == [150.0]
    assert watched(knowing(), every(300, 3.0), terms())[1] == [], "nothing is promised"


def test_a_known_recovery_excuses_a_high_latency_for_as_long_as_it_may_take() -> None:
    said = watched(struck("executor_loss", at_s=0.0), every(300, 3.0))[1]
    assert [event.at_s for event in said] == [125.0 + 60.0], "the promised two minutes, then the minute of any other"
    unannounced = watched(struck("unannounced", at_s=0.0), every(300, 3.0))[1]
    assert [event.at_s for event in unannounced] == [60.0], "overload is no excuse"


def test_a_recovery_that_took_longer_than_promised_is_a_broken_promise() -> None:
    def said(kind: str, *took_s: float) -> list[Event]:
        recovered = [Recovered(at_s=500.0, kind=kind, started_s=500.0 - each, took_s=each, alone=len(took_s) == 1) for each in took_s]
        return watch_promises(knowing(), recovered, 500.0, PROMISED)[1]

    assert said("executor_loss", 121.0) == [PromiseBroken(at_s=500.0, promise="recovery", value=121.0, limit=120.0)]
    assert said("executor_loss", 120.0) == said("unannounced", 500.0) == []
    assert [getattr(each, "value", None) for each in said("executor_loss", 200.0, 150.0)] == [200.0], "recoveries that end together are one"


@given(st.none() | st.floats(0.0, 4000.0))
def test_what_is_broken_within_an_hour_of_an_own_scale_down_counts_against_the_policy(scaled_down_s: float | None) -> None:
    after, said = watched(knowing(own_scale_down_s=scaled_down_s), [(4000.0, 3.0), (4060.0, 3.0)])
    counts = scaled_down_s is not None and scaled_down_s >= 460.0
    assert [event.at_s for event in said] == [4060.0]
    assert after.steering.broken_s == ((4060.0,) if counts else ())


def test_what_was_broken_an_hour_ago_counts_no_more() -> None:
    after, _ = watched(knowing(broken_s=(0.0, 3000.0)), [(3601.0, 1.0)])
    assert after.steering.broken_s == (3000.0,)


def test_a_promise_that_no_size_can_keep_is_said_but_not_held_against_the_policy() -> None:
    for infeasible, held in (((), 1), (("latency",), 0), (("recovery time",), 1)):
        after, said = watched(knowing(own_scale_down_s=0.0, infeasible=infeasible), every(100, 3.0))
        assert (len(said), len(after.steering.broken_s)) == (1, held)
