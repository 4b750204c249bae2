"""Ask for whatever differs from what is desired, one instruction a knob at a time, every turn anew."""

from __future__ import annotations

from dataclasses import replace

from penstock.core.domain.events.event import Event
from penstock.core.domain.events.steering import InstructionGiven
from penstock.core.domain.instruction import ChangeQuery, Instruction, ScaleExecutors
from penstock.core.domain.reading import QueryReading
from penstock.core.domain.units import count_words
from penstock.core.knowledge import Knowledge, Pending

STEERABLE = ("running",)
KNOBS = ("trigger", "rate-limit", "partitions")
"""Those of a query."""


def reconcile(knowledge: Knowledge, at_s: float) -> tuple[Knowledge, list[Instruction], list[Event]]:
    reading = knowledge.last
    if reading is None:
        return knowledge, [], []
    busy = {pending.instruction.knob for pending in knowledge.pending}
    number = knowledge.next_number
    given: list[tuple[Instruction, InstructionGiven]] = []

    wanted = knowledge.desired.executors
    # A standalone cluster starts with all it may have, and an executor that was given up may still arrive: what is too many leaves.
    stuck = knowledge.stuck_executors if reading.executors_running > wanted else 0
    differs = reading.executors_requested != wanted or reading.executors_running > max(wanted, stuck)
    if "executors" not in busy and differs and "executors" not in reading.unable:
        step = ScaleExecutors(number=number + len(given), executors=wanted)
        given.append(
            (step, explained(step, at_s, str(max(reading.executors_requested, reading.executors_running)), str(wanted), reason(knowledge, "executors")))
        )
    for query in reading.queries:
        change = change_of(knowledge, query, number + len(given))
        if change is None or change.knob in busy or query.state not in STEERABLE:
            continue
        before, after = settings_words(query, change)
        given.append((change, explained(change, at_s, before, after, reason(knowledge, *(f"{k}:{query.name}" for k in KNOBS)))))
    if not given and stuck == knowledge.stuck_executors:
        return knowledge, [], []
    pending = (*knowledge.pending, *(Pending(instruction=step, since_s=at_s) for step, _ in given))
    knowledge = replace(knowledge, pending=pending, next_number=number + len(given), stuck_executors=stuck)
    return knowledge, [step for step, _ in given], [event for _, event in given]


def reason(knowledge: Knowledge, *knobs: str) -> str:
    """Who wants it so: an operator, the policy, or whoever declared it."""
    holders = [hold.who for hold in knowledge.holds if hold.knob in knobs]
    if holders:
        return f"held by {holders[0]}"
    last, acts = knowledge.steering.last, knowledge.steering.mode in ("ask", "active")
    asked = knowledge.last is not None and knowledge.last.executors_requested != knowledge.desired.executors
    decided = last is not None and acts and asked and "executors" in knobs and last.executors == knowledge.desired.executors
    return f"decided by {last.policy}" if last is not None and decided else "desired state"


def change_of(knowledge: Knowledge, query: QueryReading, number: int) -> ChangeQuery | None:
    """What would make this query as desired, or None if it is."""
    desired = knowledge.desired
    if query.name not in desired.triggers:
        return None
    trigger = query.trigger if "trigger" in query.unable else desired.triggers[query.name]
    limit = query.rate_limit_rows_per_s if "rate-limit" in query.unable else desired.rate_limits_rows_per_s.get(query.name)
    partitions = desired.partitions.get(query.name)
    if partitions == query.partitions or query.partitions is None or "partitions" in query.unable:
        partitions = None
    if trigger == query.trigger and limit == query.rate_limit_rows_per_s and partitions is None:
        return None
    return ChangeQuery(number=number, query=query.name, trigger=trigger, rate_limit_rows_per_s=limit, partitions=partitions)


def settings_words(query: QueryReading, change: ChangeQuery) -> tuple[str, str]:
    """The settings that change, before and after, in words."""

    def limit(rows_per_s: float | None) -> str:
        return "no limit" if rows_per_s is None else f"limit {count_words(rows_per_s)}/s"

    pairs = []
    if change.trigger != query.trigger:
        pairs.append((f"trigger {query.trigger}", f"trigger {change.trigger}"))
    if change.rate_limit_rows_per_s != query.rate_limit_rows_per_s:
        pairs.append((limit(query.rate_limit_rows_per_s), limit(change.rate_limit_rows_per_s)))
    if change.partitions is not None:
        pairs.append((f"{query.partitions} partitions", f"{change.partitions} partitions"))
    return ", ".join(before for before, _ in pairs), ", ".join(after for _, after in pairs)


def explained(step: Instruction, at_s: float, before: str, after: str, reason: str) -> InstructionGiven:
    return InstructionGiven(at_s=at_s, number=step.number, knob=step.knob, before=before, after=after, reason=reason)
