"""One turn of the loop: what came in goes through the phases; new knowledge, instructions and events come out. Nothing is performed here."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from penstock.core.analyze.analyze import analyze
from penstock.core.analyze.assess import assess
from penstock.core.analyze.bottleneck import bottleneck
from penstock.core.analyze.capacities import capacity_why
from penstock.core.analyze.predictions import foresee
from penstock.core.domain.events.autopilot import Decided, Recovered
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.run import NothingToDo
from penstock.core.domain.instruction import Instruction
from penstock.core.execute.commands import take_commands
from penstock.core.execute.holds import end_holds
from penstock.core.execute.missing_executors import watch_executors
from penstock.core.execute.outcomes import take_outcomes
from penstock.core.execute.reconcile import reconcile
from penstock.core.fitting import FitAsked
from penstock.core.inputs import Inputs
from penstock.core.knowledge import Knowledge
from penstock.core.plan.due import has_come, is_due
from penstock.core.plan.effect import watch_effect
from penstock.core.plan.failures import phase_failed
from penstock.core.plan.follow import follow_owner
from penstock.core.plan.guards import guards_on
from penstock.core.plan.mode import settle_mode, settle_policy
from penstock.core.plan.named import in_force, named
from penstock.core.plan.policy_commands import take_says
from penstock.core.plan.promises import watch_promises
from penstock.core.plan.rescales import with_rescale, without_failed
from penstock.core.plan.rollback import watch_trust
from penstock.core.plan.settle import settle
from penstock.core.policies.policy import Policy
from penstock.core.policies.registry import policy_of
from penstock.core.terms import Terms

RETRY_S = 60.0
"""A policy that cannot even be made is asked for again after so long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What a turn decided; `fit` is slow work to be done elsewhere, whose result a later turn takes in."""

    knowledge: Knowledge
    instructions: tuple[Instruction, ...]
    events: tuple[Event, ...]
    fit: FitAsked | None = None


def turn(knowledge: Knowledge, inputs: Inputs, terms: Terms, policy: Policy | None = None) -> Turn:
    """Take in what happened, settle what is desired, and ask for what differs from it; a policy that is given takes the place of the one in the terms."""
    at_s = inputs.at_s
    if inputs.reading is not None:
        knowledge = replace(knowledge, last=inputs.reading)
    knowledge, done = take_outcomes(knowledge, inputs.outcomes, at_s)
    knowledge, freed = end_holds(knowledge, at_s)
    knowledge, said = take_commands(knowledge, inputs.commands, at_s, terms)
    knowledge, heard = take_says(knowledge, inputs.commands, at_s, terms)
    knowledge, left = settle_mode(knowledge, at_s, terms)
    decider = in_force(knowledge, terms, policy)
    knowledge, steered, fit = steer(knowledge, inputs, terms, policy)
    knowledge, noticed = watch_executors(knowledge, at_s, terms.config)
    knowledge, instructions, given = reconcile(knowledge, at_s)
    knowledge = with_rescale(knowledge, instructions, at_s)
    knowledge, events = named(knowledge, [*done, *freed, *said, *heard, *left, *steered, *noticed, *given], decider)
    if not events:
        events.append(NothingToDo(at_s=at_s, reason=resting(knowledge)))
    return Turn(knowledge=knowledge, instructions=tuple(instructions), events=tuple(events), fit=fit)


def steer(knowledge: Knowledge, inputs: Inputs, terms: Terms, policy: Policy | None) -> tuple[Knowledge, list[Event], FitAsked | None]:
    """Analyse and plan, as far as the owner's trust goes; whatever fails in there is said and costs no more than a decision."""
    at_s = inputs.at_s
    if terms.autopilot.mode == "observe":
        return knowledge, [], None
    knowledge = without_failed(knowledge, inputs.outcomes)
    try:
        policy = policy_of(terms) if policy is None else policy
    except Exception as error:
        named, again_s = terms.autopilot.policy, terms.autopilot.scaled(RETRY_S)
        knowledge, unmade = phase_failed(knowledge, "plan", error, at_s, named, again_s) if is_due(knowledge, at_s, terms) else (knowledge, [])
        knowledge, back = watch_trust(knowledge, at_s, terms)
        return knowledge, [*unmade, *back], None
    knowledge, learned, fit = look(settle_policy(knowledge, policy.name), inputs, terms, policy)
    knowledge, watched = watch_promises(knowledge, [event for event in learned if isinstance(event, Recovered)], at_s, terms)
    judges = inputs.reading is not None and guards_on(terms.autopilot, policy)
    knowledge, judged = watch_effect(knowledge, at_s, terms, bottleneck) if judges else (knowledge, [])
    knowledge, back = watch_trust(knowledge, at_s, terms)
    due = inputs.reading is not None and is_due(knowledge, at_s, terms)
    knowledge, decided = decide(knowledge, at_s, terms, policy) if due else follow_owner(knowledge, at_s, terms, policy.name)
    return knowledge, [*learned, *watched, *judged, *back, *decided], fit


def look(knowledge: Knowledge, inputs: Inputs, terms: Terms, policy: Policy) -> tuple[Knowledge, list[Event], FitAsked | None]:
    """Analyse; a phase that failed is not tried again before its time."""
    if not has_come(knowledge.steering.analyze_from_s, inputs.at_s, terms):
        return knowledge, [], None
    try:
        return analyze(knowledge, inputs, terms, policy.needs)
    except Exception as error:
        return *phase_failed(knowledge, "analyze", error, inputs.at_s, policy.name, policy.period_s), None


def decide(knowledge: Knowledge, at_s: float, terms: Terms, policy: Policy) -> tuple[Knowledge, list[Event]]:
    """Ask the policy, settle what it says, and write it down with what is predicted of it."""
    try:
        assessed, seen = assess(knowledge, at_s, terms, policy.needs)
        settled = settle(assessed, seen, policy.decide(seen), terms, policy)
        runs = knowledge.desired.executors if terms.autopilot.mode == "shadow" else None
        predictions = foresee(seen, settled.decision, runs) if settled.is_news else ()
        why = capacity_why(knowledge.learnt.capacity, seen, settled.decision.executors) if settled.is_news else None
    except (Exception, SystemExit) as error:  # an owner's policy may call sys.exit(), which would end the thread of the loop without a word
        return phase_failed(knowledge, "plan", error, at_s, policy.name, policy.period_s)
    if not settled.is_news:
        return settled.knowledge, []
    decided = Decided(
        at_s=at_s,
        mode=terms.autopilot.mode,
        policy=settled.decision.policy,
        decision=settled.decision,
        effect=settled.effect,
        load_rows_per_s=seen.load_rows_per_s,
        capacity_rows_per_s=seen.capacity(settled.decision.executors),
        capacity_why=why,
        peak_rows_per_s=None if seen.forecast is None else seen.peak(math.inf),
        predictions=predictions,
    )
    steering = settled.knowledge.steering
    steering = replace(steering, said_s=at_s, predictions=(*steering.predictions, *predictions))
    return replace(settled.knowledge, steering=steering), [decided, *settled.events]


def resting(knowledge: Knowledge) -> str:
    """Why nothing happens; the same words as long as it is the same, so that such turns are counted in one row."""
    steering = knowledge.steering
    if knowledge.pending:
        return f"waiting for {', '.join(pending.instruction.knob for pending in knowledge.pending)}"
    if steering.mode == "observe" or (steering.paused is None and steering.last is None):
        return "as desired"
    if steering.paused is not None:
        return f"paused by {steering.paused.who}"
    if steering.proposal is not None:
        return f"proposal {steering.proposal.number} waits for a word"
    assert steering.last is not None
    keeps = "would keep" if steering.mode == "shadow" else "keeps"
    return f"{steering.last.policy} {keeps} {knowledge.steered_executors(steering.mode)}"
