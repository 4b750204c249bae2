"""A decision of the past is told with what became of its predictions, and of its size."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from planned import wants

from penstock.core.domain.events.autopilot import Decided, Graded, PromiseBroken, ProposalEnded, Proposed
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.steering import InstructionDone, InstructionGiven
from penstock.core.domain.prediction import Prediction
from penstock.core.report.explained import decisions, explained, judged

FORECAST = Prediction(kind="forecast", made_s=100.0, value=50.0, low=40.0, high=60.0, executors=3, due_s=160.0, about="60 s")
CAPACITY = Prediction(kind="capacity", made_s=100.0, value=900.0, low=800.0, high=990.0, executors=3, expires_s=1000.0)


def decided(at_s: float = 100.0, wanted: int = 3, current: int = 4, **more: Any) -> Decided:
    return Decided(**{"at_s": at_s, "mode": "active", "policy": "thumb", "decision": wants(wanted, current), "effect": "asked", **more})


def graded(made: Prediction, at_s: float, actual: float) -> Graded:
    told = {"kind": made.kind, "about": made.about, "made_s": made.made_s, "predicted": made.value, "low": made.low, "high": made.high}
    return Graded(at_s=at_s, actual=actual, executors=made.executors, **told)  # type: ignore[arg-type]


def rescale(at_s: float, before: int, after: int) -> tuple[Event, Event]:
    given = InstructionGiven(at_s=at_s, number=1, knob="executors", before=str(before), after=str(after), reason="decided by thumb")
    return given, InstructionDone(at_s=at_s + 5.0, number=1, knob="executors", took_s=5.0, delayed_rows=0.0)


def test_a_prediction_is_held_against_its_own_grade() -> None:
    others = [graded(replace(FORECAST, made_s=40.0), 110.0, 1.0), graded(replace(FORECAST, about="300 s"), 120.0, 2.0)]
    mine = graded(FORECAST, 161.0, 55.0)
    found = judged(FORECAST, [*others, mine], now_s=500.0)
    assert (found.fate, found.graded) == ("graded", mine)
    assert judged(FORECAST, others, now_s=500.0).graded is None


@pytest.mark.parametrize(("now_s", "fate"), [(159.0, "not yet due"), (160.0, "void")])
def test_one_without_a_grade_is_not_yet_due_or_void(now_s: float, fate: str) -> None:
    assert judged(FORECAST, [], now_s).fate == fate
    assert judged(replace(FORECAST, kind="recovery", due_s=None, expires_s=160.0), [], now_s).fate == fate
    assert judged(replace(FORECAST, due_s=None), [], now_s).fate == "void", "nothing says when it could be judged"


def test_the_capacity_of_a_size_is_replaced_by_a_newer_word_about_it() -> None:
    newer = decided(160.0, predictions=(replace(CAPACITY, made_s=160.0),))
    of_another = decided(160.0, predictions=(replace(CAPACITY, made_s=160.0, executors=4),))
    assert judged(CAPACITY, [newer], 200.0).fate == "replaced"
    assert judged(CAPACITY, [of_another], 200.0).fate == "not yet due"


def test_an_approval_is_no_decision() -> None:
    first = decided(effect="proposed", mode="ask")
    assert decisions([first, replace(first, at_s=200.0, effect="approved")]) == [first]


def test_what_came_of_a_decision_ends_where_another_size_is_wanted() -> None:
    first, second = decided(), decided(700.0, wanted=5, current=3)
    broken = PromiseBroken(at_s=300.0, promise="latency p95", value=3.0, limit=2.0)
    events = [rescale(60.0, 5, 4)[1], first, *rescale(100.0, 4, 3), decided(160.0, 3, 3, effect="kept"), broken, second, *rescale(700.0, 3, 5)]
    found = explained(first, events, None, 1000.0)
    assert found.afterwards == (*rescale(100.0, 4, 3), broken)
    assert explained(second, events, None, 1000.0).afterwards == rescale(700.0, 3, 5)


def test_a_decision_that_keeps_and_one_in_shadow_have_no_consequences() -> None:
    kept, shadow = decided(100.0, 3, 3, effect="kept"), decided(mode="shadow", effect="shadow")
    assert explained(kept, [kept, *rescale(100.0, 4, 3)], None, 200.0).afterwards == ()
    assert explained(shadow, [shadow, *rescale(100.0, 4, 3)], None, 200.0).afterwards == ()


def test_a_proposal_is_told_with_its_answer_also_when_it_was_made_by_an_earlier_decision() -> None:
    proposed = Proposed(at_s=100.0, proposal=7, executors=3, before=4, policy="thumb", expires_s=700.0)
    first, again = decided(effect="proposed", mode="ask"), decided(160.0, effect="proposed", mode="ask")
    ended, other = ProposalEnded(at_s=200.0, proposal=7, how="approved", who="ann"), ProposalEnded(at_s=210.0, proposal=6, how="expired")
    events = [first, proposed, again, ended, other]
    assert explained(first, events, None, 300.0).afterwards == (proposed, ended)
    assert explained(again, events, None, 300.0).afterwards == (ended,)
