"""Who decides, in all that is said: the policy is named in every event of the autopilot and in every prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.core.domain.events.autopilot import AutopilotEvent
from penstock.core.domain.events.event import Event
from penstock.core.knowledge import Knowledge
from penstock.core.policies.policy import Policy
from penstock.core.terms import Terms


def in_force(knowledge: Knowledge, terms: Terms, policy: Policy | None) -> str:
    """The policy that decides, by the whole name of the last decision; empty in observe. One that is given takes the place of the one in the terms."""
    if terms.autopilot.mode == "observe":
        return ""
    return knowledge.steering.decider(terms.autopilot.policy if policy is None else policy.name)


def named(knowledge: Knowledge, events: Sequence[Event], policy: str) -> tuple[Knowledge, list[Event]]:
    """Knowledge and events in which what names no policy yet names this one."""
    predictions = knowledge.steering.predictions
    if not all(each.policy for each in predictions):
        predictions = tuple(each if each.policy else replace(each, policy=policy) for each in predictions)
        knowledge = replace(knowledge, steering=replace(knowledge.steering, predictions=predictions))
    return knowledge, [replace(each, policy=policy) if isinstance(each, AutopilotEvent) and not each.policy else each for each in events]
