"""Recovery of micro-batches from an outage, batch by batch: the rows that arrive during one batch are those of the next."""

import math
from dataclasses import dataclass

from penstock.core.models.capacity.batch_law import BatchLaw
from penstock.core.models.recovery.arrivals import Arrivals

MOST_BATCHES, FEWEST_BATCHES = 500_000, 5000
"""Most batches simulated one by one, and how many of them after the last point of the arrivals; the rest drains at the long-run rate."""
ROUNDING = 1e-9
"""A rate within this share of the capacity counts as at capacity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOutage:
    """A micro-batch job at this trigger interval and number of executors stops at `at_s` and works again `downtime_s` later."""

    at_s: float
    downtime_s: float
    interval_s: float
    executors: int
    uncommitted_s: float | None = None
    """Seconds of arrivals before the stop that no commit covers; None for the worst case, just before a commit."""
    lag_rows: float = 0.0
    """Lag before the stop in excess of a healthy one."""

    def __post_init__(self) -> None:
        if self.interval_s <= 0 or self.downtime_s < 0 or self.lag_rows < 0:
            raise ValueError(f"an outage needs an interval above 0 s and no negative downtime or lag: {self}")


def uncommitted_s(interval_s: float, batch_s: float) -> float:
    """Return the seconds of arrivals that are repeated after a fault just before a commit (PAPER-NOTES "Uncommitted work at a failure").

    The last commit covers what had arrived by the start of its batch: one interval or one batch before the start of the present one, which is now ending.

    >>> uncommitted_s(10.0, 4.0), uncommitted_s(10.0, 15.0)
    (14.0, 30.0)
    """
    return max(interval_s, batch_s) + batch_s


def worst_uncommitted_s(law: BatchLaw, *, rate_rows_per_s: float, interval_s: float, executors: int) -> float:
    """Return the uncommitted seconds at a fault just before a commit, at a constant rate; under overload, T is that of one interval of arrivals.

    T is that of `settled_batches_s`, in plain floats: an array of one would take longer than the batches that are simulated.

    >>> worst_uncommitted_s(BatchLaw(overhead_s=1.0, row_s=0.001, partitions=1), rate_rows_per_s=500.0, interval_s=10.0, executors=1)
    16.0
    """
    cost_s = law.row_cost_s(executors)
    duration_s = law.overhead_s + cost_s * rate_rows_per_s * interval_s
    if duration_s > interval_s:
        spare = 1.0 - cost_s * rate_rows_per_s
        duration_s = max(interval_s, law.overhead_s / spare) if spare > 0 else math.inf
    if duration_s == math.inf or (law.limit_rows is not None and rate_rows_per_s * max(interval_s, duration_s) > law.limit_rows):
        duration_s = law.duration_s(rate_rows_per_s * interval_s, executors)
    return uncommitted_s(interval_s, duration_s)


def recovery_by_batches_s(law: BatchLaw, arrivals: Arrivals, outage: BatchOutage) -> float:
    """Return the seconds from the stop until the end of the first batch that takes all rows and fits the interval.

    The first batch takes all rows that wait after the downtime, each next one those that arrived during the last; a limit of rows leaves the rest to the
    next (PAPER-NOTES "Catch-up in micro-batches"). Infinite if the long-run rate is not below C(s,i) and the backlog is not gone before.

    >>> law = BatchLaw(overhead_s=1.0, row_s=0.001, partitions=1)
    >>> outage = BatchOutage(at_s=0.0, downtime_s=16.0, interval_s=10.0, executors=1)
    >>> recovery_by_batches_s(law, Arrivals.constant(500.0), outage)  # 16, then 16000 rows in 17 s, 8500 in 9.5 s
    42.5
    """
    interval_s, executors = outage.interval_s, outage.executors
    long_run, level_after_s = arrivals.long_run_rate, max(0.0, arrivals.last_s - outage.at_s)
    never = long_run > 0 and law.capacity_rows_per_s(executors, interval_s) <= long_run * (1 + ROUNDING)
    fits_s = interval_s * (1 - ROUNDING) if never else interval_s
    limit = math.inf if law.limit_rows is None else law.limit_rows
    seen_s, start_s, behind = outage.at_s - _uncommitted_s(law, arrivals, outage), outage.at_s + outage.downtime_s, outage.lag_rows
    for _ in range(min(MOST_BATCHES, math.ceil((outage.downtime_s + level_after_s) / interval_s) + FEWEST_BATCHES)):
        waiting = behind + arrivals.rows(seen_s, start_s)
        if waiting <= 0:
            return start_s - outage.at_s
        taken = min(waiting, limit)
        duration_s = law.duration_s(taken, executors)
        if duration_s <= fits_s and taken == waiting:
            return start_s + duration_s - outage.at_s
        seen_s, behind = start_s, waiting - taken
        start_s += max(interval_s, duration_s)
        if never and seen_s - outage.at_s > level_after_s:
            return math.inf
    if never:
        return math.inf
    return start_s - outage.at_s + _drained_s(law, long_run, behind + arrivals.rows(seen_s, start_s), interval_s, executors)


def _uncommitted_s(law: BatchLaw, arrivals: Arrivals, outage: BatchOutage) -> float:
    if outage.uncommitted_s is not None:
        return outage.uncommitted_s
    before = arrivals.rows(outage.at_s - outage.interval_s, outage.at_s) / outage.interval_s
    return worst_uncommitted_s(law, rate_rows_per_s=before, interval_s=outage.interval_s, executors=outage.executors)


def _drained_s(law: BatchLaw, rate_rows_per_s: float, waiting: float, interval_s: float, executors: int) -> float:
    """Return the seconds to drain the rows in excess of a healthy batch with the spare capacity."""
    excess = max(0.0, waiting - rate_rows_per_s * interval_s)
    return excess / (law.capacity_rows_per_s(executors, interval_s) - rate_rows_per_s) if excess else 0.0
