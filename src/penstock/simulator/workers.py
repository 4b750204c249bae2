"""The workers of a simulated continuous job: what each has read, and the CPU it took."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.core.monitor.facts import ExecutorFact
from penstock.core.shapes.chance import FloatArray, key_of
from penstock.simulator.chance import CPU, normal, shares
from penstock.simulator.engine_settings import ContinuousSettings

MOST_WORKERS = 1 << 20
"""Of a run: what keeps the chance of one second apart from that of the next."""


class Workers:
    """Numbered from 1 in the order they came; when fewer are wanted the youngest leave. All queries that they work for share out their rows alike."""

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
        """Of all together, if they work for this query alone: the busiest decides, C = c1 / its share."""
        return float(query.capacity_rows_per_s / self._shares.max())

    def start(self, size: int, at_s: float) -> None:
        """Begin, or begin again, with so many: rows are shared out anew."""
        self._starts += 1
        new = max(0, size - len(self))
        self._numbers = np.append(self._numbers[:size], self._came + 1 + np.arange(new))
        self._added_s = np.append(self._added_s[:size], np.full(new, at_s))
        self._rows = np.hstack([self._rows[:, :size], np.zeros((len(self._queries), new))])
        self._cpu_s = np.append(self._cpu_s[:size], np.zeros(new))
        self._came += new
        self._shares = shares(self._seed, self._starts, size, self._settings.skew)

    def cpu_s(self, finished_rows: Sequence[FloatArray], first: int) -> FloatArray:
        """What each takes in each of the seconds from number `first` on in which so many rows of each query finish."""
        settings = self._settings
        busy = sum(np.outer(rows, self._shares) / query.capacity_rows_per_s for rows, query in zip(finished_rows, self._queries, strict=True))
        seconds = np.arange(first, first + len(finished_rows[0]), dtype=np.int64)
        noise = normal(self._noise_key, seconds[:, np.newaxis] * MOST_WORKERS + self._numbers)
        return np.asarray((settings.idle + (1 - settings.idle) * busy) * np.maximum(1 + settings.noise * noise, 0.0))

    def work(self, finished_rows: Sequence[FloatArray], cpu_s: FloatArray) -> None:
        """Live through seconds: so many rows of each query in each, and what that takes."""
        self._rows = self._rows + np.outer([rows.sum() for rows in finished_rows], self._shares)
        self._cpu_s = self._cpu_s + cpu_s.sum(axis=0)

    @property
    def facts(self) -> tuple[ExecutorFact, ...]:
        told = zip(self._numbers.tolist(), self._added_s.tolist(), self._cpu_s.tolist(), strict=True)
        return tuple(ExecutorFact(executor_id=str(number), host="simulated", slots=1, added_s=added_s, cpu_s=cpu_s) for number, added_s, cpu_s in told)

    @property
    def rows(self) -> list[dict[str, float]]:
        """For each query what each has read since it came, replays included."""
        return [{str(number): rows for number, rows in zip(self._numbers.tolist(), of_query, strict=True)} for of_query in self._rows.tolist()]
