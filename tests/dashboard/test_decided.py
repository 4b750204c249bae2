"""What a policy did in a run is added up."""

from __future__ import annotations

from typing import Any

from example_run import example_run
from planned import wants

from penstock.core.domain.events.autopilot import Decided, Graded, PromiseBroken
from penstock.core.domain.job import Promises
from penstock.dashboard.decided import summarise_decisions
from penstock.dashboard.summary import summarise


def decided(executors: int, effect: Any, mode: Any = "active") -> Decided:
    return Decided(at_s=1.0, mode=mode, policy="thumb", decision=wants(executors, 3), effect=effect)


def graded(actual: float) -> Graded:
    return Graded(at_s=1.0, kind="capacity", about="", made_s=0.0, predicted=10.0, low=9.0, high=11.0, actual=actual, executors=3)


def test_only_what_was_carried_out_counts_and_a_proposal_when_it_is_approved() -> None:
    effects = [decided(4, "asked"), decided(2, "asked"), decided(5, "proposed"), decided(5, "approved"), decided(6, "held"), decided(3, "kept")]
    found = summarise_decisions([*effects, PromiseBroken(at_s=2.0, promise="latency p95", value=3.0, limit=2.0), graded(10.5), graded(12.0)])
    assert found is not None
    assert found.rows() == [("decided by thumb", "2 up, 1 down"), ("promises broken", "1"), ("predictions within their bounds", "50% of 2")]


def test_a_shadow_is_called_one() -> None:
    found = summarise_decisions([decided(2, "shadow", "shadow")])
    assert found is not None
    assert found.rows() == [("decided by thumb", "0 up, 1 down, in shadow"), ("promises broken", "0"), ("predictions within their bounds", "none graded yet")]


def test_a_run_without_a_policy_says_nothing_of_one() -> None:
    readings, events = example_run()
    without = summarise(readings, events, Promises(), 4).rows()
    with_one = summarise(readings, [*events, decided(4, "asked")], Promises(), 4).rows()
    assert summarise_decisions(events) is None and with_one[: len(without)] == without and len(with_one) == len(without) + 3
