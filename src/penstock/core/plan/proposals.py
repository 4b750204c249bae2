"""Proposals: configurations that wait for an operator's answer, and how a configuration becomes the desired one."""

from dataclasses import replace

from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.configuration import Change, Configuration, difference
from penstock.core.domain.decision import Decision
from penstock.core.domain.events.autopilot_events import End, ProposalEnded, Proposed
from penstock.core.domain.events.event import Event
from penstock.core.knowledge.knowledge import Author, Knowledge
from penstock.core.knowledge.steering import Proposal, Proposals


def proposed(proposals: Proposals, decision: Decision, decision_id: int, at_s: float, autopilot: Autopilot, *, guarded: bool) -> tuple[Proposals, list[Event]]:
    """Return proposals in which this configuration is the open one: as they were if it is already, else in place of another."""
    if proposals.open is not None and proposals.open.wants(decision.change):
        return proposals, []
    proposals, ended = without_proposal(proposals, at_s, "superseded")
    new = Proposal(
        number=proposals.next_number, decision_id=decision_id, configuration=decision.configuration, before=decision.current, at_s=at_s,
        expires_s=at_s + autopilot.scaled(autopilot.ask_expiry_s), policy=decision.policy, guarded=guarded,
    )  # fmt: skip
    return replace(proposals, open=new, next_number=new.number + 1), [*ended, announced(new)]


def announced(made: Proposal) -> Proposed:
    return Proposed(at_s=made.at_s, policy=made.policy, decision_id=made.decision_id, proposal=made.number, change=made.change, expires_s=made.expires_s)


def without_proposal(proposals: Proposals, at_s: float, how: End, who: str = "") -> tuple[Proposals, list[Event]]:
    """Return proposals of which none is open."""
    ended = proposals.open
    if ended is None:
        return proposals, []
    said = ProposalEnded(at_s=at_s, policy=ended.policy, decision_id=ended.decision_id, proposal=ended.number, how=how, who=who)
    return replace(proposals, open=None), [said]


def quiet_for_s(proposals: Proposals, change: Change, at_s: float) -> float:
    """Return for how many seconds this change is not to be proposed, as an operator has rejected it; 0 if it may be."""
    return max((each.expires_s - at_s for each in proposals.rejected if each.expires_s > at_s and each.wants(change)), default=0.0)


def adopt(knowledge: Knowledge, configuration: Configuration, author: Author, at_s: float, *, own: bool = True) -> Knowledge:
    """Make this configuration the desired one.

    A change that could break a promise is remembered as the policy's own, as is a scale-down if the policy wanted it (`own`) and not the owner's limits.
    """
    moves = difference(knowledge.desired, configuration).moves
    harms = Change(moves=tuple(move for move in moves if own or move.knob != "executors")).may_harm
    trust = replace(knowledge.trust, own_scale_down_s=at_s) if harms else knowledge.trust
    return replace(knowledge, trust=trust).wanting(configuration, author)
