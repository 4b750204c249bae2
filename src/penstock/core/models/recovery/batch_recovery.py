"""Recovery of micro-batches from an outage, batch by batch: the rows that arrive during one batch are those of the next."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from penstock.core.domain.cadence import Cadence, batch_latency_s
from penstock.core.domain.trigger import next_trigger_s
from penstock.core.models.capacity.batch_law import BatchLaw, LawColumns, waves
from penstock.core.models.recovery.arrivals import Arrivals

MOST_BATCHES, FEWEST_BATCHES = 500_000, 5000
"""Most batches simulated one by one, and how many of them after the last point of the arrivals; the rest drains at the long-run rate."""
ROUNDING = 1e-9
"""A rate within this share of the saturated throughput counts as saturated."""
HARDLY_LONGER = 1.2
"""A latency of at most this many times that of before is normal again."""
SHORTEST_S = 0.01
"""The shortest batch that is counted with."""
COLD_FACTOR, WARM_AFTER_S = 2.0, 8.0
"""A new executor takes three times as long at first; what is more than a warm one takes fades by e in this many seconds (SPARK-FACTS)."""
REPLACED_AFTER_S = 2.5
"""From when an executor is lost until another one works in its place (SPARK-FACTS)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOutage:
    """A micro-batch job at this cadence and number of executors stops at `at_s` and works again `downtime_s` later.

    If an executor is lost, the query goes on: the batch that starts at `at_s` with the rows of then takes so much longer and repeats the tasks of the lost
    executor, unless that was lost before; the batches that follow have a cold replacement.
    """

    at_s: float
    downtime_s: float
    cadence: Cadence
    executors: int
    uncommitted_s: float | None = None
    """Seconds of arrivals before `at_s` that no commit covers; None for what a steady job has there, at worst (just before a commit) where the query stops."""
    lag_rows: float = 0.0
    """Lag before the stop in excess of a healthy one."""
    lost_s: float | None = None
    """When the loss of an executor is noticed; None if the query stops."""

    def longer(self, seconds: float) -> Self:
        """Return the outage with so much more downtime."""
        return replace(self, downtime_s=self.downtime_s + seconds)

    def hits(self, start_s: float) -> bool:
        """Return whether the executor is lost after the start of this batch."""
        return self.lost_s is not None and self.lost_s >= start_s

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
    """Return the uncommitted seconds at a fault just before a commit, at a constant rate.

    >>> worst_uncommitted_s(BatchLaw(overhead_s=1.0, row_s=0.001, partitions=1), rate_rows_per_s=500.0, interval_s=10.0, executors=1)
    16.0
    """
    return uncommitted_s(interval_s, settled_batch_s(law, rate_rows_per_s, interval_s, executors))


def settled_batch_s(law: BatchLaw, rate_rows_per_s: float, interval_s: float, executors: int) -> float:
    """Return the duration of a batch at a constant rate; under overload, that of one interval of arrivals."""
    batch_s = float(LawColumns.of([law]).settled_s(rate_rows_per_s, interval_s, np.array([executors]))[0, 0])
    return batch_s if math.isfinite(batch_s) else law.duration_s(rate_rows_per_s * interval_s, executors)


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
    seen_s, behind = outage.at_s - _uncommitted_s(law, arrivals, outage), outage.lag_rows
    start_s = outage.at_s + (outage.downtime_s if outage.lost_s is None else 0.0)
    for _ in range(min(MOST_BATCHES, math.ceil((outage.downtime_s + level_after_s) / max(interval_s, law.overhead_s, SHORTEST_S)) + FEWEST_BATCHES)):
        waiting = behind + arrivals.rows(seen_s, start_s)
        if waiting <= 0:
            return start_s + (outage.downtime_s if outage.hits(start_s) else 0.0) - outage.at_s
        taken = min(waiting, limit)
        duration_s = _duration_s(law, taken, outage, start_s)
        if taken == waiting and batch_latency_s(start_s - seen_s, duration_s) <= normal_s:
            return start_s + duration_s - outage.at_s
        seen_s, behind = start_s, waiting - taken
        start_s = max(start_s + duration_s, next_trigger_s(start_s, interval_s))
        if never and seen_s - outage.at_s > level_after_s:
            return math.inf
    if never:
        return math.inf
    return start_s - outage.at_s + _drained_s(law, long_run, behind + arrivals.rows(seen_s, start_s), interval_s, executors)


def _duration_s(law: BatchLaw, rows: float, outage: BatchOutage, start_s: float) -> float:
    """Return the duration of a batch during or after the outage.

    Where an executor is lost, Spark runs its tasks again, whole ones in waves on the slots that are left (all of its tasks, the worst case); where it was the
    only one, the batch begins again on the replacement. Later batches have that replacement, which is cold.
    """
    alone_s, executors, rounds = law.duration_s(rows, outage.executors), outage.executors, law.waves(outage.executors)
    if outage.lost_s is None:
        return alone_s
    task_s, replaced_s = (alone_s - law.overhead_s) / rounds, outage.lost_s + REPLACED_AFTER_S
    if outage.hits(start_s) and executors > 1:
        return max(alone_s, outage.lost_s - start_s) + outage.downtime_s + waves(rounds, executors - 1) * task_s
    waits_s = max(0.0, replaced_s - start_s) if executors == 1 else 0.0
    if outage.hits(start_s):
        waits_s += outage.downtime_s
    return waits_s + alone_s + cold_batch_s(alone_s, task_s, rounds, [max(0.0, start_s + waits_s - replaced_s)], executors)


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
    apart_s, interval_s = outage.cadence.apart_s, outage.cadence.interval_s
    before = arrivals.rows(outage.at_s - apart_s, outage.at_s) / apart_s
    if outage.lost_s is None:
        return worst_uncommitted_s(law, rate_rows_per_s=before, interval_s=interval_s, executors=outage.executors)
    return max(interval_s, settled_batch_s(law, before, interval_s, outage.executors))


def _drained_s(law: BatchLaw, rate_rows_per_s: float, waiting: float, interval_s: float, executors: int) -> float:
    """Return the seconds to drain the rows in excess of a healthy batch with the spare throughput."""
    excess = max(0.0, waiting - rate_rows_per_s * interval_s)
    return excess / (law.saturated_rows_per_s(executors, interval_s) - rate_rows_per_s) if excess else 0.0


def cold_batch_s(
    batch_s: float, task_s: float, rounds: float, ages_s: Sequence[float], executors: int, *, factor: float = COLD_FACTOR, fades_s: float = WARM_AFTER_S
) -> float:
    """Return by how much a batch of so many rounds of tasks is longer where some of its executors are of these ages and the others warm.

    A free slot takes the next task, so that all share what is lost: it is the mean over the executors. Yet no batch ends before the first task of its
    youngest executor, which in one round of tasks is the last.

    >>> round(cold_work_s(6.0, 0.0), 1), round(cold_batch_s(6.0, 0.5, 12, [0.0], 4), 1), round(cold_batch_s(6.0, 6.0, 1, [0.0], 4), 1)
    (5.8, 1.4, 5.8)
    """
    shared_s = sum(cold_work_s(batch_s, age_s, factor=factor, fades_s=fades_s) for age_s in ages_s) / executors
    return max(shared_s, task_s + cold_work_s(task_s, min(ages_s), factor=factor, fades_s=fades_s) - rounds * task_s)


def cold_work_s(work_s: float, age_s: float, *, factor: float = COLD_FACTOR, fades_s: float = WARM_AFTER_S) -> float:
    """Return by how much work of `work_s` is longer on an executor of this age than on a warm one (SPARK-FACTS).

    An executor of age g takes 1 + f*exp(-g/tau) times as long and warms up while it works, so that W seconds of work become
    W + tau*ln(1 + f*exp(-g/tau)*(1 - exp(-W/tau))).

    >>> round(cold_work_s(0.001, 0.0), 6), round(cold_work_s(1000.0, 0.0), 3), cold_work_s(3.0, math.inf)
    (0.002, 8.789, 0.0)
    """
    return fades_s * math.log1p(factor * math.exp(-age_s / fades_s) * -math.expm1(-work_s / fades_s))
