"""Take in the outcomes of earlier instructions: close them, learn their cost, and drop what failed from the desired configuration."""

from collections.abc import Sequence
from dataclasses import replace

from penstock.core.domain.configuration import Change, Configuration
from penstock.core.domain.disturbance import RESCALES
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.executor_events import ExecutorsMissing
from penstock.core.domain.events.steering_events import HoldEnded, InstructionDone, InstructionFailed
from penstock.core.domain.instruction import MISSING, Outcome
from penstock.core.domain.knobs import KNOBS
from penstock.core.knowledge.knowledge import Knowledge, Pending, still_held
from penstock.core.knowledge.learnt import Learnt
from penstock.core.knowledge.steering import Applied
from penstock.core.models.recovery.downtime import DowntimeSeen


def take_outcomes(knowledge: Knowledge, outcomes: Sequence[Outcome], at_s: float) -> tuple[Knowledge, list[Event]]:
    """Close the instructions that ended.

    One that failed is not repeated: its values are no longer desired, except for executors that have not started yet, which may still start.
    """
    events: list[Event] = []
    for outcome in outcomes:
        pending = next((each for each in knowledge.pending if each.instruction.number == outcome.number), None)
        if pending is None:
            continue
        knowledge = replace(knowledge, pending=tuple(each for each in knowledge.pending if each is not pending))
        before = knowledge.holds
        knowledge, said = done(knowledge, pending, outcome, at_s) if outcome.done else undone(knowledge, pending, outcome, at_s)
        over = (hold for hold in before if hold not in knowledge.holds)
        events += [said, *(HoldEnded(at_s=at_s, knob=hold.knob, value=hold.value, how="failed", who=hold.who) for hold in over)]
    return knowledge, events


def done(knowledge: Knowledge, pending: Pending, outcome: Outcome, at_s: float) -> tuple[Knowledge, Event]:
    instruction = pending.instruction
    said = InstructionDone(
        at_s=at_s, number=outcome.number, decision_id=instruction.decision, knob=instruction.target, took_s=outcome.took_s,
        delayed_rows=outcome.delayed_rows, note=outcome.reason,
    )  # fmt: skip
    applied = next((each for each in knowledge.applied if each.number == outcome.number), None)
    learnt = knowledge.learnt if applied is None else charged(knowledge.learnt, applied, outcome)
    return replace(knowledge, learnt=learnt, desired=in_the_checkpoint(knowledge.desired, instruction.change)), said


def undone(knowledge: Knowledge, pending: Pending, outcome: Outcome, at_s: float) -> tuple[Knowledge, Event]:
    instruction = pending.instruction
    executors, missing = instruction.change.executors, outcome.reason == MISSING
    worked = Change(moves=tuple(move for move in instruction.change.moves if outcome.failed and move.address not in outcome.failed))
    # Executors that are still there were not given away; the policy's timer runs on, so that the change is not tried again at once.
    if instruction.decision is not None and instruction.change.may_harm and not worked.may_harm:
        knowledge = replace(knowledge, trust=replace(knowledge.trust, own_scale_down_s=None))
    knowledge = forgotten(knowledge, next((each for each in knowledge.applied if each.number == outcome.number), None), worked)
    if executors is not None and (missing or worked.executors):
        knowledge = replace(knowledge, missing=replace(knowledge.missing, since_s=pending.since_s, reported=missing))
    if executors is not None and missing:
        running = knowledge.last.executors_running if knowledge.last else 0
        return knowledge, ExecutorsMissing(
            at_s=at_s, requested=executors[1], running=running, waited_s=outcome.took_s, number=outcome.number, decision_id=instruction.decision
        )
    said = InstructionFailed(
        at_s=at_s, number=outcome.number, decision_id=instruction.decision, knob=instruction.target, took_s=outcome.took_s, reason=outcome.reason
    )
    return as_it_is(knowledge, instruction.change, outcome.failed), said


def forgotten(knowledge: Knowledge, applied: Applied | None, worked: Change) -> Knowledge:
    """Return knowledge without the part of a change that failed; one that failed completely is no disturbance, and its prediction is not graded."""
    if applied is None or worked:
        return replace(knowledge, applied=tuple(replace(each, change=worked) if each is applied else each for each in knowledge.applied))
    return replace(
        knowledge,
        applied=tuple(each for each in knowledge.applied if each is not applied),
        learnt=replace(knowledge.learnt, health=knowledge.learnt.health.without(applied.cause)),
        predictions=tuple(each for each in knowledge.predictions if each.cause != applied.cause),
    )


def charged(learnt: Learnt, applied: Applied, outcome: Outcome) -> Learnt:
    """Learn the cost of a change that ended: its downtime, or its duration if the job kept running; a rescale is then marked as live.

    What is done within the stop of a rescale is charged to the rescale alone.
    """
    took_s, costs = outcome.took_s if outcome.down_s is None else outcome.down_s, applied.change.costs
    kind = next((each for each in costs if each in RESCALES), next(iter(costs), None))
    if kind is None:
        return learnt
    others = tuple(each for each in learnt.live if each != kind)
    downtimes = learnt.downtimes.learn([DowntimeSeen(kind=kind, downtime_s=took_s)])
    return replace(learnt, downtimes=downtimes, live=(*others, kind) if outcome.down_s is None else others)


def in_the_checkpoint(desired: Configuration, change: Change) -> Configuration:
    """Return the desired configuration without changed partitions: these are in the checkpoint, and no reading shows them before the next commit."""
    for move in change.moves:
        if KNOBS[move.knob].in_checkpoint and desired.of(move.address) == move.after:
            desired = desired.having(move.address, None)
    return desired


def as_it_is(knowledge: Knowledge, change: Change, failed: tuple[str, ...] = ()) -> Knowledge:
    """Return knowledge that desires the values of the last reading in place of those that failed; their holds end. Newer values stay desired.

    `failed` are the knobs that were not set, all of them if empty.
    """
    seen, desired, missing = knowledge.last, knowledge.desired, knowledge.missing
    if seen is None:
        return knowledge
    running = seen.configuration
    for move in change.moves:
        if failed and move.address not in failed:
            continue
        if desired.of(move.address) != move.after or (move.query and move.query not in running.queries):
            continue
        if move.knob == "executors":
            missing = replace(missing, stuck=seen.executors_running)
        desired = desired.having(move.address, None if KNOBS[move.knob].in_checkpoint else running.of(move.address))
    return replace(knowledge, desired=desired, holds=still_held(desired, knowledge), missing=missing)
