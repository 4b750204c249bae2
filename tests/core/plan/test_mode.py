"""Leaving a mode clears what belongs to it."""

from __future__ import annotations

from dataclasses import replace

from planned import knowing, terms, wants

from penstock.core.domain.decision import Recommended
from penstock.core.domain.events.autopilot import ProposalEnded
from penstock.core.plan.trust import settle_mode, settle_policy
from penstock.core.knowledge.steering import Paused, Proposal, Rescale, Steering, Trial

PROPOSAL = Proposal(number=7, executors=5, at_s=0.0, expires_s=600.0, policy="thumb")
PAUSED = Paused(who="ann", since_s=0.0, until_s=None)


def test_the_same_mode_changes_nothing() -> None:
    knowledge = knowing("ask", proposal=PROPOSAL, rescaled_s=5.0)
    assert settle_mode(knowledge, 10.0, terms("ask")) == (knowledge, [])


def test_a_proposal_is_withdrawn_with_its_mode() -> None:
    after, events = settle_mode(knowing("ask", proposal=PROPOSAL, rejections=(PROPOSAL,)), 10.0, terms("active"))
    assert events == [ProposalEnded(at_s=10.0, policy="thumb", proposal=7, how="withdrawn")]
    assert (after.steering.mode, after.steering.proposal, after.steering.rejections) == ("active", None, ())


def test_a_shadow_begins_at_the_size_of_the_job_and_ends_with_its_mode() -> None:
    shadow, _ = settle_mode(knowing("observe", executors=4), 10.0, terms("shadow"))
    assert (shadow.steering.shadow_executors, shadow.steering.earlier) == (4, (Recommended(at_s=10.0, executors=4),))
    rescale = Rescale(number=1, before=2, after=4, at_s=3.0)
    active, _ = settle_mode(knowing("shadow", shadow_executors=8, rescaled_s=9.0, rescale=rescale, memo={"step": 1.0}), 10.0, terms("active"))
    assert (active.steering.shadow_executors, active.steering.rescaled_s, active.steering.memo) == (None, 3.0, {})


def test_observe_forgets_all_but_a_pause_and_the_last_rescale() -> None:
    trial = Trial(before=1, after=2, throughput_before_rows_per_s=1.0, since_s=0.0)
    after, _ = settle_mode(knowing("active", paused=PAUSED, trial=trial, memo={"step": 1.0}, next_s=50.0, failed_in_a_row=2), 10.0, terms("observe"))
    assert after.steering == Steering(paused=PAUSED)


def test_a_policy_that_takes_over_decides_at_once_and_reads_nothing_of_another() -> None:
    for name in ("thumb", "thumb:ds2"):
        last = replace(wants(3), policy=name)
        knowledge = knowing()
        knowledge = replace(knowledge, steering=replace(knowledge.steering, last=last, memo={"step": 1.0}, next_s=50.0))
        assert settle_policy(knowledge, "thumb") == knowledge
        after = settle_policy(knowledge, "hpa").steering
        assert (after.memo, after.next_s, after.last) == ({}, None, None)


def test_a_policy_that_takes_over_does_not_answer_for_another() -> None:
    blamed = knowing(own_scale_down_s=5.0, broken_s=(6.0, 7.0), graded=(2.0, 2.0), failed_in_a_row=2, analyze_from_s=99.0)
    blamed = replace(blamed, steering=replace(blamed.steering, last=replace(wants(3), policy="thumb")))
    after = settle_policy(blamed, "hpa").steering
    assert (after.own_scale_down_s, after.broken_s, after.graded, after.failed_in_a_row, after.analyze_from_s) == (None, (), (), 0, None)
