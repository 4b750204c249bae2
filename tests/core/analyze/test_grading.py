from dataclasses import replace

import pytest
from changes import changing, scaled_to
from hypothesis import given, settings
from hypothesis import strategies as st
from steady_job import TERMS, Analysed, SteadyJob, daily

from penstock.core.analyze.grading import MOST_PENDING, grade
from penstock.core.domain.decision import Comparison, Decision
from penstock.core.domain.events.autopilot_events import Graded
from penstock.core.domain.prediction import Prediction
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.knowledge.predicting import identified, load_predictions
from penstock.core.knowledge.steering import Applied, Proposal, Proposals, Trust
from penstock.core.models.anomaly.recovery_watch import RecoveryMeasured
from penstock.core.policies.daedalus import Daedalus

MADE = Prediction(kind="forecast", made_s=0.0, value=1.0, low=0.5, high=2.0, configuration=scaled_to(4), due_s=60.0)
PREDICTIONS = st.builds(
    Prediction, kind=st.sampled_from(["capacity", "latency", "forecast", "recovery", "recovery_bound"]), made_s=st.floats(0.0, 300.0),
    value=st.floats(1.0, 1e4), low=st.just(0.0), high=st.just(1e5), configuration=st.integers(3, 5).map(scaled_to), due_s=st.floats(0.0, 900.0),
    expires_s=st.floats(0.0, 900.0), about=st.sampled_from(["", "query_restart", "p95"]), cause=st.sampled_from(["", "failure 1"]),
)  # fmt: skip


def waiting(knowledge: Knowledge, *predictions: Prediction) -> Knowledge:
    return replace(knowledge, predictions=predictions)


def decide(analysed: Analysed, executors: int) -> None:
    seen = analysed.seen()
    decision = Decision(policy="p", configuration=scaled_to(executors), current=seen.current, why=Comparison(code="smallest_that_holds"))
    knowledge = replace(analysed.knowledge, schedule=replace(analysed.knowledge.schedule, last=decision))
    made = (*load_predictions(seen, decision.configuration), *Daedalus().predict(seen, decision.configuration, "p"))
    analysed.knowledge = waiting(knowledge, *knowledge.predictions, *identified(made, "decision 1", decision=1, policy="p"))


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
    left = after.predictions
    assert len(left) <= MOST_PENDING and all(each in predictions for each in left)
    assert all(each.void_from_s is not None and at_s < each.void_from_s for each in left)
    assert len(events) + len(left) <= len(predictions)
    assert grade(after, 1000.0, TERMS, known.last)[0].predictions == ()


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
    assert len(found) <= 3 and analysed.knowledge.trust.errors == tuple(each.error for each in found)


def test_a_prediction_for_other_executors_is_void() -> None:
    analysed = Analysed(SteadyJob(load=daily))
    analysed.turns(60)
    decide(analysed, 6)
    assert any(each.kind == "capacity" for each in analysed.knowledge.predictions)
    analysed.turn()
    assert {each.kind for each in analysed.knowledge.predictions} <= {"forecast"} and not graded(analysed, "capacity")


def test_latency_is_graded_at_its_configuration_and_in_health_only(known: Knowledge) -> None:
    assert known.last is not None and known.last.latency is not None
    made = replace(MADE, kind="latency", about="p95")
    others = (replace(made, configuration=each) for each in (scaled_to(5), scaled_to(4, q="realtime:60s")))
    _, events = grade(waiting(known, made, *others), known.last.at_s, TERMS, known.last)
    assert [each.actual for each in events if isinstance(each, Graded)] == [known.last.latency.p95_s]
    disturbed = replace(known, learnt=replace(known.learnt, health=known.learnt.health.disturbed(1.0, "query_restart")))
    after, events = grade(waiting(disturbed, made), known.last.at_s, TERMS, known.last)
    assert not events and not after.predictions


def test_a_latency_predicted_with_a_change_waits_until_the_change_is_recovered_from(known: Knowledge) -> None:
    assert known.last is not None
    made = replace(MADE, kind="latency", about="p95", made_s=known.last.at_s - 90.0, due_s=known.last.at_s - 30.0, expires_s=known.last.at_s + 210.0)
    disturbed = replace(known, learnt=replace(known.learnt, health=known.learnt.health.disturbed(known.last.at_s - 90.0, "rescale_up")))
    after, events = grade(waiting(disturbed, made), known.last.at_s, TERMS, known.last)
    assert not events and after.predictions == (made,)
    well = replace(after, learnt=known.learnt)
    assert [each.kind for each in grade(well, known.last.at_s, TERMS, known.last)[1] if isinstance(each, Graded)] == ["latency"]
    assert grade(after, made.expires_s or 0.0, TERMS, known.last)[0].predictions == ()


def test_a_prediction_for_proposed_executors_waits_for_the_answer(known: Knowledge) -> None:
    made = replace(MADE, kind="capacity", configuration=scaled_to(6), due_s=None, expires_s=1e12)
    proposal = Proposal(number=1, decision_id=1, configuration=scaled_to(6), before=scaled_to(4), at_s=0.0, expires_s=1e12, policy="p")
    assert grade(replace(known, predictions=(made,), proposals=Proposals(open=proposal)), 1000.0, TERMS)[0].predictions == (made,)
    assert grade(waiting(known, made), 1000.0, TERMS)[0].predictions == ()


@pytest.mark.parametrize(("by", "later_s", "holds"), [(2, 1.0, False), (None, 1.0, False), (1, 1.0, True), (2, -1.0, True)])
def test_what_was_predicted_before_a_trigger_changed_is_not_graded_after_it(known: Knowledge, by: int | None, later_s: float, holds: bool) -> None:
    """Unless the change is that of its own decision."""
    assert known.last is not None
    now_s = known.last.at_s
    latency = replace(MADE, kind="latency", about="p95", decision=1, made_s=now_s - 60.0, due_s=now_s)
    capacity = replace(latency, kind="capacity", about="", expires_s=1e12)
    change = changing(3, "q", trigger=(Trigger(), Trigger(interval_s=5.0))).change
    changed = replace(known, applied=(Applied(number=3, decision_id=by, change=change, at_s=latency.made_s + later_s),))
    after, events = grade(waiting(changed, latency, capacity), now_s, TERMS, known.last)
    assert [each.kind for each in events if isinstance(each, Graded)] == ["latency"] * holds and after.predictions == (capacity,) * holds


FAILED = replace(MADE, kind="recovery", about="query_restart", cause="failure 2", made_s=100.0, due_s=None, expires_s=1e4, value=20.0)
BACK = RecoveryMeasured(kind="query_restart", started_s=95.0, recovered_s=175.0, cause="failure 2")


@pytest.mark.parametrize(
    ("cause", "alone", "grades", "left"),
    [("failure 2", True, [80.0], 0), ("failure 2", False, [], 0), ("failure 1", True, [], 1), ("instruction 2", True, [], 1), ("", True, [], 1)],
)
def test_a_recovery_grades_the_predictions_of_its_own_cause_and_no_others(known: Knowledge, cause: str, alone: bool, grades: list[float], left: int) -> None:
    """Even of the same kind and at the same time."""
    made, measured = FAILED, replace(BACK, cause=cause, alone=alone)
    after, events = grade(waiting(known, made), 200.0, TERMS, known.last, (measured,))
    assert [each.actual for each in events if isinstance(each, Graded)] == grades and len(after.predictions) == left


def test_an_error_that_readings_cannot_show_is_none_and_no_error_counts_for_all(known: Knowledge) -> None:
    errors: list[float] = []
    for predicted_s, took_s in ((20.0, 5.0), (20.0, 200.0), (500.0, 10.0)):
        made, measured = replace(FAILED, value=predicted_s), replace(BACK, recovered_s=95.0 + took_s)
        errors += grade(waiting(known, made), 200.0, TERMS, known.last, (measured,))[0].trust.errors
    assert errors == [0.0, pytest.approx(0.9), 2.0]


@pytest.mark.parametrize(("took_s", "errors"), [(30.0, (0.0,)), (100.0, (0.0,)), (200.0, (0.5,))])
def test_less_than_a_bound_is_no_error_and_more_is(known: Knowledge, took_s: float, errors: tuple[float, ...]) -> None:
    made = replace(FAILED, kind="recovery_bound", value=100.0, high=100.0)
    after, (event,) = grade(waiting(known, made), 400.0, TERMS, known.last, (replace(BACK, recovered_s=95.0 + took_s),))
    assert isinstance(event, Graded) and (event.actual, after.trust.errors) == (took_s, errors)


def test_a_grade_names_its_prediction_and_the_decision_it_was_made_with(known: Knowledge) -> None:
    made = identified([FAILED], "decision 7", decision=7, cause="failure 2")
    _, (event,) = grade(waiting(known, *made), 200.0, TERMS, known.last, (BACK,))
    assert isinstance(event, Graded) and (event.prediction, event.decision_id) == ("decision 7.1", 7)


def test_a_grade_names_the_policy_that_made_the_prediction(known: Knowledge) -> None:
    assert known.last is not None
    made = replace(MADE, kind="latency", about="p95", policy="auto:ds2")
    _, events = grade(waiting(known, made), known.last.at_s, TERMS, known.last)
    assert [each.policy for each in events if isinstance(each, Graded)] == ["auto:ds2"]


@pytest.mark.parametrize(("made_by", "decides", "counts"), [("p", "p", True), ("auto:ds2", "auto:daedalus", True), ("hpa", "p", False), ("hpa", None, False)])
def test_predictions_of_other_policies_do_not_speak_against_the_one_that_decides(known: Knowledge, made_by: str, decides: str | None, counts: bool) -> None:
    made = replace(FAILED, value=300.0, policy=made_by)
    last = None if decides is None else Decision(policy=decides, configuration=scaled_to(4), current=scaled_to(4), why=Comparison(code="smallest_that_holds"))
    knowledge = waiting(replace(known, schedule=replace(known.schedule, last=last), trust=Trust()), made)
    after, (event,) = grade(knowledge, 200.0, TERMS, known.last, (BACK,))
    assert isinstance(event, Graded) and event.policy == made_by and bool(after.trust.errors) == counts


def test_nothing_waits_where_nothing_was_predicted(known: Knowledge) -> None:
    assert grade(known, 1e9, TERMS, known.last) == (known, [])
