"""Rescales and failures: when they happened, their downtime, and how long the job needed to recover."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.core.analyze.capacities import carried_by
from penstock.core.analyze.forecasts import ROUNDING_S, points_since
from penstock.core.domain.disturbance import FAILURES, UNANNOUNCED, DisturbanceKind
from penstock.core.domain.reading import Reading
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.learnt import Learnt
from penstock.core.knowledge.steering import Applied
from penstock.core.models.anomaly.keeping_up import FlowSeen
from penstock.core.models.anomaly.recovery_watch import RecoveryMeasured, RecoveryWatch
from penstock.core.models.capacity.batch_law import BatchLaw, LikelyLaws
from penstock.core.models.estimate import Estimate, combined
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.batch_recovery import REPLACED_AFTER_S, BatchOutage, recovery_by_batches_s, settled_batch_s
from penstock.core.models.recovery.downtime import DowntimeSeen
from penstock.core.models.recovery.lessons import Surroundings, downtime_lesson, recovery_lesson
from penstock.core.models.recovery.predicted_recovery import RecoveryModel, by_regression
from penstock.core.models.recovery.recovery_cost import repeated_s
from penstock.core.models.recovery.recovery_regression import RecoveryRegression, RecoverySeen, RecoveryTable
from penstock.core.models.surrogate.study import LEAST_ROWS


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A failure that a reading shows: its kind, its time, and its number among all failures of the job."""

    kind: DisturbanceKind
    at_s: float
    number: int = 1

    @property
    def cause(self) -> str:
        """The identity of the disturbance that it is."""
        return f"failure {self.number}"


def knowing_applied(learnt: Learnt, applied: Sequence[Applied]) -> tuple[Learnt, tuple[Applied, ...]]:
    """Return models that include the changes instructed since the last turn, before readings show them, and these changes."""
    new = tuple(each for each in applied if each.number > learnt.applied_number)
    for each in new:
        health = learnt.health
        for kind in each.change.costs:
            health = health.disturbed(each.at_s, kind, cause=each.cause)
        learnt = replace(learnt, health=health, applied_number=each.number)
    return learnt, new


def failure_in(learnt: Learnt, reading: Reading) -> Failure | None:
    """Return the failure that this reading is the first to count: of a query where one failed, else of an executor.

    An executor was lost before another one came in its place, which may be the last disturbance.
    """
    if reading.failures <= learnt.failures:
        return None
    disturbed_s, number = reading.at_s - (reading.since_disturbance_s or 0.0), learnt.failure_number + 1
    if reading.query_failures > learnt.query_failures:
        return Failure(kind="query_restart", at_s=disturbed_s, number=number)
    recent, came_s = learnt.health.keeping_up.recent, max((reading.at_s - each.uptime_s for each in reading.executors), default=-math.inf)
    is_replaced = bool(recent) and came_s > recent[-1][0] and reading.executors_running >= reading.executors_requested
    return Failure(kind="executor_loss", at_s=min(disturbed_s, came_s - REPLACED_AFTER_S) if is_replaced else disturbed_s, number=number)


def knowing_failure(learnt: Learnt, reading: Reading, failure: Failure | None, unseen_s: float) -> Learnt:
    """Return models with the counts of this reading and its failure; an anomaly that began within `unseen_s` of the failure is the same disturbance."""
    health = learnt.health.disturbed(failure.at_s, failure.kind, cause=failure.cause, same_within_s=unseen_s) if failure else learnt.health
    number = learnt.failure_number if failure is None else failure.number
    return replace(learnt, health=health, failures=reading.failures, query_failures=reading.query_failures, failure_number=number)


def is_calm(health: RecoveryWatch, at_s: float, interval_s: float) -> bool:
    """Return whether this reading can be skipped: no recovery is open, and the watch had a reading less than `interval_s` ago."""
    return not health.open and bool(health.keeping_up.recent) and at_s - health.keeping_up.recent[-1][0] < interval_s - ROUNDING_S


def followed(learnt: Learnt, reading: Reading, window_s: float) -> tuple[Learnt, tuple[RecoveryMeasured, ...]]:
    """Return models after one more reading of the job's health, and the recoveries it completes.

    A reading is normal if the whole window before it was, so the job had recovered by the beginning of the first normal window; where that was no later
    than the disturbance, within half a window. A rescale that never showed in the readings needed no recovery.
    """
    shown = learnt.health.shown
    flow = FlowSeen(
        at_s=reading.at_s, workload_rows_per_s=reading.arrival_rows_per_s, throughput_rows_per_s=reading.throughput_rows_per_s, lag_rows=reading.excess_lag_rows
    )
    health, measured = learnt.health.read(flow)
    began = (replace(each, recovered_s=max(each.started_s + window_s / 2, each.recovered_s - window_s)) for each in measured if shown or each.kind in FAILURES)
    return replace(learnt, health=health, excess_lag_rows=reading.excess_lag_rows or 0.0), tuple(began)


def taught(learnt: Learnt, measured: Iterable[RecoveryMeasured], seen: Assessment, executors: int, window_s: float) -> Learnt:
    """Return models that learn the downtimes of failures, inferred from these recoveries and the arrivals; downtimes of rescales are measured.

    A recovery that no reading shows took less than a window: its downtime is half of the longest that would not show, unless a shorter one is known.
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
    return downtime_lesson(measured, Surroundings(arrivals=arrivals, interval_s=repeats_s, executors=executors, capacity_rows_per_s=capacity.value))


SETTLED_S = 0.01
"""Seconds to which a downtime is searched for. Where batches wait for their trigger, a longer one may end a hair sooner."""
OVERHEADS = (0.5, 0.0, 0.25, 0.75, 1.0)
"""Shares of a batch that may be overhead while that is unknown; the first is taken."""


def laws_of(seen: Assessment) -> LikelyLaws | None:
    """Return the cost of batches as learnt; while all had the same rows, any share of one may be overhead. None for several queries."""
    if seen.batch_laws is not None or seen.plant != "micro_batch" or len(seen.reading.active) != 1:
        return seen.batch_laws
    (query,) = seen.reading.active
    if not query.batch or not query.throughput_rows_per_s or query.batch.total_s > seen.cadence.cycle_s:
        return None
    takes_s, rows = query.batch.total_s, query.throughput_rows_per_s * query.cycle_s
    drawn = tuple(BatchLaw(overhead_s=share * takes_s, row_s=(1.0 - share) * takes_s / rows, partitions=1) for share in OVERHEADS)
    return LikelyLaws(best=drawn[0], drawn=drawn)


def struck_start_s(seen: Assessment, failed_s: float) -> float:
    """Return the start of the batch that a failure strikes, or of the next one if all had committed; without any commit, the failure itself.

    Batches start a cycle apart, and the last commit shows where. Only one batch can have started since that commit, however long ago it is.
    """
    query = seen.reading.active[0] if seen.reading.active else None
    if query is None or query.batch is None or query.since_commit_s is None:
        return failed_s
    takes_s = query.batch.total_s
    cycle_s, known_s = max(seen.cadence.interval_s, takes_s), seen.reading.at_s - query.since_commit_s - takes_s
    number = min(1, math.floor((failed_s - known_s) / cycle_s))
    committed = number < 1 and failed_s > known_s + cycle_s * number + takes_s
    return known_s + cycle_s * (number + committed)


def outage_of(seen: Assessment, executors: int, failed_s: float, kind: DisturbanceKind, lag_rows: float = 0.0) -> BatchOutage:
    """Return the outage a failure causes, without its downtime, which the caller adds.

    If the query died, the batch starts again, with the rows that arrived since. Spark retries lost tasks: the batch that is hit has the rows it began
    with and takes longer: it hangs until the failure is noticed, and repeats those tasks. Rows that came meanwhile are part of the lag, and counted once.
    """
    start_s, laws, load = struck_start_s(seen, failed_s), laws_of(seen), seen.load_rows_per_s or 0.0
    batch_s = (seen.batch_s or 0.0) if laws is None else settled_batch_s(laws.best, load, seen.cadence.interval_s, executors)
    cycle_s = max(seen.cadence.interval_s, batch_s) or seen.cadence.longest_s
    hung_s = failed_s - start_s if failed_s - start_s > cycle_s else 0.0
    restarts = kind == "query_restart"
    stopped_s = failed_s if restarts else start_s
    return BatchOutage(
        at_s=stopped_s,
        downtime_s=0.0,
        cadence=seen.cadence,
        executors=executors,
        uncommitted_s=cycle_s + stopped_s - start_s,
        lag_rows=max(0.0, lag_rows - hung_s * load),
        lost_s=None if restarts else failed_s,
    )


def by_laws(laws: LikelyLaws, outage: BatchOutage, failed_s: float, downtime: Estimate) -> RecoveryModel:
    """Return the seconds from the failure until the end of the first batch that takes all rows and is back within the promise, bounded by laws and downtime.

    A lost executor that strikes no batch has a cold replacement in the next.
    """

    def after_s(law: BatchLaw, arrivals: Arrivals, downtime_s: float) -> float:
        return max(0.0, outage.at_s + recovery_by_batches_s(law, arrivals, outage.longer(downtime_s)) - failed_s)

    def asked(arrivals: Arrivals, at_s: float) -> Estimate:
        expected = laws.estimate(lambda law: after_s(law, arrivals, downtime.value))
        by_downtime = [after_s(laws.best, arrivals, each) for each in (downtime.low, downtime.high)]
        return combined(expected.value, (expected.low, expected.high), (min(by_downtime), max(by_downtime)))

    return asked


def implied_delay_s(law: BatchLaw, arrivals: Arrivals, outage: BatchOutage, recovered_s: float) -> float | None:
    """Return by how much the batch that was hit must have been longer for the job to have recovered then; None if no delay explains it within a cycle.

    >>> from penstock.core.domain.cadence import Cadence
    >>> law = BatchLaw(overhead_s=1.0, row_s=0.006, partitions=30)
    >>> cadence = Cadence(interval_s=10.0, longest_s=10.0)
    >>> outage = BatchOutage(at_s=0.0, downtime_s=0.0, cadence=cadence, executors=6, uncommitted_s=10.0, lost_s=0.0)
    >>> round(implied_delay_s(law, Arrivals.constant(500.0), outage, recovered_s=8.0), 1)  # 5,000 rows in 6 s, 1 s of them repeated, 1 s late
    1.0
    """

    def ends_s(delay_s: float) -> float:
        return outage.at_s + recovery_by_batches_s(law, arrivals, outage.longer(delay_s))

    shortest_s, longest_s = 0.0, max(0.0, recovered_s - outage.at_s)
    if ends_s(shortest_s) > recovered_s or (outage.lost_s is not None and not outage.hits(outage.at_s)):
        return None
    while longest_s - shortest_s > SETTLED_S:
        middle_s = (shortest_s + longest_s) / 2
        shortest_s, longest_s = (middle_s, longest_s) if ends_s(middle_s) <= recovered_s + SETTLED_S else (shortest_s, middle_s)
    return shortest_s if ends_s(shortest_s) >= recovered_s - outage.cadence.cycle_s else None


MOST_RECOVERIES = 100
"""Of each kind; the newest win. More would make a fit longer than a few of them make it better."""


def with_recoveries(learnt: Learnt, measured: Iterable[RecoveryMeasured], seen: Assessment, executors: int, window_s: float) -> Learnt:
    """Return models with the recoveries that M_R can learn from: of a single failure, and long enough for readings to measure."""
    recoveries = dict(learnt.recoveries)
    for each in measured:
        lesson = _lesson(learnt, each, seen, executors) if each.recovery_s > window_s / 2 else None
        if lesson is not None and each.kind != UNANNOUNCED:
            recoveries[each.kind] = recoveries.get(each.kind, RecoveryRegression(most_seen=MOST_RECOVERIES)).learn([lesson])
    return replace(learnt, recoveries=recoveries)


def _lesson(learnt: Learnt, measured: RecoveryMeasured, seen: Assessment, executors: int) -> RecoverySeen | None:
    apart_s = seen.cadence.apart_s
    points = points_since(learnt.load.series, measured.started_s - apart_s)
    if not points:
        return None
    return recovery_lesson(measured, Surroundings(arrivals=Arrivals.joined(points, ()), interval_s=apart_s, executors=executors))


def tables_due(learnt: Learnt, interval_s: float) -> Mapping[DisturbanceKind, RecoveryRegression]:
    """Return the M_R of each kind of failure that has learnt something since its table was made, or whose table is for another interval."""
    ready = {kind: model for kind, model in learnt.recoveries.items() if len(model.seen) >= LEAST_ROWS}
    made = learnt.recovery_tables
    return {kind: model for kind, model in ready.items() if kind not in made or made[kind].rows != model.rows or not made[kind].is_for(interval_s)}


def by_table(table: RecoveryTable, interval_s: float, executors: int) -> RecoveryModel:
    """Return M_R at the mean rate of the recovery that it predicts."""
    return by_regression(lambda rate: table.predict(interval_s, rate, executors), interval_s)
