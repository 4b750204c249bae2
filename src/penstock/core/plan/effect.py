"""Whether more executors helped: a scale-up in overload that had no effect is taken back, and the bottleneck is named."""

from collections.abc import Callable
from dataclasses import replace

from penstock.core.domain.configuration import Change, Configuration, difference
from penstock.core.domain.decision import Comparison, Decision
from penstock.core.domain.events.autopilot_events import ScalingIneffective
from penstock.core.domain.events.event import Event
from penstock.core.domain.reading import Reading
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.knowledge.steering import Blocked, Effects, Trial
from penstock.core.knowledge.terms import Terms
from penstock.core.plan.owner import allowed_now, owner_allows


def with_trial(effects: Effects, reading: Reading, before: Configuration, after: Configuration, decision_id: int | None, at_s: float) -> Effects:
    """Return effects that watch this change if it is a scale-up in overload; one that follows another is judged together with it."""
    if after.executors == before.executors:
        return effects
    if after.executors < before.executors:
        return replace(effects, trial=None)
    if (trial := effects.trial) is not None:
        return replace(effects, trial=replace(trial, decision_id=decision_id, after=difference(before, after).on(trial.after), since_s=at_s))
    if not reading.excess_lag_rows or not reading.throughput_rows_per_s:
        return effects
    was, throughput = before.known_in(reading.configuration), reading.throughput_rows_per_s
    return replace(effects, trial=Trial(decision_id=decision_id, before=was, after=after, throughput_before_rows_per_s=throughput, since_s=at_s))


def watch_effect(knowledge: Knowledge, at_s: float, terms: Terms, bottleneck: Callable[[Reading], Comparison]) -> tuple[Knowledge, list[Event]]:
    """Judge the scale-up under trial once it has settled; `bottleneck` finds in a reading what else holds the job back."""
    effects, trial, reading = knowledge.effects, knowledge.effects.trial, knowledge.last
    if trial is None or reading is None:
        return knowledge, []
    before, after = trial.before.executors, trial.after.executors
    if knowledge.desired.executors != after or reading.excess_lag_rows == 0:
        return replace(knowledge, effects=replace(effects, trial=None)), []
    if reading.executors_running < after or knowledge.is_rescaling:
        return replace(knowledge, effects=replace(effects, trial=replace(trial, since_s=at_s))), []
    throughput = reading.throughput_rows_per_s
    if throughput is None or not can_be_judged(reading, trial, at_s, terms):
        return knowledge, []
    if throughput / trial.throughput_before_rows_per_s - 1 >= terms.autopilot.least_gain * (after / before - 1):
        return replace(knowledge, effects=replace(effects, trial=None)), []
    found = bottleneck(reading)
    if found.limit is None:
        found = replace(found, limit=trial.throughput_before_rows_per_s)
    return taken_back(knowledge, trial, found, at_s, terms)


def can_be_judged(reading: Reading, trial: Trial, at_s: float, terms: Terms) -> bool:
    """Return whether the executors under trial have settled and are saturated: a whole window of work waits."""
    window_s, since_disturbance_s = terms.config.reading_window_s, reading.since_disturbance_s
    undisturbed_s = at_s - trial.since_s if since_disturbance_s is None else min(at_s - trial.since_s, since_disturbance_s)
    settled = undisturbed_s >= max(terms.autopilot.scaled(terms.autopilot.settled_s), 2 * window_s)
    return settled and reading.has_work_for(window_s) and begun_since(reading, trial.since_s, window_s)


def begun_since(reading: Reading, since_s: float, window_s: float) -> bool:
    """Return whether the reading shows only batches that began after `since_s`: rows count when their batch commits, and in overload a batch takes long.

    A query for which nothing waits has no batch to wait for.
    """
    return all(
        query.batch is not None and query.since_commit_s is not None and reading.at_s - query.since_commit_s - query.batch.total_s - window_s >= since_s
        for query in reading.queries
        if query.trigger.kind != "real_time" and query.lag_rows != 0
    )


def taken_back(knowledge: Knowledge, trial: Trial, found: Comparison, at_s: float, terms: Terms) -> tuple[Knowledge, list[Event]]:
    """Return knowledge with the configuration before the trial, as far as operator and owner allow it, and more executors blocked for a while.

    Only knobs that still have the value of the decisions on trial go back. The bottleneck is named in any case: more executors are no remedy. Where
    the owner allows only a step back, the rest is on trial again.
    """
    assert knowledge.last is not None and knowledge.last.throughput_rows_per_s is not None
    before, after = trial.before.executors, trial.after.executors
    back = Decision(policy="", configuration=replace(trial.after, executors=before), current=trial.after, why=found)
    executors = owner_allows(back, allowed_now(terms, knowledge.last, at_s)).executors
    kept = knowledge.is_held("executors") or knowledge.trust.paused is not None or executors >= after
    rest = None if kept or executors <= before else replace(trial, after=replace(trial.after, executors=executors), since_s=at_s)
    blocked = Blocked(configuration=trial.before, until_s=at_s + terms.autopilot.scaled(terms.autopilot.blocked_s), bottleneck=found.code)
    said = ScalingIneffective(
        at_s=at_s, decision_id=trial.decision_id, change=difference(trial.before, trial.after), throughput_before_rows_per_s=trial.throughput_before_rows_per_s,
        throughput_after_rows_per_s=knowledge.last.throughput_rows_per_s, bottleneck=found, kept=kept,
    )  # fmt: skip
    knowledge = replace(knowledge, effects=Effects(trial=rest, blocked=blocked))
    moves = difference(trial.after, trial.before).moves
    own = Change(moves=tuple(move for move in moves if move.address in knowledge.authors and not knowledge.is_held(move.address)))
    return knowledge if kept else knowledge.wanting(replace(own.on(knowledge.desired), executors=executors)), [said]
