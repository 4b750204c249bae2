"""What the oracle knows of a plant: how fast it processes, when it is late, and what a rescale costs."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from penstock.core.domain.cadence import Cadence
from penstock.core.models.arrays import Flags, Floats, Ints
from penstock.core.models.capacity.batch_law import BatchLaw, row_cost_s

RARE = 1.645
"""Standard deviations that a twentieth of normal numbers exceeds."""
FULLEST = 0.95
"""The highest utilisation in the formula of the queue, as in the continuous engine."""

UNPROMISED_S = 60.0
"""Where no latency is promised, rows may not wait for longer than this: else all work would be put off."""


class KnownPlant(Protocol):
    """`executors` is a column; backlogs and ages have a row for each of its numbers. A change of the executors `stops` the job, or is live."""

    @property
    def up_s(self) -> float: ...

    @property
    def down_s(self) -> float: ...

    @property
    def stops(self) -> bool: ...

    def repeated_s(self) -> float:
        """Return how many seconds of arrivals a change of the executors repeats."""
        ...

    def throughput(self, executors: Ints, backlog_rows: Floats, rate_rows_per_s: float) -> Floats:
        """Return the rows/s that are processed while rows wait."""
        ...

    def is_late(self, executors: Ints, backlog_rows: Floats, rate_rows_per_s: float, age_s: Floats, *, grows: bool = False) -> Flags:
        """Return whether the promised latency is broken; the oldest row has waited for `age_s`. New executors join where the job `grows`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownContinuous:
    """Tasks run all the time. A change of the executors stops the job, and repeats half a checkpoint interval on average."""

    each_rows_per_s: float
    up_s: float
    down_s: float
    interval_s: float
    replays: bool = True
    latency_s: float = UNPROMISED_S
    base_s: float = 0.0
    queue_s: float = 0.0
    stops: bool = True

    def repeated_s(self) -> float:
        return self.interval_s / 2 if self.replays else 0.0

    def throughput(self, executors: Ints, backlog_rows: Floats, rate_rows_per_s: float) -> Floats:
        return np.asarray(self.each_rows_per_s * executors, dtype=np.float64)

    def is_late(self, executors: Ints, backlog_rows: Floats, rate_rows_per_s: float, age_s: Floats, *, grows: bool = False) -> Flags:
        used = np.minimum(FULLEST, rate_rows_per_s / (self.each_rows_per_s * executors))
        return np.asarray(self.base_s + self.queue_s * used / (1.0 - used) + age_s > self.latency_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownMicroBatch:
    """Micro-batches. Executors come and go while the query runs; the backlog is what waits beyond the rows of a usual batch.

    A batch is late if one in twenty would be, by the `noise` of durations. The batch that new executors join waits for their first tasks, which are cold.
    """

    law: BatchLaw
    cadence: Cadence
    up_s: float
    down_s: float
    noise: float = 0.0
    first_task_s: float = 0.0
    cold_factor: float = 0.0
    stops: bool = False

    def repeated_s(self) -> float:
        return 0.0

    def throughput(self, executors: Ints, backlog_rows: Floats, rate_rows_per_s: float) -> Floats:
        rows = self._batch_rows(executors, backlog_rows, rate_rows_per_s)
        return np.asarray(rows / self._takes_s(executors, rows))

    def is_late(self, executors: Ints, backlog_rows: Floats, rate_rows_per_s: float, age_s: Floats, *, grows: bool = False) -> Flags:
        takes_s = self._takes_s(executors, self._batch_rows(executors, backlog_rows, rate_rows_per_s))
        if grows:
            takes_s = takes_s + self.first_task_s + self.cold_factor * (takes_s - self.law.overhead_s) / self.law.waves(executors)
        longest_s = self.cadence.longest_s if self.cadence.promised else max(UNPROMISED_S, self.cadence.longest_s)
        return np.asarray(takes_s * np.exp(RARE * self.noise) > longest_s)

    def _row_s(self, executors: Ints) -> Floats:
        return np.asarray(row_cost_s(self.law.row_s * self.law.skew, self.law.partitions, self.law.waves(executors)))

    def _takes_s(self, executors: Ints, rows: Floats) -> Floats:
        return np.asarray(self.law.overhead_s + self._row_s(executors) * rows)

    def _batch_rows(self, executors: Ints, backlog_rows: Floats, rate_rows_per_s: float) -> Floats:
        """Return the rows of the next batch: those of a settled cycle, T = a/(1 - W*c) where that is longer than the trigger, and the backlog."""
        spare = 1.0 - rate_rows_per_s * self._row_s(executors)
        with np.errstate(divide="ignore"):
            settled_s = np.where(spare > 0.0, self.law.overhead_s / spare, np.inf)
        cycle_s = np.minimum(np.maximum(settled_s, self.cadence.interval_s), self.cadence.cycle_s)
        rows = rate_rows_per_s * cycle_s + backlog_rows
        return np.asarray(rows if self.law.limit_rows is None else np.minimum(rows, self.law.limit_rows))
