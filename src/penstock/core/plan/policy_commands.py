"""What operators say to the policy: approve, reject, pause, resume. What nobody says anything about runs out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.core.domain.command import Approve, Command, Pause, Reject, Resume
from penstock.core.domain.decision import Comparison, Decision
from penstock.core.domain.events.autopilot import Decided, PolicyPaused, PolicyResumed
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.steering import CommandRefused
from penstock.core.knowledge import Knowledge
from penstock.core.plan.adopt import adopt, is_held
from penstock.core.plan.effect import with_trial
from penstock.core.plan.owner import allowed_now, owner_allows
from penstock.core.plan.proposals import without_proposal
from penstock.core.steering import Paused, Proposal
from penstock.core.terms import Terms

ITSELF = "penstock"
"""Who ends a pause whose time is over, and who pauses a policy that is rolled back."""


def take_says(knowledge: Knowledge, commands: Sequence[Command], at_s: float, terms: Terms) -> tuple[Knowledge, list[Event]]:
    """Take in what was said to the policy, after letting go of what has run out."""
    knowledge, events = run_out(knowledge, at_s)
    for command in commands:
        if isinstance(command, (Approve, Reject)):
            knowledge, said = answer(knowledge, command, at_s, terms)
        elif isinstance(command, Pause):
            until_s = None if command.hold_s is None else at_s + command.hold_s
            knowledge, said = pause(knowledge, Paused(who=command.who, since_s=at_s, until_s=until_s, reason=command.reason))
        elif isinstance(command, Resume):
            knowledge, said = resume(knowledge, command.who, at_s)
        else:
            continue
        events += said
    return knowledge, events


def run_out(knowledge: Knowledge, at_s: float) -> tuple[Knowledge, list[Event]]:
    """Knowledge without a proposal, or a pause, whose time is over; nor with one for a size that has become another since."""
    events: list[Event] = []
    steering = knowledge.steering
    if steering.proposal is not None:
        overtaken = steering.proposal.before not in (None, knowledge.desired.executors)
        if overtaken or steering.proposal.expires_s <= at_s:
            steering, events = without_proposal(steering, at_s, "withdrawn" if overtaken else "expired")
            knowledge = replace(knowledge, steering=steering)
    if steering.paused is not None and steering.paused.until_s is not None and steering.paused.until_s <= at_s:
        knowledge, resumed = resume(knowledge, ITSELF, at_s)
        events += resumed
    return knowledge, events


def answer(knowledge: Knowledge, command: Approve | Reject, at_s: float, terms: Terms) -> tuple[Knowledge, list[Event]]:
    """An approval makes the size the desired one, and its effect is watched as in active; a size that is rejected is not proposed again for a while."""
    refusal = refuse(knowledge, command, at_s, terms)
    proposal, steering = knowledge.steering.proposal, knowledge.steering
    if refusal or proposal is None:
        which = "of the open proposal" if command.proposal is None else f"of proposal {command.proposal}"
        what = "approval" if isinstance(command, Approve) else "rejection"
        return knowledge, [CommandRefused(at_s=at_s, who=command.who, knob=what, value=which, reason=refusal)]
    if isinstance(command, Reject):
        steering, ended = without_proposal(steering, at_s, "rejected", command.who)
        quiet = replace(proposal, expires_s=at_s + terms.autopilot.scaled(terms.autopilot.ask_quiet_s))
        earlier = tuple(each for each in steering.rejections if each.expires_s > at_s)
        return replace(knowledge, steering=replace(steering, rejections=(*earlier, quiet))), ended
    steering, ended = without_proposal(steering, at_s, "approved", command.who)
    if steering.last is not None:
        ended.append(Decided(at_s=at_s, mode=steering.mode, policy=proposal.policy, decision=steering.last, effect="approved"))
    if proposal.guarded and knowledge.last is not None:
        steering = with_trial(steering, knowledge.last, knowledge.desired.executors, proposal.executors, at_s)
    return adopt(replace(knowledge, steering=steering), proposal.executors, at_s), ended


def refuse(knowledge: Knowledge, command: Approve | Reject, at_s: float, terms: Terms) -> str:
    """Why an answer cannot be taken; empty if it can."""
    proposal = knowledge.steering.proposal
    if terms.autopilot.mode != "ask":
        return f"the mode is {terms.autopilot.mode}; proposals are made in ask"
    open_now = "no proposal is open" if proposal is None else f"the open proposal is {proposal.number}"
    if command.proposal is not None and (proposal is None or command.proposal != proposal.number):
        was = 1 <= command.proposal < knowledge.steering.next_proposal
        return f"{'it was answered, replaced or has expired' if was else 'there was none of that number'}; {open_now}"
    if proposal is None:
        return open_now
    if isinstance(command, Approve) and is_held(knowledge):
        return "an operator holds the executors; penstock release lets go of them"
    return not_allowed(knowledge, proposal, at_s, terms) if isinstance(command, Approve) else ""


def not_allowed(knowledge: Knowledge, proposal: Proposal, at_s: float, terms: Terms) -> str:
    """Why the owner does not allow the proposed size any more: the job file may have changed since, and hours end; empty if it is allowed."""
    current = knowledge.desired.executors
    wanted = Decision(policy=proposal.policy, executors=proposal.executors, current=current, why=Comparison(code="between_decisions"))
    final = owner_allows(wanted, allowed_now(terms, knowledge.last, at_s))
    return "" if final.executors == proposal.executors else f"[autopilot] does not allow it any more: {'; '.join(each.words() for each in final.guards)}"


def pause(knowledge: Knowledge, paused: Paused) -> tuple[Knowledge, list[Event]]:
    """Knowledge in which the policy decides nothing."""
    said = PolicyPaused(at_s=paused.since_s, who=paused.who, until_s=paused.until_s, reason=paused.reason)
    return replace(knowledge, steering=replace(knowledge.steering, paused=paused)), [said]


def resume(knowledge: Knowledge, who: str, at_s: float) -> tuple[Knowledge, list[Event]]:
    """Knowledge in which the policy decides again, at once, by the load of from now on; its failures before the pause are forgotten."""
    if knowledge.steering.paused is None:
        return knowledge, [CommandRefused(at_s=at_s, who=who, knob="resumption", value="of the policy", reason="it is not paused")]
    steering = knowledge.steering.afresh(at_s, knowledge.steered_executors(knowledge.steering.mode))
    return replace(knowledge, steering=replace(steering, paused=None, failed_in_a_row=0)), [PolicyResumed(at_s=at_s, who=who)]
