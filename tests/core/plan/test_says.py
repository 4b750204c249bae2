"""What operators say to the policy is taken, or refused with the reason; what nobody answers runs out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from planned import knowing, terms, wants

from penstock.core.domain.autopilot import Mode
from penstock.core.domain.command import Approve, Command, Pause, Reject, Release, Resume, SetExecutors
from penstock.core.domain.decision import Recommended
from penstock.core.domain.events.autopilot import Decided, PolicyPaused, PolicyResumed, ProposalEnded
from penstock.core.domain.events.steering import CommandRefused
from penstock.core.knowledge.knowledge import Hold, Knowledge
from penstock.core.plan.operators import take_says
from penstock.core.plan.proposals import quiet_for_s
from penstock.core.knowledge.steering import MeanLoad, Paused, Proposal, Trial
from penstock.runtime.fakes import blank_reading

PROPOSAL = Proposal(number=7, executors=5, at_s=0.0, expires_s=600.0, policy="thumb")
PAUSED = Paused(who="ann", since_s=0.0, until_s=None)
OPEN = knowing("ask", proposal=PROPOSAL, last=None, next_s=500.0)
OPEN = replace(OPEN, steering=replace(OPEN.steering, last=wants(5)))


def refusal(knowledge: Knowledge, command: Command, mode: Mode = "ask") -> str:
    after, events = take_says(knowledge, [command], 10.0, terms(mode))
    assert after == knowledge, "a refused word changes nothing"
    assert [type(event) for event in events] == [CommandRefused]
    return str(getattr(events[0], "reason", ""))


@pytest.mark.parametrize("number", [None, 7])
def test_an_approval_makes_the_proposed_size_the_desired_one(number: int | None) -> None:
    after, events = take_says(OPEN, [Approve(at_s=10.0, who="ann", proposal=number)], 10.0, terms("ask"))
    assert (after.desired.executors, after.steering.proposal) == (5, None)
    assert events[0] == ProposalEnded(at_s=10.0, policy="thumb", proposal=7, how="approved", who="ann")
    assert isinstance(events[1], Decided) and (events[1].effect, events[1].decision) == ("approved", wants(5))


def test_an_approved_scale_down_is_the_policys_own() -> None:
    fewer = replace(OPEN, steering=replace(OPEN.steering, proposal=replace(PROPOSAL, executors=2)))
    assert take_says(fewer, [Approve(at_s=10.0, who="ann")], 10.0, terms("ask"))[0].steering.own_scale_down_s == 10.0
    assert take_says(OPEN, [Approve(at_s=10.0, who="ann")], 10.0, terms("ask"))[0].steering.own_scale_down_s is None


def test_a_rejected_size_is_remembered_for_a_while() -> None:
    after, events = take_says(OPEN, [Reject(at_s=10.0, who="ann")], 10.0, terms("ask", ask_quiet_s=300.0, time_scale=0.1))
    assert events == [ProposalEnded(at_s=10.0, policy="thumb", proposal=7, how="rejected", who="ann")]
    assert (after.desired.executors, after.steering.proposal, after.steering.rejections) == (3, None, (replace(PROPOSAL, expires_s=40.0),))


def test_a_second_rejection_does_not_free_the_size_of_the_first() -> None:
    rejecting = Reject(at_s=10.0, who="ann")
    first, _ = take_says(OPEN, [rejecting], 10.0, terms("ask"))
    again = replace(first, steering=replace(first.steering, proposal=replace(PROPOSAL, number=8, executors=6)))
    both, _ = take_says(again, [rejecting], 20.0, terms("ask"))
    assert [quiet_for_s(both.steering, size, 30.0) for size in (4, 5, 6)] == [0.0, 580.0, 590.0]
    third = replace(both, steering=replace(both.steering, proposal=replace(PROPOSAL, number=9, executors=7, expires_s=1e4)))
    kept, _ = take_says(third, [rejecting], 615.0, terms("ask"))
    assert [each.executors for each in kept.steering.rejections] == [6, 7], "one whose time is over is forgotten"


def test_an_approved_scale_up_in_overload_is_watched_where_its_guards_were_on() -> None:
    overloaded = blank_reading(10.0, excess_lag_rows=10.0, throughput_rows_per_s=200.0)
    for guarded in (True, False):
        waiting = replace(OPEN, last=overloaded, steering=replace(OPEN.steering, proposal=replace(PROPOSAL, guarded=guarded)))
        after, _ = take_says(waiting, [Approve(at_s=10.0, who="ann")], 10.0, terms("ask"))
        trial = Trial(before=3, after=5, throughput_before_rows_per_s=200.0, since_s=10.0)
        assert after.steering.trial == (trial if guarded else None)


def test_an_answer_that_cannot_be_taken_is_refused_with_its_reason() -> None:
    held = replace(OPEN, holds=(Hold(knob="executors", value="3", who="bob", until_s=1e9),))
    later = replace(OPEN, steering=replace(OPEN.steering, next_proposal=8))
    over = knowing("ask", next_proposal=8)
    assert refusal(later, Approve(at_s=10.0, who="ann", proposal=6)) == "it was answered, replaced or has expired; the open proposal is 7"
    assert refusal(later, Reject(at_s=10.0, who="ann", proposal=8)) == "there was none of that number; the open proposal is 7"
    assert refusal(over, Approve(at_s=10.0, who="ann", proposal=7)) == "it was answered, replaced or has expired; no proposal is open"
    assert refusal(over, Reject(at_s=10.0, who="ann")) == "no proposal is open"
    assert refusal(OPEN, Approve(at_s=10.0, who="ann"), "observe") == "the mode is observe; proposals are made in ask"
    assert "holds the executors" in refusal(held, Approve(at_s=10.0, who="ann"))
    assert refusal(OPEN, Resume(at_s=10.0, who="ann")) == "it is not paused"


def test_a_proposal_nobody_answers_expires() -> None:
    assert take_says(OPEN, [], 599.0, terms("ask")) == (OPEN, [])
    after, events = take_says(OPEN, [], 600.0, terms("ask"))
    assert events == [ProposalEnded(at_s=600.0, policy="thumb", proposal=7, how="expired")]
    assert after.steering.proposal is None
    late = take_says(OPEN, [Approve(at_s=10.0, who="ann")], 600.0, terms("ask"))
    assert late[0].desired.executors == 3 and isinstance(late[1][-1], CommandRefused)


def test_a_proposal_is_withdrawn_when_the_size_it_was_to_change_is_another_one() -> None:
    overtaken = replace(OPEN, steering=replace(OPEN.steering, proposal=replace(PROPOSAL, before=2)))
    after, events = take_says(overtaken, [Approve(at_s=10.0, who="ann", proposal=7)], 10.0, terms("ask"))
    assert events[0] == ProposalEnded(at_s=10.0, policy="thumb", proposal=7, how="withdrawn")
    assert after.desired.executors == 3 and isinstance(events[1], CommandRefused), "who approved 2 -> 5 has not approved 3 -> 5"
    still = replace(OPEN, steering=replace(OPEN.steering, proposal=replace(PROPOSAL, before=3)))
    assert take_says(still, [Approve(at_s=10.0, who="ann")], 10.0, terms("ask"))[0].desired.executors == 5


def test_an_approval_does_not_reach_beyond_what_the_owner_allows_by_then() -> None:
    after, events = take_says(OPEN, [Approve(at_s=10.0, who="ann")], 10.0, terms("ask", quota_executors=4))
    assert after == OPEN, "the next turn proposes what is allowed"
    assert [each.reason for each in events if isinstance(each, CommandRefused)] == ["[autopilot] does not allow it any more: 5 wanted, the quota is 4"]


def test_a_policy_that_is_resumed_goes_by_what_comes_from_then_on() -> None:
    """A pause may be long: what was seen and wanted before it must not give executors away in the first turn after it."""
    load, wanted = MeanLoad(count=700, mean_rows_per_s=10.0), {"wanted at 1.0": 1.0}
    paused = knowing("active", executors=6, paused=PAUSED, load=load, memo=wanted, earlier=(Recommended(at_s=1.0, executors=1),), analyze_from_s=9e9)
    resumed = take_says(paused, [Resume(at_s=3600.0, who="ann")], 3600.0, terms())[0].steering
    assert (resumed.load, resumed.memo, resumed.analyze_from_s) == (MeanLoad(), {}, None)
    assert resumed.earlier[-1] == Recommended(at_s=3600.0, executors=6)


def test_a_pause_lasts_until_its_time_or_until_somebody_resumes() -> None:
    paused, events = take_says(OPEN, [Pause(at_s=10.0, who="ann", reason="release day")], 10.0, terms("ask"))
    assert events == [PolicyPaused(at_s=10.0, who="ann", until_s=None, reason="release day")]
    assert paused.steering.paused == Paused(who="ann", since_s=10.0, until_s=None, reason="release day")
    resumed, events = take_says(paused, [Resume(at_s=20.0, who="bob")], 20.0, terms("ask"))
    assert events == [PolicyResumed(at_s=20.0, who="bob")]
    assert (resumed.steering.paused, resumed.steering.next_s) == (None, None), "it decides at once"
    short, _ = take_says(OPEN, [Pause(at_s=10.0, who="ann", hold_s=60.0)], 10.0, terms("ask"))
    assert take_says(short, [], 69.0, terms("ask")) == (short, [])
    assert take_says(short, [], 70.0, terms("ask"))[1] == [PolicyResumed(at_s=70.0, who="penstock")]


def test_what_is_said_to_the_job_is_not_for_the_policy() -> None:
    assert take_says(OPEN, [SetExecutors(at_s=10.0, who="ann", executors=2), Release(at_s=10.0, who="ann")], 10.0, terms("ask")) == (OPEN, [])
