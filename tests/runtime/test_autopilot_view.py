from dataclasses import replace

import pytest
from changes import rescaled, scaled_to
from planned import knowing, proposing, terms, wants

from penstock.core.domain.events.autopilot_events import Decided, Graded, PolicyPaused, Proposed
from penstock.core.domain.prediction import PredictionKind
from penstock.core.knowledge.steering import Paused
from penstock.runtime.autopilot_view import LATEST, AutopilotView, still_standing


def graded(kind: PredictionKind, predicted: float) -> Graded:
    return Graded(at_s=9.0, kind=kind, about="", made_s=1.0, predicted=predicted, low=0.0, high=200.0, actual=100.0, configuration=scaled_to(2))


def test_the_status_has_the_latest_decision() -> None:
    view = AutopilotView()
    view.hear([Decided(id=executors, at_s=float(executors), mode="active", policy="thumb", decision=wants(executors), effect="asked") for executors in (4, 5)])
    last = view.status(knowing(), terms())["last"]
    assert (last["id"], last["at_s"], last["executors"], last["current"], last["direction"], last["effect"]) == (5, 5.0, 5, 3, "up", "asked")


def test_errors_are_averaged_by_kind_over_the_latest_predictions() -> None:
    view = AutopilotView()
    view.hear([graded("capacity", 500.0)])
    view.hear([graded("capacity", 110.0), graded("recovery", 50.0)] * LATEST)
    assert view.state(knowing(), terms()).errors == pytest.approx({"capacity": 0.1, "recovery": 0.5})


def test_in_shadow_the_target_is_what_the_policy_would_want() -> None:
    view, knowledge = AutopilotView(), knowing("shadow", shadow=scaled_to(6))
    assert view.state(knowledge, terms("shadow")).target_executors == 6
    active = replace(knowledge, schedule=replace(knowledge.schedule, mode="active", shadow=None))
    assert view.state(active, terms("active")).target_executors == 3


def test_what_an_earlier_run_left_is_reported_as_it_was_then() -> None:
    paused, last = Paused(who="ann", since_s=10.0, until_s=99.0, reason="lunch"), replace(wants(5), policy="auto:ds2")
    left = knowing("ask", decided=last, paused=paused, open=proposing(5, at_s=20.0, policy="auto:ds2"))
    assert still_standing(left) == [
        PolicyPaused(at_s=10.0, policy="auto:ds2", who="ann", until_s=99.0, reason="lunch"),
        Proposed(at_s=20.0, decision_id=4, proposal=7, change=rescaled(3, 5), policy="auto:ds2", expires_s=600.0),
    ]
    assert still_standing(knowing("ask")) == []
