"""Whether more executors helped: a scale-up in overload that brought nothing is taken back, and what holds the job back is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from penstock.core.domain.decision import Comparison, Decision
from penstock.core.domain.events.autopilot import ScalingIneffective
from penstock.core.domain.events.event import Event
from penstock.core.domain.reading import Reading
from penstock.core.knowledge import Knowledge, with_executors
from penstock.core.plan.adopt import is_held
from penstock.core.plan.owner import allowed_now, owner_allows
from penstock.core.steering import Blocked, Steering, Trial
from penstock.core.terms import Terms

SETTLED_S = 120.0
"""A new size is judged when it has stood for so long, and for two windows of readings."""

LEAST_GAIN = 0.1
"""A scale-up counts as effective if throughput grew by at least this share of what proportional growth would have added."""

BLOCKED_S = 1800.0


def with_trial(steering: Steering, reading: Reading, before: int, after: int, at_s: float) -> Steering:
    """Steering that watches this change if it is a scale-up in overload; one that follows another is judged together with it."""
    if after <= before:
        return replace(steering, trial=None)
    if steering.trial is not None:
        return replace(steering, trial=replace(steering.trial, after=after, since_s=at_s))
    if not reading.excess_lag_rows or not reading.throughput_rows_per_s:
        return steering
    return replace(steering, trial=Trial(before=before, after=after, throughput_before_rows_per_s=reading.throughput_rows_per_s, since_s=at_s))


def watch_effect(knowledge: Knowledge, at_s: float, terms: Terms, bottleneck: Callable[[Reading], Comparison]) -> tuple[Knowledge, list[Event]]:
    """Judge the scale-up under trial once its size has settled; `bottleneck` tells from a reading what else holds the job back."""
    steering, trial, reading = knowledge.steering, knowledge.steering.trial, knowledge.last
    if trial is None or reading is None:
        return knowledge, []
    if knowledge.desired.executors != trial.after or reading.excess_lag_rows == 0:
        return replace(knowledge, steering=replace(steering, trial=None)), []
    if reading.executors_running < trial.after or knowledge.is_rescaling:
        return replace(knowledge, steering=replace(steering, trial=replace(trial, since_s=at_s))), []
    throughput = reading.throughput_rows_per_s
    if throughput is None or not can_be_judged(reading, trial, at_s, terms):
        return knowledge, []
    if throughput / trial.throughput_before_rows_per_s - 1 >= LEAST_GAIN * (trial.after / trial.before - 1):
        return replace(knowledge, steering=replace(steering, trial=None)), []
    found = bottleneck(reading)
    if found.limit is None:
        found = replace(found, limit=trial.throughput_before_rows_per_s)
    return taken_back(knowledge, trial, found, at_s, terms)


def can_be_judged(reading: Reading, trial: Trial, at_s: float, terms: Terms) -> bool:
    """Whether the size under trial has settled, and shows all that it can do: with a whole window of work before it."""
    window_s, since_disturbance_s = terms.config.reading_window_s, reading.since_disturbance_s
    undisturbed_s = at_s - trial.since_s if since_disturbance_s is None else min(at_s - trial.since_s, since_disturbance_s)
    settled = undisturbed_s >= max(terms.autopilot.scaled(SETTLED_S), 2 * window_s)
    return settled and reading.has_work_for(window_s) and begun_since(reading, trial.since_s, window_s)


def begun_since(reading: Reading, since_s: float, window_s: float) -> bool:
    """Whether the reading shows only batches that began after that: rows count when their batch commits, and in overload a batch takes long.

    Of a query for which nothing waits no batch is waited for.
    """
    return all(
        query.batch is not None and query.since_commit_s is not None and reading.at_s - query.since_commit_s - query.batch.total_s - window_s >= since_s
        for query in reading.queries
        if query.trigger.kind != "real_time" and query.lag_rows != 0
    )


def taken_back(knowledge: Knowledge, trial: Trial, found: Comparison, at_s: float, terms: Terms) -> tuple[Knowledge, list[Event]]:
    """Knowledge with the size before the trial, as far as operator and owner allow it, and with no way up from there for a while.

    What holds the job back is named in any case: more executors are no remedy, whoever keeps them. Where the owner allows only a step back, what is left is
    on trial again.
    """
    back = Decision(policy="", executors=trial.before, current=trial.after, why=found)
    executors = owner_allows(back, allowed_now(terms, knowledge.last, at_s)).executors
    kept = is_held(knowledge) or knowledge.steering.paused is not None or executors >= trial.after
    rest = None if kept or executors <= trial.before else replace(trial, after=executors, since_s=at_s)
    blocked = Blocked(executors=trial.before, until_s=at_s + terms.autopilot.scaled(BLOCKED_S), bottleneck=found.code)
    knowledge = replace(knowledge, steering=replace(knowledge.steering, trial=rest, blocked=blocked))
    assert knowledge.last is not None and knowledge.last.throughput_rows_per_s is not None
    said = ScalingIneffective(
        at_s=at_s,
        before=trial.before,
        after=trial.after,
        throughput_before_rows_per_s=trial.throughput_before_rows_per_s,
        throughput_after_rows_per_s=knowledge.last.throughput_rows_per_s,
        bottleneck=found,
        kept=kept,
    )
    return knowledge if kept else with_executors(knowledge, executors), [said]
