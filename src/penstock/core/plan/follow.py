"""What the owner asks for, whatever the policy says: known events and the quota wait neither for its next decision nor for the end of a pause."""

from __future__ import annotations

from dataclasses import replace

from penstock.core.domain.decision import Comparison, Decision
from penstock.core.domain.events.autopilot import Decided
from penstock.core.domain.events.event import Event
from penstock.core.knowledge import Knowledge
from penstock.core.plan.adopt import is_held
from penstock.core.plan.guards import Guarding
from penstock.core.plan.owner import allowed_now, owner_allows
from penstock.core.plan.proposals import quiet_for_s
from penstock.core.plan.settle import trusted
from penstock.core.terms import Terms


def follow_owner(knowledge: Knowledge, at_s: float, terms: Terms, policy: str) -> tuple[Knowledge, list[Event]]:
    """Make of the size that stands, or is proposed, what the owner allows; as a decision of the policy in between, which changes none of its timers."""
    steering, autopilot = knowledge.steering, terms.autopilot
    says_something = autopilot.calendar or autopilot.quota_executors is not None or steering.proposal is not None
    if not says_something or not can_follow(knowledge, terms):
        return knowledge, []
    current = knowledge.steered_executors(autopilot.mode)
    stands = current if steering.proposal is None else steering.proposal.executors
    policy, why = steering.decider(policy), Comparison(code="between_decisions" if steering.paused is None else "policy_paused")
    wanted = Decision(policy=policy, executors=stands, current=current, why=why)
    final = owner_allows(wanted, allowed_now(terms, knowledge.last, at_s))
    if final.executors == stands or quiet_for_s(steering, final.executors, at_s):
        return knowledge, []
    knowledge = replace(knowledge, steering=replace(steering, last=final, said_s=at_s))
    knowledge, effect, events = trusted(knowledge, wanted, final, at_s, Guarding(autopilot=autopilot, steering=steering, on=False))
    return knowledge, [Decided(at_s=at_s, mode=autopilot.mode, policy=policy, decision=final, effect=effect), *events]


def can_follow(knowledge: Knowledge, terms: Terms) -> bool:
    """Whether the size can be changed now: nobody holds it (in shadow that stops nothing), and no change is under way, so that a step is one step."""
    held = is_held(knowledge) and terms.autopilot.mode != "shadow"
    return not held and not knowledge.is_rescaling and knowledge.last is not None and "executors" not in knowledge.last.unable
