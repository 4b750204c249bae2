"""Sizes that wait for an operator's word."""

from __future__ import annotations

from dataclasses import replace

from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.decision import Decision
from penstock.core.domain.events.autopilot import End, ProposalEnded, Proposed
from penstock.core.domain.events.event import Event
from penstock.core.steering import Proposal, Steering


def proposed(steering: Steering, decision: Decision, at_s: float, autopilot: Autopilot, *, guarded: bool) -> tuple[Steering, list[Event]]:
    """Steering in which this size is the one proposed: as it was if it is already, else in the place of another."""
    if steering.proposal is not None and steering.proposal.executors == decision.executors:
        return steering, []
    steering, ended = without_proposal(steering, at_s, "superseded")
    expires_s = at_s + autopilot.scaled(autopilot.ask_expiry_s)
    number, executors = steering.next_proposal, decision.executors
    new = Proposal(number=number, executors=executors, at_s=at_s, expires_s=expires_s, policy=decision.policy, guarded=guarded, before=decision.current)
    said = Proposed(at_s=at_s, proposal=new.number, executors=new.executors, before=decision.current, policy=new.policy, expires_s=expires_s)
    return replace(steering, proposal=new, next_proposal=new.number + 1), [*ended, said]


def without_proposal(steering: Steering, at_s: float, how: End, who: str = "") -> tuple[Steering, list[Event]]:
    """Steering in which nothing waits for a word."""
    if steering.proposal is None:
        return steering, []
    said = ProposalEnded(at_s=at_s, policy=steering.proposal.policy, proposal=steering.proposal.number, how=how, who=who)
    return replace(steering, proposal=None), [said]


def quiet_for_s(steering: Steering, executors: int, at_s: float) -> float:
    """How long this size is not to be proposed, as an operator has rejected it; 0 if it may be."""
    return max((each.expires_s - at_s for each in steering.rejections if each.executors == executors and each.expires_s > at_s), default=0.0)
