"""Whether the policy is trusted: promises that break after its scale-downs, predictions far off, failures, blindness. Also its mode, and its change."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.core.domain.configuration import Configuration, apart
from penstock.core.domain.decision import Recommended, asked_policy
from penstock.core.domain.disturbance import UNANNOUNCED
from penstock.core.domain.events.autopilot_events import Phase, PhaseFailed, PromiseBroken, PromiseKept, Recovered, RollbackReason, RolledBack
from penstock.core.domain.events.event import Event
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.knowledge.steering import LAST_ERRORS, Paused, Trust
from penstock.core.knowledge.terms import Terms
from penstock.core.plan.operators import ITSELF, pause
from penstock.core.plan.proposals import without_proposal

LATENCY, RECOVERY = "latency p95", "recovery"
TARGETS = {LATENCY: "latency", RECOVERY: "recovery time"}
"""The names of promises in `Trust.infeasible`: what no configuration can keep does not count against the policy."""
COUNTS_S = 3600.0
"""A promise broken within this time of an own scale-down, or move of another knob, counts against the policy, for as long."""
STILL_BROKEN_S = 600.0
"""A promise that stays broken counts as broken again after these seconds."""
EXCUSED_S = 600.0
"""A failure or a rescale excuses a high latency for as long as recovery may take; for these seconds where none is promised."""
MOST_FAILURES = 3
BLIND_READINGS = 3
"""However short a job's day is, this many readings may be missed."""


def watch_promises(knowledge: Knowledge, recovered: Sequence[Recovered], at_s: float, terms: Terms) -> tuple[Knowledge, list[Event]]:
    """Report the promises that were broken, by the latency of the last reading or by recoveries just measured, and those that are kept again.

    Recoveries that end together are one: the longest counts.
    """
    trust, events = watch_latency(knowledge, at_s, terms)
    promised_s, longest = terms.promises.recovery_s, max((each for each in recovered if each.kind != UNANNOUNCED), key=lambda each: each.took_s, default=None)
    if promised_s is not None and longest is not None and longest.took_s > promised_s:
        events.append(PromiseBroken(at_s=at_s, decision_id=longest.decision_id, promise=RECOVERY, value=longest.took_s, limit=promised_s))
    broken = sum(isinstance(event, PromiseBroken) and TARGETS[event.promise] not in trust.infeasible for event in events)
    trust = with_broken(trust, broken, at_s, terms.autopilot.scaled(COUNTS_S))
    return knowledge if trust is knowledge.trust else replace(knowledge, trust=trust), events


def watch_latency(knowledge: Knowledge, at_s: float, terms: Terms) -> tuple[Trust, list[Event]]:
    """Report a latency that is above its promise for a while; an unknown one, or one during a known recovery, does not count."""
    trust, promised_s, autopilot = knowledge.trust, terms.promises.latency_p95_s, terms.autopilot
    latency = None if knowledge.last is None else knowledge.last.latency
    if promised_s is None or latency is None:
        return trust, []
    if latency.p95_s <= promised_s:
        if trust.broken_since_s is None and trust.broken_said_s is None:
            return trust, []
        kept: list[Event] = [PromiseKept(at_s=at_s, promise=LATENCY)] if trust.broken_said_s is not None else []
        return replace(trust, broken_since_s=None, broken_said_s=None), kept
    if is_recovering(knowledge, at_s, terms):
        return replace(trust, broken_since_s=None), []
    since_s = at_s if trust.broken_since_s is None else trust.broken_since_s
    said_s = trust.broken_said_s
    again_s = 0.0 if said_s is None else said_s + autopilot.scaled(STILL_BROKEN_S)
    due_s = max(since_s + autopilot.scaled(autopilot.broken_after_s), again_s)
    if at_s < due_s:
        return replace(trust, broken_since_s=since_s), []
    author = knowledge.newest_author
    decision_id = None if author is None else author.decision_id
    said = PromiseBroken(at_s=at_s, decision_id=decision_id, promise=LATENCY, value=latency.p95_s, limit=promised_s)
    return replace(trust, broken_since_s=since_s, broken_said_s=at_s), [said]


def is_recovering(knowledge: Knowledge, at_s: float, terms: Terms) -> bool:
    """Return whether a known failure or rescale excuses the latency; one that takes longer than it may does not."""
    may_take_s = terms.autopilot.scaled(EXCUSED_S) if terms.promises.recovery_s is None else terms.promises.recovery_s
    return any(each.kind != UNANNOUNCED and at_s - each.at_s <= may_take_s for each in knowledge.learnt.health.open)


def with_broken(trust: Trust, broken: int, at_s: float, counts_s: float) -> Trust:
    """Return trust that counts promises broken within `counts_s` of a scale-down or another move of the policy; older ones are dropped."""
    scaled_down_s = trust.own_scale_down_s
    own = broken if scaled_down_s is not None and at_s - scaled_down_s <= counts_s else 0
    recent = tuple(each for each in trust.broken_s if at_s - each <= counts_s)
    return trust if not own and recent == trust.broken_s else replace(trust, broken_s=(*recent, *(own * (at_s,))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Distrust:
    """Why a policy is not trusted any more, and the two numbers compared."""

    reason: RollbackReason
    value: float
    limit: float


def watch_trust(knowledge: Knowledge, at_s: float, terms: Terms) -> tuple[Knowledge, list[Event]]:
    """Roll back if there is a reason to; only where the policy's decisions count, and not while it is paused."""
    counts = terms.autopilot.rollback and terms.autopilot.mode in ("ask", "active")
    if not counts or knowledge.trust.paused is not None:
        return knowledge, []
    why = distrust(knowledge, at_s, terms)
    return (knowledge, []) if why is None else rolled_back(knowledge, why, at_s, terms)


def distrust(knowledge: Knowledge, at_s: float, terms: Terms) -> Distrust | None:
    trust, autopilot = knowledge.trust, terms.autopilot
    if len(trust.broken_s) >= autopilot.rollback_broken:
        return Distrust(reason="broken_promises", value=float(len(trust.broken_s)), limit=float(autopilot.rollback_broken))
    error = sum(trust.errors) / len(trust.errors) if len(trust.errors) >= LAST_ERRORS else 0.0
    if error > autopilot.rollback_error:
        return Distrust(reason="wrong_predictions", value=error, limit=autopilot.rollback_error)
    blind_s = max(autopilot.scaled(autopilot.blind_s), BLIND_READINGS * terms.config.reading_interval_s)
    seen_s = knowledge.began_s if knowledge.last is None else knowledge.last.at_s
    if seen_s is not None and at_s - seen_s >= blind_s:
        return Distrust(reason="blind", value=at_s - seen_s, limit=blind_s)
    if trust.failed_in_a_row >= MOST_FAILURES:
        return Distrust(reason="policy_fails", value=float(trust.failed_in_a_row), limit=float(MOST_FAILURES))
    return None


def rolled_back(knowledge: Knowledge, why: Distrust, at_s: float, terms: Terms) -> tuple[Knowledge, list[Event]]:
    """Return knowledge with the policy paused, no fewer executors than now and its other knobs as declared; what counted against it is cleared."""
    autopilot, before = terms.autopilot, knowledge.desired if knowledge.last is None else knowledge.desired.known_in(knowledge.last.configuration)
    proposals, ended = without_proposal(knowledge.proposals, at_s, "withdrawn")
    configuration = fallback(knowledge, terms)
    author = knowledge.newest_author
    decision_id = author.decision_id if author is not None else knowledge.schedule.last_id
    said = RolledBack(at_s=at_s, decision_id=decision_id, reason=why.reason, before=before, configuration=configuration, value=why.value, limit=why.limit)
    knowledge = replace(knowledge, proposals=proposals, trust=knowledge.trust.unblamed(), effects=replace(knowledge.effects, trial=None))
    until_s = at_s + autopilot.scaled(autopilot.rollback_s)
    paused = Paused(who=ITSELF, since_s=at_s, until_s=until_s, reason=why.reason.replace("_", " "))
    knowledge, paused_said = pause(knowledge.wanting(configuration), paused)
    return knowledge, [*ended, said, *paused_said]


def fallback(knowledge: Knowledge, terms: Terms) -> Configuration:
    """Return the configuration of a roll-back: the larger of the present and the fallback executors, and all else that the policy decided as declared.

    Partitions, which are not declared, are those before its decisions. What an operator holds stays.
    """
    autopilot, before = terms.autopilot, knowledge.desired
    fewest = knowledge.declared.executors if autopilot.fallback_executors is None else autopilot.fallback_executors
    most = terms.limits.max_executors if autopilot.quota_executors is None else min(terms.limits.max_executors, autopilot.quota_executors)
    configuration = before if knowledge.is_held("executors") else replace(before, executors=max(before.executors, min(fewest, most)))
    for address, author in knowledge.authors.items():
        if address != "executors" and not knowledge.is_held(address):
            declared = knowledge.declared.of(address)
            configuration = configuration.having(address, author.before if declared is None else declared)
    return configuration


def phase_failed(knowledge: Knowledge, phase: Phase, error: Exception | SystemExit, at_s: float, policy: str, period_s: float) -> tuple[Knowledge, list[Event]]:
    """Return knowledge as before the phase, which is retried a period of the policy later, so that the loop goes on and takes commands."""
    later_s = at_s + period_s
    schedule = replace(knowledge.schedule, next_s=later_s)
    if phase == "analyze":
        schedule = replace(schedule, analyze_from_s=later_s)
    trust = replace(knowledge.trust, failed_in_a_row=knowledge.trust.failed_in_a_row + 1)
    said = PhaseFailed(at_s=at_s, policy=policy, phase=phase, error=f"{type(error).__name__}: {error}", in_a_row=trust.failed_in_a_row)
    return replace(knowledge, schedule=schedule, trust=trust), [said]


def settle_mode(knowledge: Knowledge, at_s: float, terms: Terms) -> tuple[Knowledge, list[Event]]:
    """Return knowledge in the mode of the terms; after a change of the mode, the state of the old one is dropped.

    The configuration at its beginning counts as recommended then, so that the first decision does not remove executors. A pause stays.
    """
    mode = terms.autopilot.mode
    if knowledge.schedule.mode == mode:
        return knowledge, []
    proposals, ended = without_proposal(knowledge.proposals, at_s, "withdrawn")
    rescale = knowledge.rescale
    earlier = () if mode == "observe" else (Recommended(at_s=at_s, configuration=knowledge.desired),)
    shadow = apart(knowledge.desired, knowledge.desired) if mode == "shadow" else None
    schedule = replace(
        knowledge.schedule, mode=mode, next_s=None, rescaled_s=None if rescale is None else rescale.at_s, analyze_from_s=None, last=None, earlier=earlier,
        memory=None, shadow=shadow,
    )  # fmt: skip
    begun = replace(
        knowledge,
        schedule=schedule,
        trust=replace(knowledge.trust, own_scale_down_s=None, broken_s=(), failed_in_a_row=0),
        proposals=replace(proposals, rejected=()),
        effects=replace(knowledge.effects, trial=None),
        predictions=(),
    )
    return begun, ended


def settle_policy(knowledge: Knowledge, name: str, at_s: float) -> tuple[Knowledge, list[Event]]:
    """Return knowledge for the policy of this name: a new one decides at once, and nothing counts against it yet; the proposal of the old one is withdrawn."""
    last = knowledge.schedule.last
    if last is None or asked_policy(last.policy) == name:
        return knowledge, []
    schedule = replace(knowledge.schedule, next_s=None, analyze_from_s=None, last=None, memory=None)
    proposals, ended = without_proposal(knowledge.proposals, at_s, "withdrawn")
    return replace(knowledge, schedule=schedule, trust=knowledge.trust.unblamed(), proposals=proposals), ended
