"""One turn of the loop: inputs go through the phases; new knowledge, instructions and events come out. Nothing is performed here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.core.analyze.analyze import Analyzed, analyze
from penstock.core.analyze.bottleneck import bottleneck
from penstock.core.domain.events.autopilot_events import AutopilotEvent
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.run_events import NothingToDo
from penstock.core.domain.instruction import Instruction
from penstock.core.execute.reconcile import execute
from penstock.core.knowledge.fitting import FitAsked
from penstock.core.knowledge.inputs import Inputs
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.knowledge.policy import Policy
from penstock.core.knowledge.terms import Terms
from penstock.core.monitor.outcomes import take_outcomes
from penstock.core.plan.operators import hear
from penstock.core.plan.plan import has_come, is_due, plan
from penstock.core.plan.trust import phase_failed, settle_mode, settle_policy, watch_trust
from penstock.core.policies.registry import policy_of

RETRY_S = 60.0
"""A policy that cannot be made is asked for again after this time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The result of a turn; `fit` is a slow fit to run in the background, whose result is an input of a later turn."""

    knowledge: Knowledge
    instructions: tuple[Instruction, ...]
    events: tuple[Event, ...]
    fit: FitAsked | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyframe:
    """What was known before a turn, and its terms: from there on a replay needs nothing but the inputs."""

    knowledge: Knowledge
    terms: Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A recorded turn: the knowledge and terms that it began with, its inputs, and its result."""

    before: Keyframe
    inputs: Inputs
    done: Turn

    def follows(self, earlier: Recorded | None) -> bool:
        """Return whether nothing happened in between: the turn began with what the earlier one left, under the same terms."""
        return earlier is not None and self.before.knowledge is earlier.done.knowledge and self.before.terms is earlier.before.terms


def turn(knowledge: Knowledge, inputs: Inputs, terms: Terms, policy: Policy | None = None) -> Turn:
    """Take in the inputs, analyze, plan, execute. A policy that is given takes the place of the one in the terms."""
    at_s = inputs.at_s
    if inputs.reading is not None:
        knowledge = replace(knowledge, last=inputs.reading)
    knowledge, done = take_outcomes(knowledge, inputs.outcomes, at_s)
    knowledge, heard = hear(knowledge, inputs.commands, at_s, terms)
    knowledge, left = settle_mode(knowledge, at_s, terms)
    decider = decider_of(knowledge, terms, policy)
    knowledge, steered, fit = steer(knowledge, inputs, terms, policy)
    knowledge, instructions, given = execute(knowledge, at_s, terms.config)
    knowledge, events = named(knowledge, [*done, *heard, *left, *steered, *given], decider)
    if not events:
        events.append(NothingToDo(at_s=at_s, reason=resting(knowledge)))
    return Turn(knowledge=knowledge, instructions=tuple(instructions), events=tuple(events), fit=fit)


def steer(knowledge: Knowledge, inputs: Inputs, terms: Terms, policy: Policy | None) -> tuple[Knowledge, list[Event], FitAsked | None]:
    """Analyze and plan, unless the mode is observe; a phase that fails becomes an event and costs at most one decision."""
    at_s = inputs.at_s
    if terms.autopilot.mode == "observe":
        return knowledge, [], None
    try:
        policy = policy_of(terms) if policy is None else policy
    except Exception as error:
        asked, again_s = terms.autopilot.policy, terms.autopilot.scaled(RETRY_S)
        knowledge, unmade = phase_failed(knowledge, "plan", error, at_s, asked, again_s) if is_due(knowledge, at_s, terms) else (knowledge, [])
        knowledge, back = watch_trust(knowledge, at_s, terms)
        return knowledge, [*unmade, *back], None
    (knowledge, left), fresh = settle_policy(knowledge, policy.name, at_s), inputs.reading is not None
    found = analyzed(knowledge, inputs, terms, policy, decides=fresh and is_due(knowledge, at_s, terms, policy))
    try:
        knowledge, planned = plan(found.knowledge, found.seen, found.events, at_s, terms, policy, fresh=fresh, bottleneck=bottleneck)
    except Exception as error:
        knowledge, planned = phase_failed(found.knowledge, "plan", error, at_s, policy.name, policy.period_s)
    return knowledge, [*left, *found.events, *planned], found.fit


def analyzed(knowledge: Knowledge, inputs: Inputs, terms: Terms, policy: Policy, *, decides: bool) -> Analyzed:
    """Analyze; after a failure, not before `analyze_from_s`."""
    if not has_come(knowledge.schedule.analyze_from_s, inputs.at_s, terms):
        return Analyzed(knowledge=knowledge)
    try:
        return analyze(knowledge, inputs, terms, policy.needs, decides=decides)
    except Exception as error:
        knowledge, failed = phase_failed(knowledge, "analyze", error, inputs.at_s, policy.name, policy.period_s)
        return Analyzed(knowledge=knowledge, events=tuple(failed))


def decider_of(knowledge: Knowledge, terms: Terms, policy: Policy | None) -> str:
    """Return the policy that decides, by the whole name of the last decision; empty in observe."""
    if terms.autopilot.mode == "observe":
        return ""
    return knowledge.schedule.decider(terms.autopilot.policy if policy is None else policy.name)


def named(knowledge: Knowledge, events: Sequence[Event], policy: str) -> tuple[Knowledge, list[Event]]:
    """Return knowledge and events in which every prediction and every event of the autopilot names a policy, by default this one."""
    predictions = knowledge.predictions
    if not all(each.policy for each in predictions):
        predictions = tuple(each if each.policy else replace(each, policy=policy) for each in predictions)
        knowledge = replace(knowledge, predictions=predictions)
    return knowledge, [replace(each, policy=policy) if isinstance(each, AutopilotEvent) and not each.policy else each for each in events]


def resting(knowledge: Knowledge) -> str:
    """Return why nothing is to be done; the text stays the same while the reason does, so that such turns are stored as one row."""
    schedule, paused, proposal = knowledge.schedule, knowledge.trust.paused, knowledge.proposals.open
    if knowledge.pending:
        return f"waiting for {', '.join(pending.instruction.target for pending in knowledge.pending)}"
    if schedule.mode == "observe" or (paused is None and schedule.last is None):
        return "as desired"
    if paused is not None:
        return f"paused by {paused.who}"
    if proposal is not None:
        return f"proposal {proposal.number} waits for an answer"
    assert schedule.last is not None
    keeps = "would keep" if schedule.mode == "shadow" else "keeps"
    return f"{schedule.last.policy} {keeps} {knowledge.steered(schedule.mode).executors}"
