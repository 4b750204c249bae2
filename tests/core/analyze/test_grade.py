"""Predictions are judged when their time has come, or are void."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from steady_job import TERMS, Analysed, SteadyJob, daily

from penstock.core.analyze.grade import MOST_PENDING, grade
from penstock.core.analyze.predictions import foresee
from penstock.core.domain.decision import Comparison, Decision
from penstock.core.domain.disturbance import DisturbanceKind
from penstock.core.domain.events.autopilot import Graded
from penstock.core.domain.prediction import Prediction
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.knowledge.steering import Proposal
from penstock.core.models.anomaly.recovery_watch import RecoveryMeasured

MADE = Prediction(kind="forecast", made_s=0.0, value=1.0, low=0.5, high=2.0, executors=4, due_s=60.0)
PREDICTIONS = st.builds(
    Prediction,
    kind=st.sampled_from(["capacity", "latency", "forecast", "recovery"]),
    made_s=st.floats(0.0, 300.0),
    value=st.floats(1.0, 1e4),
    low=st.just(0.0),
    high=st.just(1e5),
    executors=st.integers(3, 5),
    due_s=st.floats(0.0, 900.0),
    expires_s=st.floats(0.0, 900.0),
    about=st.sampled_from(["", "query_restart", "p95"]),
)


def waiting(knowledge: Knowledge, *predictions: Prediction) -> Knowledge:
    return replace(knowledge, steering=replace(knowledge.steering, predictions=predictions))


def decide(analysed: Analysed, executors: int) -> None:
    seen = analysed.seen()
    decision = Decision(policy="p", executors=executors, current=seen.current, why=Comparison(code="smallest_that_holds"))
    knowledge = replace(analysed.knowledge, steering=replace(analysed.knowledge.steering, last=decision))
    analysed.knowledge = waiting(knowledge, *knowledge.steering.predictions, *foresee(seen, decision))


def graded(analysed: Analysed, kind: str) -> list[Graded]:
    return [event for event in analysed.said(Graded) if event.kind == kind]


@pytest.fixture(scope="module")
def known() -> Knowledge:
    analysed = Analysed(SteadyJob(load=daily))
    analysed.turns(60)
    return analysed.knowledge


@settings(max_examples=60)
@given(predictions=st.lists(PREDICTIONS, max_size=70), at_s=st.floats(0.0, 1000.0))
def test_every_prediction_is_graded_or_void(known: Knowledge, predictions: list[Prediction], at_s: float) -> None:
    after, events = grade(waiting(known, *predictions), at_s, TERMS, known.last)
    left = after.steering.predictions
    assert len(left) <= MOST_PENDING and set(left) <= set(predictions)
    assert all(each.void_from_s is not None and at_s < each.void_from_s for each in left)
    assert len(events) + len(left) <= len(predictions)
    assert grade(after, 1000.0, TERMS, known.last)[0].steering.predictions == ()


def test_a_forecast_is_held_against_what_arrived() -> None:
    analysed = Analysed(SteadyJob(load=daily))
    analysed.turns(50)
    decide(analysed, 4)
    made_s = analysed.job.at_s
    analysed.turns(60)
    found = graded(analysed, "forecast")
    assert [(each.about, each.at_s - made_s) for each in found] == [("60 s", 60.0), ("300 s", 300.0), ("900 s", 900.0)]
    for each in found:
        assert each.actual == pytest.approx(daily(each.at_s - 7.5), rel=0.01)


def test_capacity_is_graded_by_a_job_that_works_at_it() -> None:
    analysed = Analysed(SteadyJob(load=lambda at_s: daily(at_s) if at_s < 1200 else 4500.0), needs=frozenset({"load", "capacity"}))
    analysed.turns(80)
    for _ in range(3):
        decide(analysed, 4)
        analysed.turns(10)
    found = graded(analysed, "capacity")
    assert found and all(each.actual == pytest.approx(4000.0) and each.error < 0.03 for each in found)
    assert len(found) <= 3 and analysed.knowledge.steering.graded == tuple(each.error for each in found)


def test_a_prediction_at_another_size_is_void() -> None:
    analysed = Analysed(SteadyJob(load=daily))
    analysed.turns(60)
    decide(analysed, 6)
    assert any(each.kind == "capacity" for each in analysed.knowledge.steering.predictions)
    analysed.turn()
    assert {each.kind for each in analysed.knowledge.steering.predictions} <= {"forecast", "recovery"} and not graded(analysed, "capacity")


def test_latency_is_graded_at_its_size_and_in_health_only(known: Knowledge) -> None:
    assert known.last is not None and known.last.latency is not None
    made = replace(MADE, kind="latency", about="p95")
    _, events = grade(waiting(known, made, replace(made, about="average"), replace(made, executors=5)), known.last.at_s, TERMS, known.last)
    assert [each.actual for each in events if isinstance(each, Graded)] == [known.last.latency.p95_s, known.last.latency.p50_s]
    disturbed = replace(known, learnt=replace(known.learnt, health=known.learnt.health.disturbed(1.0, "query_restart")))
    after, events = grade(waiting(disturbed, made), known.last.at_s, TERMS, known.last)
    assert not events and not after.steering.predictions


def test_a_latency_foretold_with_a_change_waits_until_the_change_is_recovered_from(known: Knowledge) -> None:
    assert known.last is not None
    made = replace(MADE, kind="latency", about="p95", made_s=known.last.at_s - 90.0, due_s=known.last.at_s - 30.0, expires_s=known.last.at_s + 210.0)
    disturbed = replace(known, learnt=replace(known.learnt, health=known.learnt.health.disturbed(known.last.at_s - 90.0, "rescale_up")))
    after, events = grade(waiting(disturbed, made), known.last.at_s, TERMS, known.last)
    assert not events and after.steering.predictions == (made,)
    well = replace(after, learnt=known.learnt)
    assert [each.kind for each in grade(well, known.last.at_s, TERMS, known.last)[1] if isinstance(each, Graded)] == ["latency"]
    assert grade(after, made.expires_s or 0.0, TERMS, known.last)[0].steering.predictions == ()


def test_what_was_said_of_a_proposed_size_waits_for_the_word(known: Knowledge) -> None:
    made = replace(MADE, kind="capacity", executors=6, due_s=None, expires_s=1e12)
    proposal = Proposal(number=1, executors=6, at_s=0.0, expires_s=1e12, policy="p")
    asked = replace(known, steering=replace(known.steering, predictions=(made,), proposal=proposal))
    assert grade(asked, 1000.0, TERMS)[0].steering.predictions == (made,)
    assert grade(waiting(known, made), 1000.0, TERMS)[0].steering.predictions == ()


@pytest.mark.parametrize(("kind", "started_s", "alone", "grades", "left"), [
    ("query_restart", 95.0, True, [80.0], 0),
    ("query_restart", 95.0, False, [], 0),
    ("executor_loss", 95.0, True, [], 1),
    ("query_restart", 5.0, True, [], 1),
])  # fmt: skip
def test_a_recovery_grades_the_prediction_of_its_own(
    known: Knowledge, kind: DisturbanceKind, started_s: float, alone: bool, grades: list[float], left: int
) -> None:
    made = replace(MADE, kind="recovery", about="query_restart", made_s=100.0, due_s=None, expires_s=1e4)
    measured = RecoveryMeasured(kind=kind, started_s=started_s, recovered_s=started_s + 80.0, alone=alone)
    after, events = grade(waiting(known, made), 200.0, TERMS, known.last, (measured,))
    assert [each.actual for each in events if isinstance(each, Graded)] == grades and len(after.steering.predictions) == left


def test_an_error_that_readings_cannot_tell_is_none_and_no_error_counts_for_all(known: Knowledge) -> None:
    recovery = replace(MADE, kind="recovery", about="query_restart", made_s=100.0, due_s=None, expires_s=1e4, value=20.0)
    errors: list[float] = []
    for predicted_s, took_s in ((20.0, 5.0), (20.0, 200.0), (500.0, 10.0)):
        made = replace(recovery, value=predicted_s)
        measured = RecoveryMeasured(kind="query_restart", started_s=95.0, recovered_s=95.0 + took_s)
        errors += grade(waiting(known, made), 200.0, TERMS, known.last, (measured,))[0].steering.graded
    assert errors == [0.0, pytest.approx(0.9), 2.0]


def test_a_grade_names_the_policy_that_made_the_prediction(known: Knowledge) -> None:
    assert known.last is not None
    made = replace(MADE, kind="latency", about="p95", policy="auto:ds2")
    _, events = grade(waiting(known, made), known.last.at_s, TERMS, known.last)
    assert [each.policy for each in events if isinstance(each, Graded)] == ["auto:ds2"]


@pytest.mark.parametrize(("made_by", "decides", "counts"), [("p", "p", True), ("auto:ds2", "auto:daedalus", True), ("hpa", "p", False), ("hpa", None, False)])
def test_what_another_policy_foretold_does_not_speak_against_the_one_that_decides(known: Knowledge, made_by: str, decides: str | None, counts: bool) -> None:
    made = replace(MADE, kind="recovery", about="query_restart", made_s=100.0, value=300.0, policy=made_by)
    last = None if decides is None else Decision(policy=decides, executors=4, current=4, why=Comparison(code="smallest_that_holds"))
    knowledge = waiting(replace(known, steering=replace(known.steering, last=last, graded=())), made)
    measured = RecoveryMeasured(kind="query_restart", started_s=100.0, recovered_s=160.0, alone=True)
    after, (event,) = grade(knowledge, 200.0, TERMS, known.last, (measured,))
    assert isinstance(event, Graded) and event.policy == made_by and bool(after.steering.graded) == counts


def test_nothing_waits_where_nothing_was_predicted(known: Knowledge) -> None:
    assert grade(known, 1e9, TERMS, known.last) == (known, [])
