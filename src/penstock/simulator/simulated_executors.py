"""The executors of a simulated continuous job: the rows each has read, and its CPU time."""

from collections.abc import Sequence

import numpy as np

from penstock.core.monitor.facts import ExecutorFact
from penstock.core.shapes.chance import FloatArray, key_of
from penstock.simulator.engine_settings import ContinuousSettings
from penstock.simulator.seeded_draws import CPU, normal, shares

MOST_EXECUTORS = 1 << 20
"""More than any run has: keeps the random numbers of one second apart from those of the next."""


class SimulatedExecutors:
    """Executors are numbered from 1 in the order they start; the youngest leave first. The rows of all queries are distributed alike."""

    def __init__(self, queries: Sequence[ContinuousSettings], seed: int) -> None:
        self._queries = queries
        self._settings = queries[0]
        self._seed = seed
        self._noise_key = key_of(seed, CPU)
        self._starts = 0
        self._came = 0
        self._numbers = np.empty(0, dtype=np.int64)
        self._added_s = np.empty(0)
        self._rows = np.empty((len(queries), 0))
        self._cpu_s = np.empty(0)
        self._shares = np.empty(0)

    def __len__(self) -> int:
        return len(self._numbers)

    def capacity_rows_per_s(self, query: ContinuousSettings) -> float:
        """Return the capacity of all executors for this query alone, which the busiest executor limits: C = c1 / its share."""
        return float(query.capacity_rows_per_s / self._shares.max())

    def start(self, executors: int, at_s: float) -> None:
        """Start, or restart, with this many executors: rows are distributed anew."""
        self._starts += 1
        new = max(0, executors - len(self))
        self._numbers = np.append(self._numbers[:executors], self._came + 1 + np.arange(new))
        self._added_s = np.append(self._added_s[:executors], np.full(new, at_s))
        self._rows = np.hstack([self._rows[:, :executors], np.zeros((len(self._queries), new))])
        self._cpu_s = np.append(self._cpu_s[:executors], np.zeros(new))
        self._came += new
        self._shares = shares(self._seed, self._starts, executors, self._settings.skew)

    def cpu_s(self, finished_rows: Sequence[FloatArray], first: int) -> FloatArray:
        """Return the CPU time of each executor (column) in each second (row) from number `first` on, by the rows of each query that finish in it."""
        settings = self._settings
        busy = sum(np.outer(rows, self._shares) / query.capacity_rows_per_s for rows, query in zip(finished_rows, self._queries, strict=True))
        seconds = np.arange(first, first + len(finished_rows[0]), dtype=np.int64)
        noise = normal(self._noise_key, seconds[:, np.newaxis] * MOST_EXECUTORS + self._numbers)
        return np.asarray((settings.idle + (1 - settings.idle) * busy) * np.maximum(1 + settings.noise * noise, 0.0))

    def work(self, finished_rows: Sequence[FloatArray], cpu_s: FloatArray) -> None:
        """Add up the rows of each query and the CPU time of some seconds."""
        self._rows = self._rows + np.outer([rows.sum() for rows in finished_rows], self._shares)
        self._cpu_s = self._cpu_s + cpu_s.sum(axis=0)

    @property
    def facts(self) -> tuple[ExecutorFact, ...]:
        each = zip(self._numbers.tolist(), self._added_s.tolist(), self._cpu_s.tolist(), strict=True)
        return tuple(ExecutorFact(executor_id=str(number), host="simulated", slots=1, added_s=added_s, cpu_s=cpu_s) for number, added_s, cpu_s in each)

    @property
    def rows(self) -> list[dict[str, float]]:
        """For each query the rows that each executor has read since it started, replays included."""
        return [{str(number): rows for number, rows in zip(self._numbers.tolist(), of_query, strict=True)} for of_query in self._rows.tolist()]
