"""Apply guards and mode to a decision; between decisions, follow the owner's calendar and quota."""

from dataclasses import dataclass, replace

from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.configuration import apart
from penstock.core.domain.decision import Comparison, Decision, Effect, Recommended
from penstock.core.domain.events.autopilot_events import Decided
from penstock.core.domain.events.event import Event
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.knowledge import Author, Knowledge
from penstock.core.knowledge.policy import Policy
from penstock.core.knowledge.steering import Schedule
from penstock.core.knowledge.terms import Terms
from penstock.core.plan.effect import with_trial
from penstock.core.plan.guards import Guarding, guarded, guards_on
from penstock.core.plan.owner import allowed_now, kept, owner_allows
from penstock.core.plan.proposals import adopt, proposed, quiet_for_s, without_proposal

HOUR_S = 3600.0
MINUTE_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A decision after guards and mode; `is_news` unless it repeats one that was recorded less than a minute ago."""

    knowledge: Knowledge
    decision: Decision
    effect: Effect
    events: tuple[Event, ...]
    is_news: bool


def settle(knowledge: Knowledge, seen: Assessment, decision: Decision, terms: Terms, policy: Policy) -> Settled:
    """Apply guards and mode to a decision, and return the result."""
    before, autopilot, at_s = knowledge.schedule, terms.autopilot, seen.at_s
    guarding = Guarding(autopilot=autopilot, on=guards_on(autopilot, policy), rescale=knowledge.rescale, effects=knowledge.effects)
    final = guarded(seen, decision, guarding)
    quiet_s = quiet_for_s(knowledge.proposals, final.change, at_s) if autopilot.mode == "ask" else 0.0
    if quiet_s:
        final = kept(final, "rejected", limit=quiet_s)
    trust = replace(knowledge.trust, failed_in_a_row=0)
    knowledge = replace(knowledge, schedule=after_decision(before, decision, final, at_s, terms.autopilot, policy.period_s), trust=trust)
    knowledge, effect, events = trusted(knowledge, decision, final, at_s, guarding)
    if guarding.on and effect == "asked":
        effects = with_trial(knowledge.effects, seen.reading, final.current, final.configuration, before.next_id, at_s)
        knowledge = replace(knowledge, effects=effects)
    news = bool(events) or effect in ("asked", "shadow") or not says_again(before, final, at_s, autopilot)
    return Settled(knowledge=knowledge, decision=final, effect=effect, events=tuple(events), is_news=news)


def trusted(knowledge: Knowledge, wanted: Decision, final: Decision, at_s: float, guarding: Guarding) -> tuple[Knowledge, Effect, list[Event]]:
    """Do what the mode allows. In shadow a hold does not bind the policy: what operators do is what the policy is compared with."""
    keeps = final.direction == "keep"
    nothing: Effect = "guarded" if keeps and wanted.direction != "keep" else "kept"
    schedule, autopilot, decision_id = knowledge.schedule, guarding.autopilot, knowledge.schedule.next_id
    if autopilot.mode == "shadow":
        shadow = replace(schedule, shadow=apart(knowledge.desired, final.configuration), rescaled_s=schedule.rescaled_s if keeps else at_s)
        return replace(knowledge, schedule=shadow), nothing if keeps else "shadow", []
    held = any(knowledge.is_held(move.address) for move in final.change.moves) or (keeps and knowledge.is_held("executors"))
    if keeps or held:
        proposals, ended = without_proposal(knowledge.proposals, at_s, "withdrawn")
        return replace(knowledge, proposals=proposals), "held" if held else nothing, ended
    if autopilot.mode == "ask":
        proposals, events = proposed(knowledge.proposals, final, decision_id, at_s, autopilot, guarded=guarding.on)
        return replace(knowledge, proposals=proposals), "proposed", events
    author = Author(decision_id=decision_id, policy=final.policy)
    return adopt(knowledge, final.configuration, author, at_s, own=wanted.direction == "down"), "asked", []


def after_decision(schedule: Schedule, decision: Decision, final: Decision, at_s: float, autopilot: Autopilot, period_s: float) -> Schedule:
    """Return the schedule after a decision, with its timers reset."""
    recommended = Recommended(at_s=at_s, configuration=decision.configuration.beyond(decision.current))
    return replace(
        schedule,
        decided_s=at_s,
        next_s=at_s + (period_s if final.next_after_s is None else final.next_after_s),
        memory=decision.memory,
        earlier=with_recommended(schedule.earlier, recommended, autopilot.scaled(HOUR_S)),
        last=final,
        loads={},
    )


def with_recommended(earlier: tuple[Recommended, ...], new: Recommended, span_s: float) -> tuple[Recommended, ...]:
    """Return what was recommended within the span, the newest last; of equal ones in a row only the first and the last, which bound it in time.

    >>> from penstock.core.domain.configuration import Configuration
    >>> first, again, new = (Recommended(at_s=at_s, configuration=Configuration(executors=4)) for at_s in (0.0, 60.0, 120.0))
    >>> [each.at_s for each in with_recommended((first, again), new, span_s=3600.0)]
    [0.0, 120.0]
    """
    recent = tuple(each for each in earlier if each.at_s > new.at_s - span_s)
    if len(recent) > 1 and recent[-1].configuration == recent[-2].configuration == new.configuration:
        recent = recent[:-1]
    return (*recent, new)


def says_again(before: Schedule, final: Decision, at_s: float, autopilot: Autopilot) -> bool:
    """Return whether a decision only repeats one recorded less than a minute ago: policies with short periods would flood the history."""
    if before.last is None or before.said_s is None or at_s - before.said_s >= autopilot.scaled(MINUTE_S):
        return False
    return gist(before.last) == gist(final)


def gist(decision: Decision) -> tuple[object, ...]:
    return decision.policy, decision.current, decision.configuration, decision.why.code, tuple(guard.code for guard in decision.guards)


def follow_owner(knowledge: Knowledge, at_s: float, terms: Terms, policy: str) -> tuple[Knowledge, list[Event]]:
    """Follow the owner's calendar and quota, which wait neither for the next decision nor for the end of a pause.

    The current or proposed configuration becomes what the owner allows: a decision in the policy's name, which changes none of its timers.
    """
    schedule, autopilot, proposal = knowledge.schedule, terms.autopilot, knowledge.proposals.open
    says_something = autopilot.calendar or autopilot.quota_executors is not None or proposal is not None
    if not says_something or not can_follow(knowledge, terms):
        return knowledge, []
    current = knowledge.steered(autopilot.mode)
    stands = current if proposal is None else proposal.on(current)
    policy, why = schedule.decider(policy), Comparison(code="between_decisions" if knowledge.trust.paused is None else "policy_paused")
    wanted = Decision(policy=policy, configuration=stands, current=current, why=why)
    final = owner_allows(wanted, allowed_now(terms, knowledge.last, at_s))
    if final.configuration == stands or quiet_for_s(knowledge.proposals, final.change, at_s):
        return knowledge, []
    knowledge = replace(knowledge, schedule=replace(schedule, last=final, said_s=at_s))
    knowledge, effect, events = trusted(knowledge, wanted, final, at_s, Guarding(autopilot=autopilot, on=False))
    knowledge, decision_id = with_id(knowledge)
    return knowledge, [Decided(at_s=at_s, id=decision_id, mode=autopilot.mode, policy=policy, decision=final, effect=effect), *events]


def with_id(knowledge: Knowledge) -> tuple[Knowledge, int]:
    """Return knowledge in which the last decision has its id, and the id."""
    schedule = knowledge.schedule
    return replace(knowledge, schedule=replace(schedule, last_id=schedule.next_id, next_id=schedule.next_id + 1)), schedule.next_id


def can_follow(knowledge: Knowledge, terms: Terms) -> bool:
    """Return whether executors can be changed now: they are not held (in shadow holds do not bind), and no change is under way, so that steps do not add up."""
    held = knowledge.is_held("executors") and terms.autopilot.mode != "shadow"
    return not held and not knowledge.is_rescaling and knowledge.last is not None and "executors" not in knowledge.last.unable
