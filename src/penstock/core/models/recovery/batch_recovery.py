"""Recovery of micro-batches from an outage, batch by batch: the rows that arrive during one batch are those of the next."""

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from penstock.core.domain.cadence import Cadence, batch_latency_s
from penstock.core.domain.trigger import next_trigger_s
from penstock.core.models.capacity.batch_law import BatchLaw, LawColumns
from penstock.core.models.recovery.arrivals import Arrivals

MOST_BATCHES, FEWEST_BATCHES = 500_000, 5000
"""Most batches simulated one by one, and how many of them after the last point of the arrivals; the rest drains at the long-run rate."""
ROUNDING = 1e-9
"""A rate within this share of the saturated throughput counts as saturated."""
HARDLY_LONGER = 1.2
"""A latency of at most this many times that of before is normal again."""
SHORTEST_S = 0.01
"""The shortest batch that is counted with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOutage:
    """A micro-batch job at this cadence and number of executors stops at `at_s` and works again `downtime_s` later.

    If it `delays`, the query goes on: the batch that starts at `at_s` with the rows of then takes so much longer.
    """

    at_s: float
    downtime_s: float
    cadence: Cadence
    executors: int
    uncommitted_s: float | None = None
    """Seconds of arrivals before the stop that no commit covers; None for the worst case, just before a commit."""
    lag_rows: float = 0.0
    """Lag before the stop in excess of a healthy one."""
    delays: bool = False

    def longer(self, seconds: float) -> Self:
        """Return the outage with so much more downtime."""
        return replace(self, downtime_s=self.downtime_s + seconds)

    def __post_init__(self) -> None:
        if self.downtime_s < 0 or self.lag_rows < 0:
            raise ValueError(f"an outage has no negative downtime or lag: {self}")


def uncommitted_s(interval_s: float, batch_s: float) -> float:
    """Return the seconds of arrivals that are repeated after a fault just before a commit (PAPER-NOTES "Uncommitted work at a failure").

    The last commit covers what had arrived by the start of its batch: one interval or one batch before the start of the present one, which is now ending.

    >>> uncommitted_s(10.0, 4.0), uncommitted_s(10.0, 15.0)
    (14.0, 30.0)
    """
    return max(interval_s, batch_s) + batch_s


def worst_uncommitted_s(law: BatchLaw, *, rate_rows_per_s: float, interval_s: float, executors: int) -> float:
    """Return the uncommitted seconds at a fault just before a commit, at a constant rate; under overload, T is that of one interval of arrivals.

    >>> worst_uncommitted_s(BatchLaw(overhead_s=1.0, row_s=0.001, partitions=1), rate_rows_per_s=500.0, interval_s=10.0, executors=1)
    16.0
    """
    settled_s = float(LawColumns.of([law]).settled_s(rate_rows_per_s, interval_s, np.array([executors]))[0, 0])
    return uncommitted_s(interval_s, settled_s if math.isfinite(settled_s) else law.duration_s(rate_rows_per_s * interval_s, executors))


def recovery_by_batches_s(law: BatchLaw, arrivals: Arrivals, outage: BatchOutage) -> float:
    """Return the seconds from the stop until the end of the first batch that takes all rows and whose rows are back within the promised latency.

    The first batch takes all rows that wait after the downtime, each next one those that arrived during the last; a limit of rows leaves the rest to the
    next (PAPER-NOTES "Catch-up in micro-batches"). Infinite if the long-run rate is not below the saturated throughput and the backlog is not gone before.

    >>> law, cadence = BatchLaw(overhead_s=1.0, row_s=0.001, partitions=1), Cadence(interval_s=10.0, longest_s=10.0)
    >>> outage = BatchOutage(at_s=0.0, downtime_s=16.0, cadence=cadence, executors=1)
    >>> recovery_by_batches_s(law, Arrivals.constant(500.0), outage)  # 16, then 16000 rows in 17 s, 8500 in 9.5 s whose oldest waited for 17 s, 4750 in 5.75 s
    48.25
    """
    interval_s, executors = outage.cadence.interval_s, outage.executors
    long_run, level_after_s = arrivals.long_run_rate, max(0.0, arrivals.last_s - outage.at_s)
    never = long_run > 0 and law.saturated_rows_per_s(executors, interval_s) <= long_run * (1 + ROUNDING)
    normal_s, limit = _normal_latency_s(law, arrivals, outage), math.inf if law.limit_rows is None else law.limit_rows
    late_s, down_s = (outage.downtime_s, 0.0) if outage.delays else (0.0, outage.downtime_s)
    seen_s, start_s, behind = outage.at_s - _uncommitted_s(law, arrivals, outage), outage.at_s + down_s, outage.lag_rows
    for _ in range(min(MOST_BATCHES, math.ceil((outage.downtime_s + level_after_s) / max(interval_s, law.overhead_s, SHORTEST_S)) + FEWEST_BATCHES)):
        waiting = behind + arrivals.rows(seen_s, start_s)
        if waiting <= 0:
            return start_s + late_s - outage.at_s
        taken = min(waiting, limit)
        duration_s, late_s = law.duration_s(taken, executors) + late_s, 0.0
        if taken == waiting and batch_latency_s(start_s - seen_s, duration_s) <= normal_s:
            return start_s + duration_s - outage.at_s
        seen_s, behind = start_s, waiting - taken
        start_s = max(start_s + duration_s, next_trigger_s(start_s, interval_s))
        if never and seen_s - outage.at_s > level_after_s:
            return math.inf
    if never:
        return math.inf
    return start_s - outage.at_s + _drained_s(law, long_run, behind + arrivals.rows(seen_s, start_s), interval_s, executors)


def _normal_latency_s(law: BatchLaw, arrivals: Arrivals, outage: BatchOutage) -> float:
    """Return the latency at which the job has recovered: the promised one, or a little more than that of before where that was longer or none is promised."""
    cadence = outage.cadence
    rates = np.array([arrivals.rows(outage.at_s - cadence.apart_s, outage.at_s) / cadence.apart_s, arrivals.long_run_rate])
    settled_s = LawColumns.of([law]).settled_s(rates, cadence.interval_s, np.full(2, outage.executors))[0]
    longest_s = float(settled_s[np.isfinite(settled_s)].max(initial=0.0))
    usual_s = HARDLY_LONGER * batch_latency_s(max(cadence.interval_s, longest_s), longest_s)
    return max(cadence.latency_s, usual_s) if cadence.promised else usual_s


def _uncommitted_s(law: BatchLaw, arrivals: Arrivals, outage: BatchOutage) -> float:
    if outage.uncommitted_s is not None:
        return outage.uncommitted_s
    apart_s = outage.cadence.apart_s
    before = arrivals.rows(outage.at_s - apart_s, outage.at_s) / apart_s
    return worst_uncommitted_s(law, rate_rows_per_s=before, interval_s=outage.cadence.interval_s, executors=outage.executors)


def _drained_s(law: BatchLaw, rate_rows_per_s: float, waiting: float, interval_s: float, executors: int) -> float:
    """Return the seconds to drain the rows in excess of a healthy batch with the spare throughput."""
    excess = max(0.0, waiting - rate_rows_per_s * interval_s)
    return excess / (law.saturated_rows_per_s(executors, interval_s) - rate_rows_per_s) if excess else 0.0
