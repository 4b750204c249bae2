"""What becomes of a decision: guards, then what the owner's trust lets it do."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.core.assessment import Assessment
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.decision import Comparison, Decision, Effect, Recommended
from penstock.core.domain.events.event import Event
from penstock.core.knowledge import Knowledge
from penstock.core.plan.adopt import adopt, is_held
from penstock.core.plan.effect import with_trial
from penstock.core.plan.guards import Guarding, guarded, guards_on
from penstock.core.plan.proposals import proposed, quiet_for_s, without_proposal
from penstock.core.policies.policy import Policy
from penstock.core.steering import MeanLoad, Steering
from penstock.core.terms import Terms

HOUR_S = 3600.0
MINUTE_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A decision as guards and trust left it; `is_news` unless it says what was said less than a minute ago."""

    knowledge: Knowledge
    decision: Decision
    effect: Effect
    events: tuple[Event, ...]
    is_news: bool


def settle(knowledge: Knowledge, seen: Assessment, decision: Decision, terms: Terms, policy: Policy) -> Settled:
    """Knowledge after a decision, whatever it came to."""
    before, autopilot, at_s = knowledge.steering, terms.autopilot, seen.at_s
    guarding = Guarding(autopilot=autopilot, steering=before, on=guards_on(autopilot, policy))
    final = guarded(seen, decision, guarding)
    quiet_s = quiet_for_s(before, final.executors, at_s) if autopilot.mode == "ask" else 0.0
    if quiet_s and final.direction != "keep":
        why = Comparison(code="rejected", value=float(final.executors), limit=quiet_s)
        final = replace(final, executors=final.current, guards=(*final.guards, why))
    knowledge = replace(knowledge, steering=after_decision(before, decision, final, at_s, terms.autopilot, policy.period_s))
    knowledge, effect, events = trusted(knowledge, decision, final, at_s, guarding)
    if guarding.on and effect == "asked":
        knowledge = replace(knowledge, steering=with_trial(knowledge.steering, seen.reading, final.current, final.executors, at_s))
    news = bool(events) or effect in ("asked", "shadow") or not says_again(before, final, at_s, autopilot)
    return Settled(knowledge=knowledge, decision=final, effect=effect, events=tuple(events), is_news=news)


def trusted(knowledge: Knowledge, wanted: Decision, final: Decision, at_s: float, guarding: Guarding) -> tuple[Knowledge, Effect, list[Event]]:
    """What the mode lets a decision do. In shadow an operator's hold stops nothing: what is done by hand is what the policy is compared with."""
    kept = final.direction == "keep"
    nothing: Effect = "guarded" if kept and wanted.direction != "keep" else "kept"
    steering, autopilot = knowledge.steering, guarding.autopilot
    if autopilot.mode == "shadow":
        rescaled_s = steering.rescaled_s if kept else at_s
        shadow = replace(steering, shadow_executors=final.executors, rescaled_s=rescaled_s)
        return replace(knowledge, steering=shadow), nothing if kept else "shadow", []
    if kept or is_held(knowledge):
        steering, ended = without_proposal(steering, at_s, "withdrawn")
        return replace(knowledge, steering=steering), "held" if is_held(knowledge) else nothing, ended
    if autopilot.mode == "ask":
        steering, events = proposed(steering, final, at_s, autopilot, guarded=guarding.on)
        return replace(knowledge, steering=steering), "proposed", events
    return adopt(knowledge, final.executors, at_s, own=wanted.direction == "down"), "asked", []


def after_decision(steering: Steering, decision: Decision, final: Decision, at_s: float, autopilot: Autopilot, period_s: float) -> Steering:
    """Steering with its timers set anew."""
    return replace(
        steering,
        decided_s=at_s,
        next_s=at_s + (period_s if decision.next_after_s is None else decision.next_after_s),
        memo=decision.memo,
        earlier=with_recommended(steering.earlier, Recommended(at_s=at_s, executors=decision.executors), autopilot.scaled(HOUR_S)),
        last=final,
        load=MeanLoad(),
        failed_in_a_row=0,
    )


def with_recommended(earlier: tuple[Recommended, ...], new: Recommended, span_s: float) -> tuple[Recommended, ...]:
    """What was recommended within the span, the newest last; of the same size in a row only the first and the last, which bound it in time.

    >>> fours = tuple(Recommended(at_s=at_s, executors=4) for at_s in (0.0, 60.0))
    >>> [each.at_s for each in with_recommended(fours, Recommended(at_s=120.0, executors=4), span_s=3600.0)]
    [0.0, 120.0]
    """
    recent = tuple(each for each in earlier if each.at_s > new.at_s - span_s)
    if len(recent) > 1 and recent[-1].executors == recent[-2].executors == new.executors:
        recent = recent[:-1]
    return (*recent, new)


def says_again(before: Steering, final: Decision, at_s: float, autopilot: Autopilot) -> bool:
    """Whether a decision only repeats the last one, and that was written down less than a minute ago: policies with short periods would flood the history."""
    if before.last is None or before.said_s is None or at_s - before.said_s >= autopilot.scaled(MINUTE_S):
        return False
    return gist(before.last) == gist(final)


def gist(decision: Decision) -> tuple[object, ...]:
    return decision.policy, decision.current, decision.executors, decision.why.code, tuple(guard.code for guard in decision.guards)
