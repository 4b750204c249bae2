"""What an audit finds: the fewest executors that would have been enough, and the promises at risk."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from penstock.core.domain.cadence import Cadence
from penstock.core.domain.job_spec import PROMISED_SHARE, Promises
from penstock.core.domain.reading import QueryReading, Reading
from penstock.core.domain.units import duration_words
from penstock.core.knowledge.terms import Terms
from penstock.core.models.capacity.batch_law import waves
from penstock.core.models.recovery.batch_recovery import BatchOutage, recovery_by_batches_s
from penstock.core.models.recovery.outage import recovery_s
from penstock.core.report.run_report import RunReport
from penstock.core.shapes.chance import FloatArray
from penstock.simulator.calibrated import Calibrated, CalibratedQuery, Settings
from penstock.simulator.engine_settings import MicroBatchSettings

SEARCHED = 4
"""The search ends at this many times the most executors that the job had, or where more executors do not help."""
AT_RISK = 0.8
"""A latency above this share of the promise is at risk."""
RARELY = 0.01
MOST_FAILURES = 100
"""The most moments of a run at which a failure is assumed."""
LEAST_CARRIED = 1e-9
"""Rows/s, to divide by where the capacity is 0."""
FOLLOWED = 3.0
"""A recovery is followed for this many times the promised duration; after that the load is constant."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Needed:
    """The fewest executors that are enough at each reading, and whether no number of them is."""

    executors: FloatArray
    beyond: npt.NDArray[np.bool_]


def needed_of(readings: Sequence[Reading], costs: Mapping[str, Settings], terms: Terms, had: int) -> Needed:
    """Return the executors needed by queries of these costs, for a job that had at most `had` executors."""
    most = max([SEARCHED * had, *map(useful, costs.values())])
    return needed_executors(readings, {name: capacities(each, terms, most) for name, each in costs.items()})


def useful(settings: Settings) -> int:
    """Return the most executors that get a task; 1 for a continuous query, which always uses more."""
    return waves(settings.partitions, settings.cores_per_executor) if isinstance(settings, MicroBatchSettings) else 1


def cadence_under(terms: Terms, settings: MicroBatchSettings) -> Cadence:
    return settings.cadence(terms.promises, terms.config.longest_batch_s)


def capacities(settings: Settings, terms: Terms, most: int) -> FloatArray:
    """Return the capacity in rows/s of 1 to `most` executors; more executors never have less."""
    numbers = range(1, most + 1)
    if isinstance(settings, MicroBatchSettings):
        found = [settings.law.capacity_rows_per_s(executors, cadence_under(terms, settings)) for executors in numbers]
    else:
        found = [settings.capacity_rows_per_s * executors for executors in numbers]
    return np.asarray(np.maximum.accumulate(found), dtype=np.float64)


def needed_executors(readings: Sequence[Reading], capacity: Mapping[str, FloatArray]) -> Needed:
    """Return the fewest executors for what arrived at each reading, by the capacities of each query; 0 without a query."""
    found = [fewest(reading, capacity) if reading.queries else (0, True) for reading in readings]
    return Needed(executors=np.array([float(executors) for executors, _ in found]), beyond=np.array([not enough for _, enough in found]))


def fewest(reading: Reading, capacity: Mapping[str, FloatArray]) -> tuple[int, bool]:
    """Return the fewest executors, at least one, at which the shares of all queries sum to at most 1, and whether there is such a number.

    The share of a query is its rate divided by its capacity alone. If there is no such number, the least sum counts, and the executors that ran if
    every sum is infinite.
    """
    shares = np.zeros(max(len(each) for each in capacity.values()))
    with np.errstate(divide="ignore"):
        for query in reading.queries:
            if query.name in capacity and (rate := rate_of(query)) > 0:
                shares = shares + rate / capacity[query.name]
    least = float(shares.min())
    if math.isinf(least):
        return max(1, reading.executors_running), False
    return int(np.flatnonzero(shares <= max(1.0, least))[0]) + 1, least <= 1.0


def why_beyond(costs: Mapping[str, Settings]) -> str:
    said = []
    for name, settings in costs.items():
        if not isinstance(settings, MicroBatchSettings):
            continue
        said.append(f"a batch of {name} has {settings.partitions} tasks, and executors beyond {useful(settings)} get none")
    return "; ".join(said)


def out_of_reach(costs: Mapping[str, Settings], terms: Terms) -> list[str]:
    """Return the queries whose batches take too long for the promised latency without any row; none where no latency is promised."""
    found = []
    for name, settings in costs.items():
        if terms.promises.latency_p95_s is None or not isinstance(settings, MicroBatchSettings):
            continue
        if settings.overhead_s >= (longest_s := cadence_under(terms, settings).longest_s):
            takes, may_take = duration_words(settings.overhead_s), f"may take {duration_words(longest_s)}" if longest_s > 0 else "its trigger alone is too long"
            found.append(f"no number of executors keeps the promised latency: a batch of {name} takes {takes} without any row, and {may_take}")
    return found


def rate_of(query: QueryReading) -> float:
    """Return the arrival rate in rows/s, or the throughput if that is not known."""
    return (query.throughput_rows_per_s or 0.0) if query.arrival_rows_per_s is None else query.arrival_rows_per_s


def risks(
    whole: RunReport, promises: Promises, *, short_share: float, beyond_share: float, why_beyond: str, late_share: float, failures: int
) -> tuple[str, ...]:
    """Return the promises at risk and what else went wrong, in words.

    For `short_share` of the time more arrived than its executors could process, for `beyond_share` more than any number of them could; at `late_share`
    of the time a recovery would have taken longer than promised.
    """
    found, promised_s = [], promises.latency_p95_s
    if promised_s is not None and whole.within_promise is not None and whole.latency is not None:
        if whole.within_promise < PROMISED_SHARE:
            found.append(f"latency was above {duration_words(promised_s)} for {1 - whole.within_promise:.0%} of the rows")
        elif whole.latency.p95_s > AT_RISK * promised_s:
            found.append(f"latency is {whole.latency.p95_s / promised_s:.0%} of the promised one")
    if promises.recovery_s is not None and late_share > RARELY:
        found.append(f"to recover from a failure would have taken longer than {duration_words(promises.recovery_s)} for {late_share:.0%} of the time")
    if short_share > RARELY:
        found.append(f"more arrived than its executors can process for {short_share:.0%} of the time")
    if beyond_share > RARELY:
        found.append(f"no number of executors can process what arrived for {beyond_share:.0%} of the time: {why_beyond}")
    if failures:
        found.append(f"executors or queries failed {failures} time{'s' if failures > 1 else ''}")
    return tuple(found)


def late_recoveries(found: Calibrated, readings: Sequence[Reading], terms: Terms) -> float:
    """Return the share of the time at which a recovery from a failure just before a commit would take longer than promised, on the executors that ran."""
    promised_s, seen = terms.promises.recovery_s, [reading for reading in readings if reading.queries and reading.at_s >= found.start_s]
    if promised_s is None or not seen:
        return 0.0
    tried = seen[:: -(-len(seen) // MOST_FAILURES)]
    return sum(recovery_at(found, reading, terms, FOLLOWED * promised_s) > promised_s for reading in tried) / len(tried)


def recovery_at(found: Calibrated, reading: Reading, terms: Terms, follow_s: float) -> float:
    """Return the seconds to recover from a failure at this reading, until the last query has, each with the executors that the others leave."""
    executors, at_s = max(1, reading.executors_running), reading.at_s
    used = {query.name: query.arrivals.rate(at_s) / max(capacity_alone(query.settings, executors, terms), LEAST_CARRIED) for query in found.queries}
    lags = {query.name: query.excess_lag_rows or 0.0 for query in reading.queries}

    def recovers_s(query: CalibratedQuery) -> float:
        left = 1.0 - (sum(used.values()) - used[query.name])
        return recovery_of(query, left, executors, at_s, lags.get(query.name, 0.0), terms, follow_s) if left > 0 else math.inf

    return max(map(recovers_s, found.queries))


def capacity_alone(settings: Settings, executors: int, terms: Terms) -> float:
    """Return the capacity in rows/s of the executors for one query alone."""
    if isinstance(settings, MicroBatchSettings):
        return replace(settings.law, limit_rows=None).capacity_rows_per_s(executors, cadence_under(terms, settings))
    return settings.capacity_rows_per_s * executors


def recovery_of(query: CalibratedQuery, left: float, executors: int, at_s: float, lag_rows: float, terms: Terms, follow_s: float) -> float:
    """Return the seconds until a query has recovered with a share `left` of the executors."""
    arrivals, settings = query.arrivals.between(at_s, at_s + follow_s), query.settings
    if isinstance(settings, MicroBatchSettings):
        outage = BatchOutage(at_s=at_s, downtime_s=settings.up_s, cadence=cadence_under(terms, settings), executors=executors, lag_rows=lag_rows)
        return recovery_by_batches_s(replace(settings.law, row_s=settings.law.row_s / left), arrivals, outage)
    return recovery_s(arrivals, at_s, left * settings.capacity_rows_per_s * executors, settings.interval_s, settings.downtime_s, lag_rows)
