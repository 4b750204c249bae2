"""The mode of trust, and what belongs to it."""

from __future__ import annotations

from dataclasses import replace

from penstock.core.domain.decision import Recommended, asked_policy
from penstock.core.domain.events.event import Event
from penstock.core.knowledge import Knowledge
from penstock.core.plan.proposals import without_proposal
from penstock.core.terms import Terms


def settle_mode(knowledge: Knowledge, at_s: float, terms: Terms) -> tuple[Knowledge, list[Event]]:
    """Knowledge of a policy in the mode of the terms: what belonged to another mode is over.

    The size at its beginning counts as recommended then, so that the first thing a policy does is not to give executors away. A pause stays: it is
    about the policy, whatever it may do.
    """
    mode = terms.autopilot.mode
    if knowledge.steering.mode == mode:
        return knowledge, []
    steering, ended = without_proposal(knowledge.steering, at_s, "withdrawn")
    begun = replace(
        steering,
        mode=mode,
        next_s=None,
        rescaled_s=None if steering.rescale is None else steering.rescale.at_s,
        own_scale_down_s=None,
        last=None,
        earlier=() if mode == "observe" else (Recommended(at_s=at_s, executors=knowledge.desired.executors),),
        memo={},
        shadow_executors=knowledge.desired.executors if mode == "shadow" else None,
        rejections=(),
        trial=None,
        broken_s=(),
        predictions=(),
        failed_in_a_row=0,
        analyze_from_s=None,
    )
    return replace(knowledge, steering=begun), ended


def settle_policy(knowledge: Knowledge, name: str) -> Knowledge:
    """Knowledge for the policy of this name: one that takes over decides at once, and neither reads what another kept in mind nor answers for it."""
    last = knowledge.steering.last
    if last is None or asked_policy(last.policy) == name:
        return knowledge
    steering = replace(knowledge.steering.unblamed(), next_s=None, analyze_from_s=None, last=None, memo={})
    return replace(knowledge, steering=steering)
