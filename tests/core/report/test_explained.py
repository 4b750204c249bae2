from dataclasses import replace
from typing import Any

import pytest
from changes import rescaled, scaled_to
from planned import wants

from penstock.core.domain.decision import Candidate
from penstock.core.domain.events.autopilot_events import Decided, Graded, PromiseBroken, ProposalEnded, Proposed, RolledBack
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.steering_events import InstructionDone, InstructionGiven
from penstock.core.domain.prediction import Prediction
from penstock.core.report.explained import decisions, explained, judged

FORECAST = Prediction(id="decision 1.1", kind="forecast", made_s=100.0, value=50.0, low=40.0, high=60.0, configuration=scaled_to(), due_s=160.0, about="60 s")
CAPACITY = Prediction(id="decision 1.2", kind="capacity", made_s=100.0, value=900.0, low=800.0, high=990.0, configuration=scaled_to(), expires_s=1000.0)


def decided(number: int = 1, at_s: float = 100.0, wanted: int = 3, current: int = 4, **more: Any) -> Decided:
    return Decided(**{"id": number, "at_s": at_s, "mode": "active", "policy": "thumb", "decision": wants(wanted, current), "effect": "asked", **more})


def graded(prediction: str, at_s: float, actual: float) -> Graded:
    """Of the same kind, about the same and made at the same time, whichever it is of."""
    same: dict[str, Any] = {"kind": "forecast", "about": "60 s", "made_s": 100.0, "predicted": 50.0, "low": 40.0, "high": 60.0, "configuration": scaled_to()}
    return Graded(at_s=at_s, prediction=prediction, decision_id=1, actual=actual, **same)


def rescale(at_s: float, before: int, after: int, decision_id: int | None = 1) -> tuple[Event, Event]:
    both: dict[str, Any] = {"number": 1, "knob": "executors", "decision_id": decision_id}
    given = InstructionGiven(at_s=at_s, change=rescaled(before, after), reason="decided by thumb", **both)
    return given, InstructionDone(at_s=at_s + 5.0, took_s=5.0, delayed_rows=0.0, **both)


def test_a_prediction_is_compared_with_its_own_grade() -> None:
    others = [graded("decision 0.1", 110.0, 1.0), graded("decision 1.3", 120.0, 2.0)]
    mine = graded("decision 1.1", 161.0, 55.0)
    found = judged(FORECAST, [*others, mine], now_s=500.0)
    assert (found.fate, found.graded) == ("graded", mine)
    assert judged(FORECAST, others, now_s=500.0).graded is None


@pytest.mark.parametrize(("now_s", "fate"), [(159.0, "not yet due"), (160.0, "void")])
def test_one_without_a_grade_is_not_yet_due_or_void(now_s: float, fate: str) -> None:
    assert judged(FORECAST, [], now_s).fate == fate
    assert judged(replace(FORECAST, kind="recovery", due_s=None, expires_s=160.0), [], now_s).fate == fate
    assert judged(replace(FORECAST, due_s=None), [], now_s).fate == "void", "nothing says when it could be judged"


def test_a_capacity_is_replaced_by_a_newer_prediction_of_the_same_configuration() -> None:
    newer, of_another = (decided(2, 160.0, others=(replace(CAPACITY, made_s=160.0, configuration=scaled_to(each)),)) for each in (3, 4))
    assert judged(CAPACITY, [newer], 200.0).fate == "replaced"
    assert judged(CAPACITY, [of_another], 200.0).fate == "not yet due"


def test_the_predictions_of_a_decision_are_those_of_the_load_and_of_the_candidate_that_was_chosen() -> None:
    chosen = replace(wants(3, 4), candidates=(Candidate(configuration=scaled_to(2)), Candidate(configuration=scaled_to(3), predictions=(CAPACITY,))))
    one = decided(decision=chosen, others=(FORECAST,))
    assert [each.made for each in explained(one, [one], None, 110.0).predictions] == [FORECAST, CAPACITY]


def test_an_approval_is_no_decision() -> None:
    first = decided(effect="proposed", mode="ask")
    assert decisions([first, replace(first, at_s=200.0, effect="approved")]) == [first]


def test_what_follows_from_a_decision_bears_its_id_whatever_comes_in_between() -> None:
    first, second, keeps = decided(), decided(3, 110.0, wanted=5, current=3), decided(2, 105.0, 3, 3, effect="kept")
    broken = PromiseBroken(at_s=300.0, promise="latency p95", value=3.0, limit=2.0, decision_id=1)
    back = RolledBack(at_s=310.0, reason="blind", before=scaled_to(5), configuration=scaled_to(4), decision_id=3)
    by_operator = rescale(120.0, 4, 3, decision_id=None)
    mine, its = rescale(112.0, 4, 3), rescale(111.0, 3, 5, decision_id=3)
    events = [first, keeps, second, *its, *mine, *by_operator, broken, graded("decision 1.1", 305.0, 1.0), back]
    assert explained(first, events, None, 1000.0).afterwards == (*mine, broken)
    assert explained(keeps, events, None, 1000.0).afterwards == ()
    assert explained(second, events, None, 1000.0).afterwards == (*its, back)


def test_a_decision_in_shadow_has_no_consequences() -> None:
    shadow = decided(mode="shadow", effect="shadow")
    assert explained(shadow, [shadow, *rescale(100.0, 4, 3)], None, 200.0).afterwards == ()


def test_a_proposal_is_explained_with_its_answer_by_the_decision_that_made_it() -> None:
    proposed = Proposed(at_s=100.0, proposal=7, change=rescaled(4, 3), policy="thumb", expires_s=700.0, decision_id=1)
    first, again = decided(effect="proposed", mode="ask"), decided(2, 160.0, effect="proposed", mode="ask")
    ended = ProposalEnded(at_s=200.0, proposal=7, how="approved", who="ann", decision_id=1)
    events = [first, proposed, again, ended, ProposalEnded(at_s=210.0, proposal=6, how="expired", decision_id=0)]
    assert explained(first, events, None, 300.0).afterwards == (proposed, ended)
    assert explained(again, events, None, 300.0).afterwards == ()
