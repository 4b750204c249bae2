"""Failures of micro-batches: how long one that struck will take, and what one that is over took."""

from __future__ import annotations

import math
from dataclasses import replace

from penstock.core.assessment import Assessment
from penstock.core.models.anomaly.disturbance import DisturbanceKind
from penstock.core.models.capacity.batch_law import BatchLaw, LikelyLaws
from penstock.core.models.estimate import Estimate, combined_bounds
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.batch_recovery import BatchOutage, recovery_by_batches_s
from penstock.core.models.recovery.predicted_recovery import RecoveryModel

SETTLED_S = 0.01
"""Seconds to which a downtime is searched for."""
OVERHEADS = (0.5, 0.0, 0.25, 0.75, 1.0)
"""Shares of a batch that may be overhead while nobody knows; the first is taken."""


def laws_of(seen: Assessment) -> LikelyLaws | None:
    """The cost of batches as learnt; while all were of one size, any share of one that kept its interval may be overhead. None for several queries."""
    if seen.batch_laws is not None or seen.plant != "micro_batch" or len(seen.reading.queries) != 1:
        return seen.batch_laws
    (query,) = seen.reading.queries
    if not query.batch or not query.throughput_rows_per_s or query.batch.total_s > seen.interval_s:
        return None
    takes_s, rows = query.batch.total_s, query.throughput_rows_per_s * seen.interval_s
    drawn = tuple(BatchLaw(overhead_s=share * takes_s, row_s=(1.0 - share) * takes_s / rows, partitions=1) for share in OVERHEADS)
    return LikelyLaws(best=drawn[0], drawn=drawn)


def last_start_s(seen: Assessment, failed_s: float) -> float:
    """When the last batch before a failure started: batches start a cycle apart, and the last commit tells where; without any, the failure itself.

    Only one batch can have started since that commit, however long ago it is.
    """
    query = seen.reading.queries[0] if seen.reading.queries else None
    if query is None or query.batch is None or query.since_commit_s is None:
        return failed_s
    takes_s = query.batch.total_s
    cycle_s, known_s = max(seen.interval_s, takes_s), seen.reading.at_s - query.since_commit_s - takes_s
    return known_s + cycle_s * min(1, math.floor((failed_s - known_s) / cycle_s))


def outage_of(seen: Assessment, executors: int, failed_s: float, kind: DisturbanceKind, lag_rows: float = 0.0) -> BatchOutage:
    """The outage a failure causes, with its duration left at 0 for the caller to fill in. Spark retries lost tasks, so the batch it hits only takes longer.

    Where the query died it begins anew, with what came meanwhile; so does in effect a batch that hung until the failure was noticed.
    Rows that came while batches took longer than their interval are part of the lag, and counted once.
    """
    start_s = last_start_s(seen, failed_s)
    hung = failed_s - start_s > seen.interval_s
    cycle_s = seen.interval_s if hung else max(seen.interval_s, seen.batch_s or 0.0)
    stopped_s = failed_s if hung or kind == "query_restart" else start_s
    late_s = failed_s - start_s if hung else cycle_s - seen.interval_s
    return BatchOutage(
        at_s=stopped_s,
        downtime_s=0.0,
        interval_s=seen.interval_s,
        scaleout=executors,
        uncommitted_s=cycle_s + stopped_s - start_s,
        lag_rows=max(0.0, lag_rows - late_s * (seen.load_rows_per_s or 0.0)),
    )


def by_laws(laws: LikelyLaws, outage: BatchOutage, failed_s: float, downtime: Estimate) -> RecoveryModel:
    """Seconds from the failure until the end of the first batch that takes all rows and fits the interval; bounds are those of the laws and the downtime.

    A failure after the end of the batch, late as that may be, hits none: then the next one has recovered.
    """

    def ends_s(law: BatchLaw, arrivals: Arrivals, asked: BatchOutage) -> float:
        return asked.at_s + recovery_by_batches_s(law, arrivals, asked)

    def after_s(law: BatchLaw, arrivals: Arrivals, downtime_s: float) -> float:
        end_s = ends_s(law, arrivals, replace(outage, downtime_s=downtime_s))
        if end_s < failed_s:
            end_s = ends_s(law, arrivals, replace(outage, at_s=outage.at_s + outage.interval_s))
        return max(0.0, end_s - failed_s)

    def asked(arrivals: Arrivals, at_s: float) -> Estimate:
        expected = laws.estimate(lambda law: after_s(law, arrivals, downtime.value))
        by_downtime = [after_s(laws.best, arrivals, each) for each in (downtime.low, downtime.high)]
        low, high = combined_bounds(expected.value, (expected.low, expected.high), (min(by_downtime), max(by_downtime)))
        return Estimate(value=expected.value, low=low, high=high)

    return asked


def implied_delay_s(law: BatchLaw, arrivals: Arrivals, outage: BatchOutage, recovered_s: float) -> float | None:
    """By how much the batch that was hit must have been longer for the job to have recovered then; None if it would have been later without any delay.

    >>> law = BatchLaw(overhead_s=1.0, row_s=0.001, partitions=1)
    >>> outage = BatchOutage(at_s=0.0, downtime_s=0.0, interval_s=10.0, scaleout=1, uncommitted_s=10.0)
    >>> round(implied_delay_s(law, Arrivals.constant(500.0), outage, recovered_s=7.5), 1)  # 5,500 rows in 6.5 s, 1 s late
    1.0
    """

    def ends_s(delay_s: float) -> float:
        return outage.at_s + recovery_by_batches_s(law, arrivals, replace(outage, downtime_s=delay_s))

    shortest_s, longest_s = 0.0, max(0.0, recovered_s - outage.at_s)
    if ends_s(shortest_s) > recovered_s:
        return None
    while longest_s - shortest_s > SETTLED_S:
        middle_s = (shortest_s + longest_s) / 2
        shortest_s, longest_s = (middle_s, longest_s) if ends_s(middle_s) <= recovered_s else (shortest_s, middle_s)
    return shortest_s
