"""What is told of the autopilot besides what it knows: its last decision, and how far its predictions were off."""

from __future__ import annotations

from dataclasses import replace

import pytest
from planned import knowing, terms, wants

from penstock.core.domain.events.autopilot import Decided, Graded, PolicyPaused, Proposed
from penstock.core.domain.prediction import PredictionKind
from penstock.core.knowledge.steering import Paused, Proposal
from penstock.runtime.autopilot_view import LATEST, AutopilotView, still_standing


def graded(kind: PredictionKind, predicted: float) -> Graded:
    return Graded(at_s=9.0, kind=kind, about="", made_s=1.0, predicted=predicted, low=0.0, high=200.0, actual=100.0, executors=2)


def test_the_latest_decision_is_told() -> None:
    view = AutopilotView()
    view.hear([Decided(at_s=float(size), mode="active", policy="thumb", decision=wants(size), effect="asked") for size in (4, 5)])
    last = view.status(knowing(), terms())["last"]
    assert (last["at_s"], last["executors"], last["current"], last["direction"], last["effect"]) == (5.0, 5, 3, "up", "asked")


def test_errors_are_averaged_by_kind_over_the_latest_predictions() -> None:
    view = AutopilotView()
    view.hear([graded("capacity", 500.0)])
    view.hear([graded("capacity", 110.0), graded("recovery", 50.0)] * LATEST)
    assert view.state(knowing(), terms()).errors == pytest.approx({"capacity": 0.1, "recovery": 0.5})


def test_in_shadow_the_target_is_what_the_policy_would_want() -> None:
    view, knowledge = AutopilotView(), knowing("shadow", shadow_executors=6)
    assert view.state(knowledge, terms("shadow")).target_executors == 6
    active = replace(knowledge, steering=replace(knowledge.steering, mode="active", shadow_executors=None))
    assert view.state(active, terms("active")).target_executors == 3


def test_what_an_earlier_run_left_is_told_as_it_was_then() -> None:
    proposal = Proposal(number=7, executors=5, at_s=20.0, expires_s=600.0, policy="auto:ds2")
    left = knowing("ask", paused=Paused(who="ann", since_s=10.0, until_s=99.0, reason="lunch"), proposal=proposal)
    left = replace(left, steering=replace(left.steering, last=replace(wants(5), policy="auto:ds2")))
    assert still_standing(left) == [
        PolicyPaused(at_s=10.0, policy="auto:ds2", who="ann", until_s=99.0, reason="lunch"),
        Proposed(at_s=20.0, proposal=7, executors=5, before=3, policy="auto:ds2", expires_s=600.0),
    ]
    assert still_standing(knowing("ask")) == []
