"""What an audit finds: the fewest executors that would have been enough, and the promises at risk."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from penstock.core.domain.job import PROMISED_SHARE, Promises
from penstock.core.domain.reading import QueryReading, Reading
from penstock.core.domain.units import duration_words
from penstock.core.models.capacity.batch_law import waves
from penstock.core.models.recovery.batch_recovery import BatchOutage, recovery_by_batches_s
from penstock.core.models.recovery.outage import recovery_s
from penstock.core.models.usage import ASAP_S
from penstock.core.report.run_report import RunReport
from penstock.core.shapes.chance import FloatArray
from penstock.simulator.calibrated import Calibrated, CalibratedQuery, Settings
from penstock.simulator.engine_settings import MicroBatchSettings

SEARCHED = 4
"""Sizes are looked at up to this many times the largest the job had, or up to where more executors carry no more."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Needed:
    """The fewest executors at each reading, and whether no number of them carries what arrived."""

    executors: FloatArray
    beyond: npt.NDArray[np.bool_]


def costs_of(found: Calibrated) -> dict[str, Settings]:
    """What each query of the job costs, by its name."""
    return {query.name: query.settings for query in found.queries}


def needed_of(readings: Sequence[Reading], costs: Mapping[str, Settings], promises: Promises, had: int) -> Needed:
    """By what each query of a job costs that `had` so many executors at most."""
    most = max([SEARCHED * had, *map(useful, costs.values())])
    return needed_executors(readings, {name: capacities(each, promises, most) for name, each in costs.items()})


def useful(settings: Settings) -> int:
    """The most executors that find something to do; where tasks run all the time more always carry more, and this says nothing."""
    return waves(settings.partitions, settings.cores_per_executor) if isinstance(settings, MicroBatchSettings) else 1


def capacities(settings: Settings, promises: Promises, most: int) -> FloatArray:
    """Rows per second that each size carries, from one executor on; more never carry less."""
    sizes = range(1, most + 1)
    if isinstance(settings, MicroBatchSettings):
        carried = [settings.law.capacity_rows_per_s(size, batch_may_take_s(settings, promises)) for size in sizes]
    else:
        carried = [settings.capacity_rows_per_s * size for size in sizes]
    return np.asarray(np.maximum.accumulate(carried), dtype=np.float64)


def batch_may_take_s(settings: MicroBatchSettings, promises: Promises) -> float:
    """The interval that batches may fill; without one half of the latency that is promised: wait and batch are alike."""
    return settings.interval_s or (ASAP_S if promises.latency_p95_s is None else promises.latency_p95_s / 2)


def needed_executors(readings: Sequence[Reading], carried: Mapping[str, FloatArray]) -> Needed:
    """The fewest that carry what arrived at each reading, by what each size carries of each query: none without a query."""
    found = [fewest(reading, carried) if reading.queries else (0, True) for reading in readings]
    return Needed(executors=np.array([float(size) for size, _ in found]), beyond=np.array([not enough for _, enough in found]))


def fewest(reading: Reading, carried: Mapping[str, FloatArray]) -> tuple[int, bool]:
    """The fewest executors, at least one, at which the queries' loads fit together, and whether they do.

    Each query uses its rate divided by what that size carries of it alone, and these shares sum to at most 1. Where they never do, the fewest are those
    that carry most, and as many as there were where no number carries anything.
    """
    shares = np.zeros(max(len(each) for each in carried.values()))
    with np.errstate(divide="ignore"):
        for query in reading.queries:
            if query.name in carried and (rate := rate_of(query)) > 0:
                shares = shares + rate / carried[query.name]
    least = float(shares.min())
    if math.isinf(least):
        return max(1, reading.executors_running), False
    return int(np.flatnonzero(shares <= max(1.0, least))[0]) + 1, least <= 1.0


def why_beyond(costs: Mapping[str, Settings], promises: Promises) -> str:
    """In words, why more executors would not carry more."""
    said = []
    for name, settings in costs.items():
        if not isinstance(settings, MicroBatchSettings):
            continue
        may_take_s = batch_may_take_s(settings, promises)
        if settings.overhead_s >= may_take_s:
            said.append(f"a batch of {name} takes {duration_words(settings.overhead_s)} without any row, and may take {duration_words(may_take_s)}")
        else:
            said.append(f"a batch of {name} has {settings.partitions} tasks, and more than {useful(settings)} executors find none of them")
    return "; ".join(said)


def rate_of(query: QueryReading) -> float:
    """Rows per second that arrived, or were processed where that is all there is."""
    return (query.throughput_rows_per_s or 0.0) if query.arrival_rows_per_s is None else query.arrival_rows_per_s


AT_RISK = 0.8
"""A latency above this share of its promise leaves little room."""
RARELY = 0.01
MOST_FAILURES = 100
"""Failures are imagined at no more than this many moments of a run, evenly apart."""
LEAST_CARRIED = 1e-9
"""Rows per second, where a size carries nothing."""
FOLLOWED = 3.0
"""A recovery is followed for this many times as long as is promised; then the load stays as it is."""


def risks(
    whole: RunReport, promises: Promises, *, short_share: float, beyond_share: float, why_beyond: str, late_share: float, failures: int
) -> tuple[str, ...]:
    """`short_share` of the time more arrived than its executors carry, `beyond_share` of it more than any number of them would.

    At `late_share` of it a failure would have taken longer than promised.
    """
    found, promised_s = [], promises.latency_p95_s
    if promised_s is not None and whole.within_promise is not None and whole.latency is not None:
        if whole.within_promise < PROMISED_SHARE:
            found.append(f"latency was above {duration_words(promised_s)} for {1 - whole.within_promise:.0%} of the rows")
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
