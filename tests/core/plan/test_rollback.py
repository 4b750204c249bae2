"""A policy that loses trust goes to the larger size and pauses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from planned import knowing, terms

from penstock.core.domain.autopilot import Mode
from penstock.core.domain.events.autopilot import PolicyPaused, ProposalEnded, RolledBack
from penstock.core.knowledge.knowledge import Hold, Knowledge
from penstock.core.plan.trust import watch_trust
from penstock.core.knowledge.steering import Paused, Proposal
from penstock.runtime.fakes import blank_reading

BROKEN: Any = {"broken_s": (100.0, 200.0, 300.0)}


def back(knowledge: Knowledge, at_s: float = 300.0, mode: Mode = "active", **autopilot: Any) -> tuple[Knowledge, list[Any]]:
    return watch_trust(knowledge, at_s, terms(mode, **autopilot))


def test_three_broken_promises_roll_back_to_the_larger_size() -> None:
    after, events = back(knowing(executors=2, **BROKEN))
    assert events == [
        RolledBack(at_s=300.0, reason="broken_promises", before=2, executors=3, value=3.0, limit=3.0),
        PolicyPaused(at_s=300.0, who="penstock", until_s=3900.0, reason="broken promises"),
    ]
    assert after.desired.executors == 3
    assert after.steering.paused == Paused(who="penstock", since_s=300.0, until_s=3900.0, reason="broken promises")
    assert back(after) == (after, []), "once is enough"
    assert back(knowing(executors=6, **BROKEN))[0].desired.executors == 6, "the present size is the larger one"
    assert back(knowing(broken_s=(100.0, 200.0)))[1] == []


def test_the_size_to_go_back_to_is_the_owners_within_limits_and_quota() -> None:
    assert back(knowing(executors=2, **BROKEN), fallback_executors=5)[0].desired.executors == 5
    assert back(knowing(executors=2, **BROKEN), fallback_executors=50)[0].desired.executors == 8
    assert back(knowing(executors=2, **BROKEN), fallback_executors=5, quota_executors=4)[0].desired.executors == 4
    assert back(knowing(executors=6, **BROKEN), quota_executors=4)[0].desired.executors == 6, "a roll-back gives nothing away"


@pytest.mark.parametrize(
    ("steering", "reason", "value"),
    [
        ({"graded": (0.9, 1.0, 1.1, 1.2, 1.3)}, "wrong_predictions", 1.1),
        ({"graded": (1.0, 1.0, 1.0, 1.0, 1.0)}, None, None),
        ({"graded": (9.0, 9.0)}, None, None),
        ({"failed_in_a_row": 3}, "policy_fails", 3.0),
        ({"failed_in_a_row": 2}, None, None),
    ],
)
def test_wrong_predictions_and_a_failing_policy_roll_back_too(steering: Any, reason: str | None, value: float | None) -> None:
    found: list[Any] = [(event.reason, event.value) for event in back(knowing(**steering))[1] if isinstance(event, RolledBack)]
    assert found == ([] if reason is None else [(reason, pytest.approx(value))])


def test_no_readings_roll_back() -> None:
    knowledge = knowing(executors=2, last=blank_reading(300.0))
    assert back(knowledge, 419.0)[1] == []
    after, events = back(knowledge, 420.0)
    assert (after.desired.executors, events[0].reason, events[0].value) == (3, "blind", 120.0)
    assert back(knowing(), 1e9)[1] == [], "nobody said when it began"
    assert back(knowledge, 310.0, time_scale=0.01)[1] == [], "however short the days, three readings may be missed"


def test_a_run_that_never_had_a_reading_is_blind_from_its_start() -> None:
    begun = replace(knowing(executors=2), began_s=300.0)
    assert back(begun, 419.0)[1] == []
    assert [event.value for event in back(begun, 420.0)[1] if isinstance(event, RolledBack)] == [120.0]
    assert back(replace(begun, last=blank_reading(400.0)), 420.0)[1] == [], "the last reading counts once there is one"


@pytest.mark.parametrize("mode", ["observe", "shadow"])
def test_who_only_watches_rolls_nothing_back(mode: Mode) -> None:
    assert back(knowing(mode, executors=2, **BROKEN), mode=mode)[1] == []


def test_an_owner_who_wants_no_roll_back_gets_none() -> None:
    assert back(knowing(executors=2, **BROKEN), rollback=False)[1] == []


def test_a_paused_policy_is_not_rolled_back() -> None:
    assert back(knowing(executors=2, paused=Paused(who="ann", since_s=0.0, until_s=None), **BROKEN))[1] == []


def test_an_operators_hold_stays_and_a_proposal_is_withdrawn() -> None:
    proposal = Proposal(number=7, executors=5, at_s=0.0, expires_s=900.0, policy="thumb")
    held = replace(knowing("ask", executors=2, proposal=proposal, **BROKEN), holds=(Hold(knob="executors", value="2", who="ann", until_s=1e9),))
    after, events = back(held, mode="ask")
    assert [type(event) for event in events] == [ProposalEnded, RolledBack, PolicyPaused]
    assert (after.desired.executors, after.steering.proposal) == (2, None)


def test_what_spoke_against_the_policy_does_not_speak_against_it_again() -> None:
    after = replace_paused(back(knowing(executors=2, graded=(9.0,) * 5, failed_in_a_row=4, **BROKEN))[0])
    assert back(after)[1] == []


def replace_paused(knowledge: Knowledge) -> Knowledge:
    return replace(knowledge, steering=replace(knowledge.steering, paused=None))
