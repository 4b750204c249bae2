"""The P of MAPE-K: watch promises, effects and trust; when it is due, ask the policy, guard its decision, and do what the mode allows."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import index
from typing import get_args

from penstock.core.domain.configuration import Configuration, difference, refuse_change
from penstock.core.domain.decision import Comparison, Decision, asked_policy
from penstock.core.domain.events.autopilot_events import Decided, Recovered
from penstock.core.domain.events.event import Event
from penstock.core.domain.knobs import KNOBS
from penstock.core.domain.policy_memory import PolicyMemory
from penstock.core.domain.prediction import Prediction
from penstock.core.domain.reading import Reading
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.knowledge.policy import Policy, decided_knobs, predicted_by
from penstock.core.knowledge.predicting import identified, latency_prediction, load_predictions
from penstock.core.knowledge.terms import Terms
from penstock.core.plan.effect import watch_effect
from penstock.core.plan.guards import guards_on
from penstock.core.plan.settle import follow_owner, settle, with_id
from penstock.core.plan.trust import phase_failed, watch_promises, watch_trust

ABOUT_RUNNING = ("capacity", "latency")
"""What can be graded of the configuration that runs while another is decided in shadow."""


def plan(
    knowledge: Knowledge, seen: Assessment | None, learned: Sequence[Event], at_s: float, terms: Terms, policy: Policy, *,
    fresh: bool, bottleneck: Callable[[Reading], Comparison],
) -> tuple[Knowledge, list[Event]]:  # fmt: skip
    """Return knowledge after planning. `fresh` is whether a reading came; `seen` is the assessment to decide by, if a decision is due."""
    knowledge, watched = watch_promises(knowledge, [event for event in learned if isinstance(event, Recovered)], at_s, terms)
    judges = fresh and guards_on(terms.autopilot, policy)
    knowledge, judged = watch_effect(knowledge, at_s, terms, bottleneck) if judges else (knowledge, [])
    knowledge, back = watch_trust(knowledge, at_s, terms)
    if seen is not None and fresh and is_due(knowledge, at_s, terms, policy):
        knowledge, decided = decide(knowledge, replace(seen, current=knowledge.steered(terms.autopilot.mode)), terms, policy)
    else:
        knowledge, decided = follow_owner(knowledge, at_s, terms, policy.name)
    return knowledge, [*watched, *judged, *back, *decided]


def is_due(knowledge: Knowledge, at_s: float, terms: Terms, policy: Policy | None = None) -> bool:
    """Return whether a decision is to be made now: it is allowed, a knob of the policy can be changed, and this is the reading nearest to its time."""
    reading = knowledge.last
    if terms.autopilot.mode == "observe" or knowledge.trust.paused is not None or reading is None or decided_knobs(policy) <= reading.unable.keys():
        return False
    return has_come(knowledge.schedule.next_s, at_s, terms)


def has_come(moment_s: float | None, at_s: float, terms: Terms) -> bool:
    """Return whether this is the reading nearest to a moment, or a later one; None has always come."""
    return moment_s is None or at_s >= moment_s - terms.config.reading_interval_s / 2


def decide(knowledge: Knowledge, seen: Assessment, terms: Terms, policy: Policy) -> tuple[Knowledge, list[Event]]:
    """Ask the policy, settle what it decides, and write it down with what is predicted of it."""
    at_s = seen.at_s
    try:
        settled = settle(knowledge, seen, checked(policy.decide(seen), policy.name, seen.reading), terms, policy)
        made, others = predictions_of(seen, settled.decision, policy, knowledge, terms) if settled.is_news else ((), ())
    except (Exception, SystemExit) as error:  # an owner's policy may call sys.exit(), which would end the thread of the loop without a word
        return phase_failed(knowledge, "plan", error, at_s, policy.name, policy.period_s)
    if not settled.is_news:
        return settled.knowledge, []
    knowledge, decision_id = with_id(settled.knowledge)
    capacity = next((each.value for each in made if each.kind == "capacity"), None)
    named = identified((*others, *made), f"decision {decision_id}", decision=decision_id, policy=settled.decision.policy)
    others, made = named[: len(others)], named[len(others) :]
    final, others = (settled.decision.chosen(made), others) if settled.decision.is_weighed else (settled.decision, named)
    decided = Decided(
        at_s=at_s, id=decision_id, mode=terms.autopilot.mode, policy=final.policy, decision=final, effect=settled.effect, others=others,
        load_rows_per_s=seen.load_rows_per_s, peak_rows_per_s=None if seen.forecast is None else seen.peak(math.inf),
        capacity_rows_per_s=capacity, capacity_why=capacity_why(knowledge, seen, settled.decision, capacity),
    )  # fmt: skip
    proposal = knowledge.proposals.open
    if settled.effect == "proposed" and proposal is not None:
        # A decision that repeats the open proposal takes it over: its predictions are the newest.
        knowledge = replace(knowledge, proposals=replace(knowledge.proposals, open=replace(proposal, decision_id=decision_id)))
    schedule = replace(knowledge.schedule, said_s=at_s)
    return replace(knowledge, schedule=schedule, predictions=(*knowledge.predictions, *decided.predictions)), [decided, *settled.events]


def checked(decision: Decision, policy: str, reading: Reading) -> Decision:
    """Return the decision without partitions that run already; raise for one that is not of this policy, out of bounds, or not readable from the history."""
    if decision.memory is not None and not isinstance(decision.memory, get_args(PolicyMemory)):
        raise TypeError(f"Decision.memory is a {type(decision.memory).__name__}: a policy of your own remembers an OwnMemory")
    if asked_policy(decision.policy) != policy:
        raise ValueError(f"Decision.policy is {decision.policy!r}: the policy's name is {policy!r}")
    try:
        decision = replace(decision, configuration=replace(decision.configuration, executors=index(decision.executors)))
    except TypeError:
        raise TypeError(f"Decision.configuration.executors is {decision.executors!r}: a whole number is allowed") from None
    if misfit := refuse_change(decision.change, decision.configuration):
        raise ValueError(misfit)
    for move in decision.change.moves:
        if KNOBS[move.knob].in_checkpoint and reading.configuration.of(move.address) == move.after:
            decision = replace(decision, configuration=decision.configuration.having(move.address, move.before))
    return decision


def predictions_of(
    seen: Assessment, decision: Decision, policy: Policy, knowledge: Knowledge, terms: Terms
) -> tuple[tuple[Prediction, ...], tuple[Prediction, ...]]:
    """Return what the model that judged the decision predicts of it, and what else is predicted: the load, and the latency that the guards go by.

    In shadow only the configuration that runs can be graded, so that is predicted too.
    """
    changes, configuration = decision.direction != "keep", decision.configuration
    made = predicted_by(policy, seen, configuration, decision.policy)
    others = (*load_predictions(seen, configuration), *(() if _has_latency(made) else _latency(seen, configuration, changes)))
    if terms.autopilot.mode == "shadow" and knowledge.desired != configuration:
        running = predicted_by(policy, seen, knowledge.desired, decision.policy)
        latency = () if _has_latency(running) else _latency(seen, knowledge.desired, changes)
        others = (*others, *(each for each in running if each.kind in ABOUT_RUNNING), *latency)
    return made, others


def _has_latency(made: Sequence[Prediction]) -> bool:
    return any(each.kind == "latency" for each in made)


def _latency(seen: Assessment, configuration: Configuration, changes: bool) -> tuple[Prediction, ...]:
    """Return the prediction of a configuration's latency; none if its queries are to run in another way than the model has seen."""
    if difference(seen.reading.configuration, configuration).queries:
        return ()
    return latency_prediction(seen, seen.latencies.get(configuration.executors), configuration, changes=changes)


def capacity_why(knowledge: Knowledge, seen: Assessment, decision: Decision, capacity_rows_per_s: float | None) -> str | None:
    """Return which model estimated the capacity that the policy decided by, and why that one, for people; None for another model of the policy's own."""
    if capacity_rows_per_s is None or capacity_rows_per_s != seen.capacity(decision.executors):
        return None
    choice = knowledge.learnt.capacity.choice(decision.executors, seen.cadence)
    return f"by {choice.model}: {choice.why}"
