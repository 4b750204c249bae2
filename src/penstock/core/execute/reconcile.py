"""Give instructions for all that differs from the desired configuration, in every turn, at most one at a time for each target."""

from collections.abc import Iterator
from dataclasses import replace

from penstock.core.config import Config
from penstock.core.domain.configuration import Change, Move, moved_in
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.executor_events import ExecutorsComplete, ExecutorsMissing
from penstock.core.domain.events.steering_events import InstructionGiven
from penstock.core.domain.instruction import Instruction
from penstock.core.domain.knobs import KNOBS
from penstock.core.domain.reading import Reading
from penstock.core.knowledge.knowledge import Author, Knowledge, Missing, Pending
from penstock.core.knowledge.steering import Applied

RUNNING = "running"
"""The state in which a query can be changed."""
LAST_APPLIED = 8
"""Changes that are remembered, besides those under way and the last rescale: recoveries refer to them."""


def execute(knowledge: Knowledge, at_s: float, config: Config) -> tuple[Knowledge, list[Instruction], list[Event]]:
    """Report executors that are missing, and give the instructions that lead from the last reading to the desired configuration."""
    knowledge, noticed = watch_executors(knowledge, at_s, config)
    knowledge, instructions, given = reconcile(knowledge, at_s)
    return knowledge, instructions, [*noticed, *given]


def reconcile(knowledge: Knowledge, at_s: float) -> tuple[Knowledge, list[Instruction], list[Event]]:
    reading = knowledge.last
    if reading is None:
        return knowledge, [], []
    busy = {target for pending in knowledge.pending for target in pending.instruction.targets}
    # A standalone cluster starts with all it may have, and an executor that was given up may still arrive: what is too many leaves.
    stuck = knowledge.missing.stuck if reading.executors_running > knowledge.desired.executors else 0
    instructions: list[Instruction] = []
    for change in together(reading, list(changes(knowledge, reading, stuck))):
        step = Instruction(number=knowledge.next_number + len(instructions), decision=decision_of(knowledge, reading, change), change=change)
        if busy.isdisjoint(step.targets):
            instructions.append(step)
    if not instructions and stuck == knowledge.missing.stuck:
        return knowledge, [], []
    pending = (*knowledge.pending, *(Pending(instruction=step, since_s=at_s) for step in instructions))
    events: list[Event] = [given_event(knowledge, reading, step, at_s) for step in instructions]
    knowledge = replace(knowledge, pending=pending, next_number=knowledge.next_number + len(instructions), missing=replace(knowledge.missing, stuck=stuck))
    return with_applied(knowledge, reading, instructions, at_s), instructions, events


def changes(knowledge: Knowledge, reading: Reading, stuck: int) -> Iterator[Change]:
    """Return what differs from the desired configuration: a change of the executors, one of each other knob of the job, and one of each query."""
    wanted = knowledge.desired.executors
    if "executors" not in reading.unable and (reading.executors_requested != wanted or reading.executors_running > max(wanted, stuck)):
        most = max(reading.executors_requested, reading.executors_running)
        yield Change(moves=(Move(knob="executors", before=most if most != wanted else reading.executors_requested, after=wanted),))
    of_job = moved_in("", reading.configuration, knowledge.desired).moves
    yield from (Change(moves=(move,)) for move in of_job if move.knob not in ("executors", *reading.unable))
    for query in reading.queries:
        desired = knowledge.desired.queries.get(query.name)
        if desired is None or query.state != RUNNING:
            continue
        running = ((knob, getattr(query, knob.field)) for knob in KNOBS.values() if knob.scope == "query")
        as_it_runs = {knob.field: value for knob, value in running if knob.name in query.unable or (knob.in_checkpoint and value is None)}
        if change := moved_in(query.name, query, replace(desired, **as_it_runs)):
            yield change


def together(reading: Reading, found: list[Change]) -> list[Change]:
    """Return the changes by instruction: what stops the same queries is one, so that they stop once.

    Executors are taken from queries in Real-Time Mode while these are stopped, as their tasks never end.
    """
    rescale = next((change for change in found if change.executors is not None), None)
    flowing = {query.name for query in reading.queries if query.trigger.kind == "real_time" and query.state == RUNNING}
    if rescale is None or rescale.executors is None or rescale.executors[1] >= reading.executors_running:
        return found
    merged = [rescale, *(change for change in found if flowing.intersection(change.queries))]
    return [Change(moves=tuple(move for change in merged for move in change.moves)), *(change for change in found if change not in merged)]


def decision_of(knowledge: Knowledge, reading: Reading, change: Change) -> int | None:
    """Return the decision that wants this change; None if an operator holds all of it, or nothing but the declaration wants it."""
    author = author_of(knowledge, reading, change)
    return None if author is None else author.decision_id


def author_of(knowledge: Knowledge, reading: Reading, change: Change) -> Author | None:
    """Return the newest decision about what differs and is not held; executors that were lost, or are too many, have no author."""
    running = reading.configuration
    wanted = (move.address for move in change.moves if running.of(move.address) != move.after and not knowledge.is_held(move.address))
    return max((knowledge.authors[address] for address in wanted if address in knowledge.authors), key=lambda each: each.decision_id, default=None)


def holder_of(knowledge: Knowledge, change: Change) -> str:
    """Return the operator who holds one of these values; empty if none does."""
    moved = {move.address for move in change.moves}
    return next((hold.who for hold in knowledge.holds if hold.knob in moved), "")


def given_event(knowledge: Knowledge, reading: Reading, step: Instruction, at_s: float) -> InstructionGiven:
    holder, author = holder_of(knowledge, step.change), author_of(knowledge, reading, step.change)
    reason = f"held by {holder}" if holder else f"decided by {author.policy}" if author else "desired state"
    repeats = step.change.executors is not None and step.change.executors[1] == reading.executors_requested
    return InstructionGiven(at_s=at_s, number=step.number, decision_id=step.decision, knob=step.target, change=step.change, reason=reason, repeats=repeats)


def with_applied(knowledge: Knowledge, reading: Reading, instructions: list[Instruction], at_s: float) -> Knowledge:
    """Remember what was just instructed. In shadow the policy's own timer does not run from what others do.

    What happens before the first batch is the start of the job, in which a standalone cluster gives more than was asked for: no rescale.
    """
    schedule = knowledge.schedule
    if not instructions or schedule.mode == "observe" or not has_committed(reading):
        return knowledge
    given = (Applied(number=step.number, decision_id=step.decision, change=step.change, at_s=at_s) for step in instructions)
    rescaled = any(step.change.executors is not None for step in instructions) and schedule.mode != "shadow"
    applied = (*knowledge.applied, *given)
    awaited = {pending.instruction.number for pending in knowledge.pending}
    rescale = next((each.number for each in reversed(applied) if each.change.executors is not None), None)
    kept = tuple(each for place, each in enumerate(applied, LAST_APPLIED - len(applied)) if place >= 0 or each.number in awaited or each.number == rescale)
    return replace(knowledge, applied=kept, schedule=replace(schedule, rescaled_s=at_s) if rescaled else schedule)


def has_committed(reading: Reading) -> bool:
    """Return whether any query has committed a batch; a query without input may never have a throughput, and then neither has the job."""
    return reading.throughput_rows_per_s is not None or any(query.throughput_rows_per_s is not None for query in reading.queries)


def watch_executors(knowledge: Knowledge, at_s: float, config: Config) -> tuple[Knowledge, list[Event]]:
    """Report executors that are missing for longer than the time-out, once, and report when all run again."""
    if knowledge.last is None or "executors" in knowledge.last.unable or knowledge.is_rescaling:
        return knowledge, []
    running, wanted, missing = knowledge.last.executors_running, knowledge.desired.executors, knowledge.missing
    if running >= wanted:
        if missing.since_s is None and not missing.reported:
            return knowledge, []
        back: list[Event] = [ExecutorsComplete(at_s=at_s, running=running)] if missing.reported else []
        return replace(knowledge, missing=Missing(stuck=missing.stuck)), back
    since_s = at_s if missing.since_s is None else missing.since_s
    if missing.reported or at_s - since_s < config.executors_timeout_s:
        return knowledge if since_s == missing.since_s else replace(knowledge, missing=replace(missing, since_s=since_s)), []
    author = knowledge.authors.get("executors")
    said = ExecutorsMissing(at_s=at_s, requested=wanted, running=running, waited_s=at_s - since_s, decision_id=None if author is None else author.decision_id)
    return replace(knowledge, missing=replace(missing, since_s=since_s, reported=True)), [said]
