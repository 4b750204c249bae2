"""Promises to the job's users: when one is broken, and when it is kept again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.core.domain.events.autopilot import PromiseBroken, PromiseKept, Recovered
from penstock.core.domain.events.event import Event
from penstock.core.knowledge import Knowledge
from penstock.core.models.anomaly.disturbance import UNANNOUNCED
from penstock.core.steering import Steering
from penstock.core.terms import Terms

LATENCY, RECOVERY = "latency p95", "recovery"
TARGETS = {LATENCY: "latency", RECOVERY: "recovery time"}
"""The names of promises in `Steering.infeasible`: what no size can keep is not held against the one that was chosen."""

COUNTS_S = 3600.0
"""A promise broken within this time of an own scale-down counts against the policy, for as long."""

STILL_BROKEN_S = 600.0
"""A promise that stays broken counts as broken again after these seconds."""

EXCUSED_S = 600.0
"""A failure or a rescale excuses a high latency for as long as recovery may take; for these seconds where none is promised."""


def watch_promises(knowledge: Knowledge, recovered: Sequence[Recovered], at_s: float, terms: Terms) -> tuple[Knowledge, list[Event]]:
    """Say which promises were broken, by the latency of the last reading or by recoveries that were just measured, and which are kept again.

    Recoveries that end together are one: the longest counts.
    """
    steering, events = watch_latency(knowledge, at_s, terms)
    promised_s, took_s = terms.promises.recovery_s, max((each.took_s for each in recovered if each.kind != UNANNOUNCED), default=0.0)
    if promised_s is not None and took_s > promised_s:
        events.append(PromiseBroken(at_s=at_s, promise=RECOVERY, value=took_s, limit=promised_s))
    broken = sum(isinstance(event, PromiseBroken) and TARGETS[event.promise] not in steering.infeasible for event in events)
    steering = with_broken(steering, broken, at_s, terms.autopilot.scaled(COUNTS_S))
    return knowledge if steering is knowledge.steering else replace(knowledge, steering=steering), events


def watch_latency(knowledge: Knowledge, at_s: float, terms: Terms) -> tuple[Steering, list[Event]]:
    """A latency above its promise for a while is a broken promise; one that is not known, or in a known recovery, says nothing."""
    steering, promised_s, autopilot = knowledge.steering, terms.promises.latency_p95_s, terms.autopilot
    latency = None if knowledge.last is None else knowledge.last.latency
    if promised_s is None or latency is None:
        return steering, []
    if latency.p95_s <= promised_s:
        if steering.broken_since_s is None and steering.broken_said_s is None:
            return steering, []
        kept: list[Event] = [PromiseKept(at_s=at_s, promise=LATENCY)] if steering.broken_said_s is not None else []
        return replace(steering, broken_since_s=None, broken_said_s=None), kept
    if is_recovering(knowledge, at_s, terms):
        return replace(steering, broken_since_s=None), []
    since_s = at_s if steering.broken_since_s is None else steering.broken_since_s
    said_s = steering.broken_said_s
    due_s = since_s + autopilot.scaled(autopilot.broken_after_s) if said_s is None else said_s + autopilot.scaled(STILL_BROKEN_S)
    if at_s < due_s:
        return replace(steering, broken_since_s=since_s), []
    said = PromiseBroken(at_s=at_s, promise=LATENCY, value=latency.p95_s, limit=promised_s)
    return replace(steering, broken_since_s=since_s, broken_said_s=at_s), [said]


def is_recovering(knowledge: Knowledge, at_s: float, terms: Terms) -> bool:
    """Whether a failure or a rescale that is known explains what is seen. One that takes longer than it may explains nothing."""
    may_take_s = terms.autopilot.scaled(EXCUSED_S) if terms.promises.recovery_s is None else terms.promises.recovery_s
    return any(each.kind != UNANNOUNCED and at_s - each.at_s <= may_take_s for each in knowledge.learnt.health.open)


def with_broken(steering: Steering, broken: int, at_s: float, counts_s: float) -> Steering:
    """Steering that counts promises broken soon after the policy has given executors away, as long as they count."""
    scaled_down_s = steering.own_scale_down_s
    own = broken if scaled_down_s is not None and at_s - scaled_down_s <= counts_s else 0
    recent = tuple(each for each in steering.broken_s if at_s - each <= counts_s)
    return steering if not own and recent == steering.broken_s else replace(steering, broken_s=(*recent, *(own * (at_s,))))
