"""What stands in the way of the promises of a recorded job, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from penstock.core.domain.job import PROMISED_SHARE, Promises
from penstock.core.domain.reading import Reading
from penstock.core.domain.units import duration_words
from penstock.core.models.recovery.batches import BatchOutage, recovery_by_batches_s
from penstock.core.models.recovery.formula import recovery_s
from penstock.hindsight.needed import batch_may_take_s
from penstock.hindsight.run_cost import Ran
from penstock.simulator.calibrated import Calibrated, CalibratedQuery, Settings
from penstock.simulator.microbatch_settings import MicroBatchSettings

AT_RISK = 0.8
"""A latency above this share of its promise leaves little room."""
RARELY = 0.01
MOST_FAILURES = 100
"""Failures are imagined at no more than this many moments of a run, evenly apart."""
LEAST_CARRIED = 1e-9
"""Rows per second, where a size carries nothing."""
FOLLOWED = 3.0
"""A recovery is followed for this many times as long as is promised; then the load stays as it is."""


def risks(whole: Ran, promises: Promises, *, short_share: float, beyond_share: float, why_beyond: str, late_share: float, failures: int) -> tuple[str, ...]:
    """`short_share` of the time more arrived than its executors carry, `beyond_share` of it more than any number of them would.

    At `late_share` of it a failure would have taken longer than promised.
    """
    found, promised_s = [], promises.latency_p95_s
    if promised_s is not None and whole.within_latency is not None and whole.latency is not None:
        if whole.within_latency < PROMISED_SHARE:
            found.append(f"latency was above {duration_words(promised_s)} for {1 - whole.within_latency:.0%} of the rows")
        elif whole.latency.p95_s > AT_RISK * promised_s:
            found.append(f"latency is {whole.latency.p95_s / promised_s:.0%} of what is promised")
    if promises.recovery_s is not None and late_share > RARELY:
        found.append(f"to recover from a failure would have taken longer than {duration_words(promises.recovery_s)} for {late_share:.0%} of the time")
    if short_share > RARELY:
        found.append(f"more arrived than its executors carry for {short_share:.0%} of the time")
    if beyond_share > RARELY:
        found.append(f"no number of executors carries what arrived for {beyond_share:.0%} of the time: {why_beyond}")
    if failures:
        found.append(f"executors or queries failed {failures} time{'s' if failures > 1 else ''}")
    return tuple(found)


def late_recoveries(found: Calibrated, readings: Sequence[Reading], promises: Promises) -> float:
    """The share of the moments at which a failure just before a commit would take longer than promised, on as many executors as there were."""
    promised_s, seen = promises.recovery_s, [reading for reading in readings if reading.queries and reading.at_s >= found.start_s]
    if promised_s is None or not seen:
        return 0.0
    tried = seen[:: -(-len(seen) // MOST_FAILURES)]
    return sum(recovery_at(found, reading, promises, FOLLOWED * promised_s) > promised_s for reading in tried) / len(tried)


def recovery_at(found: Calibrated, reading: Reading, promises: Promises, follow_s: float) -> float:
    """Seconds to recover from a failure at this moment: until the last of its queries has, each with what the others leave of the executors."""
    executors, at_s = max(1, reading.executors_running), reading.at_s
    used = {query.name: query.arrivals.rate(at_s) / max(carried(query.settings, executors, promises), LEAST_CARRIED) for query in found.queries}
    lags = {query.name: query.excess_lag_rows or 0.0 for query in reading.queries}

    def recovers_s(query: CalibratedQuery) -> float:
        left = 1.0 - (sum(used.values()) - used[query.name])
        return recovery_of(query, left, executors, at_s, lags.get(query.name, 0.0), promises, follow_s) if left > 0 else math.inf

    return max(map(recovers_s, found.queries))


def carried(settings: Settings, executors: int, promises: Promises) -> float:
    """Rows per second that so many executors carry of a query alone."""
    if isinstance(settings, MicroBatchSettings):
        return replace(settings.law, limit_rows=None).capacity_rows_per_s(executors, batch_may_take_s(settings, promises))
    return settings.capacity_rows_per_s * executors


def recovery_of(query: CalibratedQuery, left: float, executors: int, at_s: float, lag_rows: float, promises: Promises, follow_s: float) -> float:
    """Seconds until one query has recovered that has this share of the executors left."""
    arrivals, settings = query.arrivals.between(at_s, at_s + follow_s), query.settings
    if isinstance(settings, MicroBatchSettings):
        interval_s = batch_may_take_s(settings, promises)
        outage = BatchOutage(at_s=at_s, downtime_s=settings.up_s, interval_s=interval_s, scaleout=executors, lag_rows=lag_rows)
        return recovery_by_batches_s(replace(settings.law, row_s=settings.law.row_s / left), arrivals, outage)
    return recovery_s(arrivals, at_s, left * settings.capacity_rows_per_s * executors, settings.interval_s, settings.downtime_s, lag_rows)
