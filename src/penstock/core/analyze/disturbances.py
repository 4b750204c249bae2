"""Rescales and failures: when they struck, what they took, and how long the job needed to recover."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from penstock.core.analyze.batch_failures import implied_delay_s, laws_of, outage_of
from penstock.core.analyze.capacities import carried_by
from penstock.core.analyze.forecasts import ROUNDING_S, points_since
from penstock.core.assessment import Assessment
from penstock.core.domain.instruction import Outcome
from penstock.core.domain.reading import Reading
from penstock.core.learnt import Learnt
from penstock.core.models.anomaly.disturbance import FAILURES, UNANNOUNCED, DisturbanceKind
from penstock.core.models.anomaly.keeping_up import FlowSeen
from penstock.core.models.anomaly.recovery_watch import RecoveryMeasured, RecoveryWatch
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.downtime import DowntimeSeen
from penstock.core.models.recovery.lessons import Surroundings, downtime_lesson
from penstock.core.models.recovery.recovery_cost import repeated_s
from penstock.core.steering import Rescale


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A failure that a reading shows, and when it struck."""

    kind: DisturbanceKind
    at_s: float


def kind_of(rescale: Rescale) -> DisturbanceKind:
    return "rescale_up" if rescale.after > rescale.before else "rescale_down"


def charged(learnt: Learnt, rescale: Rescale | None, outcomes: Iterable[Outcome]) -> Learnt:
    """Learn the cost of the rescale that has just ended: its downtime, or its duration if the job kept running; in that case its kind is marked as live."""
    for outcome in outcomes:
        if rescale is None or outcome.number != rescale.number or not outcome.done:
            continue
        kind = kind_of(rescale)
        took_s = outcome.took_s if outcome.down_s is None else outcome.down_s
        others = tuple(each for each in learnt.live if each != kind)
        learnt = replace(
            learnt,
            downtimes=learnt.downtimes.learn([DowntimeSeen(kind=kind, downtime_s=took_s)]),
            live=(*others, kind) if outcome.down_s is None else others,
        )
    return learnt


def told_of_rescale(learnt: Learnt, rescale: Rescale | None) -> Learnt:
    """The watch over recoveries knows of a rescale from the turn after it was asked for, before the readings show it."""
    if rescale is None or rescale.number <= learnt.rescale_number:
        return learnt
    return replace(learnt, health=learnt.health.disturbed(rescale.at_s, kind_of(rescale)), rescale_number=rescale.number)


def failure_in(learnt: Learnt, reading: Reading) -> Failure | None:
    """The failure that this reading is the first to count: of a query where one failed, else of an executor."""
    if reading.failures <= learnt.failures:
        return None
    of_queries = sum(query.failures for query in reading.queries) > learnt.query_failures
    return Failure(kind="query_restart" if of_queries else "executor_loss", at_s=reading.at_s - (reading.since_disturbance_s or 0.0))


def told_of_failures(learnt: Learnt, reading: Reading, failure: Failure | None, unseen_s: float) -> Learnt:
    """The counts of this reading, and the watch told of a failure: an anomaly that began within `unseen_s` of it, as near as readings can tell, is that one."""
    health = learnt.health.disturbed(failure.at_s, failure.kind, same_within_s=unseen_s) if failure else learnt.health
    return replace(learnt, health=health, failures=reading.failures, query_failures=sum(query.failures for query in reading.queries))


def is_calm(health: RecoveryWatch, at_s: float, interval_s: float) -> bool:
    """Whether this reading can be skipped: no recovery is open, and the watch had a reading less than `interval_s` ago."""
    return not health.open and bool(health.keeping_up.recent) and at_s - health.keeping_up.recent[-1][0] < interval_s - ROUNDING_S


def followed(learnt: Learnt, reading: Reading, window_s: float) -> tuple[Learnt, tuple[RecoveryMeasured, ...]]:
    """One more reading of the job's health, and the recoveries it completes.

    A reading is normal if the whole window before it was, so the job had recovered by the beginning of the first normal window; where that was no later
    than the disturbance, within half a window. A rescale that never showed in the readings needed no recovery.
    """
    shown = learnt.health.shown
    flow = FlowSeen(
        at_s=reading.at_s,
        workload_rows_per_s=reading.arrival_rows_per_s,
        throughput_rows_per_s=reading.throughput_rows_per_s,
        lag_rows=reading.excess_lag_rows,
    )
    health, measured = learnt.health.read(flow)
    began = (replace(each, recovered_s=max(each.started_s + window_s / 2, each.recovered_s - window_s)) for each in measured if shown or each.kind in FAILURES)
    return replace(learnt, health=health, excess_lag_rows=reading.excess_lag_rows or 0.0), tuple(began)


def taught(learnt: Learnt, measured: Iterable[RecoveryMeasured], seen: Assessment, executors: int, window_s: float) -> Learnt:
    """With the downtimes that failures must have had for these recoveries, by the arrivals measured; rescales tell theirs themselves.

    A recovery that no reading shows took less than a window, and so did its downtime: half of the longest that would not show, unless less is known.
    """
    lessons: list[DowntimeSeen | None] = []
    for each in measured:
        if each.kind == UNANNOUNCED or each.kind not in FAILURES or not each.alone:
            continue
        if each.recovery_s > window_s / 2:
            lessons.append(_implied(learnt, each, seen, executors))
            continue
        hidden = _implied(learnt, each, seen, executors) if laws_of(seen) is not None else DowntimeSeen(kind=each.kind, downtime_s=window_s)
        if hidden is not None and seen.downtimes_s[each.kind] > hidden.downtime_s / 2:
            lessons.append(replace(hidden, downtime_s=hidden.downtime_s / 2))
    return replace(learnt, downtimes=learnt.downtimes.learn([lesson for lesson in lessons if lesson is not None]))


def _implied(learnt: Learnt, measured: RecoveryMeasured, seen: Assessment, executors: int) -> DowntimeSeen | None:
    capacity, repeats_s = carried_by(seen, executors), repeated_s(seen)
    points = points_since(learnt.load.series, measured.started_s - repeats_s)
    if not points or measured.kind == UNANNOUNCED:
        return None
    arrivals, laws = Arrivals.joined(points, ()), laws_of(seen)
    if laws is not None:
        outage = outage_of(seen, executors, measured.started_s, measured.kind)
        delay_s = implied_delay_s(laws.best, arrivals, outage, measured.recovered_s)
        return None if delay_s is None else DowntimeSeen(kind=measured.kind, downtime_s=delay_s)
    if capacity is None or capacity.value <= 0:
        return None
    return downtime_lesson(measured, Surroundings(arrivals=arrivals, interval_s=repeats_s, scaleout=executors, capacity_rows_per_s=capacity.value))
