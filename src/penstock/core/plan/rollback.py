"""Roll-back: a policy that loses trust goes to the larger of the present and the declared size, and pauses."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.core.domain.events.autopilot import RollbackReason, RolledBack
from penstock.core.domain.events.event import Event
from penstock.core.knowledge import Knowledge, with_executors
from penstock.core.plan.adopt import is_held
from penstock.core.plan.policy_commands import ITSELF, pause
from penstock.core.plan.proposals import without_proposal
from penstock.core.steering import LAST_ERRORS, Paused
from penstock.core.terms import Terms

MOST_ERROR = 1.0
"""Predictions that are off by more than the truth itself, on average of the last few, are worth nothing."""

MOST_FAILURES = 3
BLIND_READINGS = 3
"""However short a job's day is, so many readings may be missed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distrust:
    """Why a policy is not to be trusted any more, and the two numbers that say so."""

    reason: RollbackReason
    value: float
    limit: float


def watch_trust(knowledge: Knowledge, at_s: float, terms: Terms) -> tuple[Knowledge, list[Event]]:
    """Roll back if there is a reason to; only where the policy's decisions count, and not while it is paused."""
    counts = terms.autopilot.rollback and terms.autopilot.mode in ("ask", "active")
    if not counts or knowledge.steering.paused is not None:
        return knowledge, []
    why = distrust(knowledge, at_s, terms)
    return (knowledge, []) if why is None else rolled_back(knowledge, why, at_s, terms)


def distrust(knowledge: Knowledge, at_s: float, terms: Terms) -> Distrust | None:
    steering, autopilot = knowledge.steering, terms.autopilot
    if len(steering.broken_s) >= autopilot.rollback_broken:
        return Distrust(reason="broken_promises", value=float(len(steering.broken_s)), limit=float(autopilot.rollback_broken))
    if len(steering.graded) >= LAST_ERRORS and sum(steering.graded) / len(steering.graded) > MOST_ERROR:
        return Distrust(reason="wrong_predictions", value=sum(steering.graded) / len(steering.graded), limit=MOST_ERROR)
    blind_s = max(autopilot.scaled(autopilot.blind_s), BLIND_READINGS * terms.config.reading_interval_s)
    seen_s = knowledge.began_s if knowledge.last is None else knowledge.last.at_s
    if seen_s is not None and at_s - seen_s >= blind_s:
        return Distrust(reason="blind", value=at_s - seen_s, limit=blind_s)
    if steering.failed_in_a_row >= MOST_FAILURES:
        return Distrust(reason="policy_fails", value=float(steering.failed_in_a_row), limit=float(MOST_FAILURES))
    return None


def rolled_back(knowledge: Knowledge, why: Distrust, at_s: float, terms: Terms) -> tuple[Knowledge, list[Event]]:
    """Knowledge of a policy that is paused, at no smaller a size than now; an operator's hold stays, and what spoke against the policy is forgotten."""
    autopilot, before = terms.autopilot, knowledge.desired.executors
    fallback = knowledge.declared.executors if autopilot.fallback_executors is None else autopilot.fallback_executors
    most = terms.limits.max_executors if autopilot.quota_executors is None else min(terms.limits.max_executors, autopilot.quota_executors)
    executors = before if is_held(knowledge) else max(before, min(fallback, most))
    steering, ended = without_proposal(knowledge.steering, at_s, "withdrawn")
    steering = replace(steering.unblamed(), trial=None)
    said = RolledBack(at_s=at_s, reason=why.reason, before=before, executors=executors, value=why.value, limit=why.limit)
    knowledge = with_executors(replace(knowledge, steering=steering), executors) if executors != before else replace(knowledge, steering=steering)
    until_s = at_s + autopilot.scaled(autopilot.rollback_s)
    knowledge, paused = pause(knowledge, Paused(who=ITSELF, since_s=at_s, until_s=until_s, reason=why.reason.replace("_", " ")))
    return knowledge, [*ended, said, *paused]
