"""The seconds of a run in micro-batches, from its commits."""

from __future__ import annotations

import math

import numpy as np

from penstock.core.shapes.chance import FloatArray
from penstock.simulator.batch import Batch
from penstock.simulator.ground_truth import Record, Seconds
from penstock.simulator.load import Rows

LEAST_ROWS = 1e-6
"""Less than this waits only by rounding."""


class Diary:
    """Keeps what happened until whole seconds of it can be written into the record."""

    def __init__(self, record: Record, workers: int) -> None:
        self._record = record
        self._processed_rows = 0.0
        self._commits: list[tuple[float, float, float]] = []
        self._sizes: list[tuple[float, int]] = [(record.start_s, workers)]
        self._stops: list[tuple[float, float]] = []

    def committed(self, batch: Batch, arrived_s: FloatArray) -> None:
        """A commit; the rows that arrived then stand for all of the batch."""
        latency_s, count = batch.ends_s - arrived_s, len(arrived_s)
        self._record.deliver(np.full(count, batch.ends_s), latency_s, np.full(count, batch.rows / count))
        self._commits.append((batch.ends_s, batch.rows, float(latency_s.mean())))

    def paid(self, at_s: float, workers: int) -> None:
        """So many from now on."""
        if workers != self._sizes[-1][1]:
            self._sizes.append((at_s, workers))

    def stood_still(self, from_s: float, until_s: float) -> None:
        self._stops.append((from_s, until_s))

    def write(self, until_s: float, load: Rows) -> None:
        """All whole seconds until then."""
        count = math.floor(until_s - self._record.end_s + 1e-9)
        if count < 1:
            return
        edges = self._record.end_s + np.arange(count + 1, dtype=np.float64)
        arrived, ends = load.rows_until(edges), edges[1:]
        finished, latency_s = self._finished(float(edges[0]), count)
        processed = self._processed_rows + np.cumsum(finished)
        lag = np.maximum(arrived[1:] - processed, 0.0)
        times, sizes = np.array([at_s for at_s, _ in self._sizes]), np.array([workers for _, workers in self._sizes], dtype=np.float64)
        in_force = np.maximum(np.searchsorted(times, edges[:-1], side="right") - 1, 0)
        self._record.append(
            Seconds(
                workers=sizes[in_force],
                arrived_rows=np.diff(arrived),
                finished_rows=finished,
                replayed_rows=np.zeros(count),
                lag_rows=lag,
                latency_s=latency_s,
                oldest_s=np.where(lag > LEAST_ROWS, ends - np.minimum(load.arrived_s(processed), ends), 0.0),
                down=sum((np.clip(np.minimum(ends, end_s) - np.maximum(edges[:-1], from_s), 0.0, 1.0) for from_s, end_s in self._stops), np.zeros(count)),
            )
        )
        self._processed_rows = float(processed[-1])
        self._forget(float(ends[-1]))

    def _finished(self, first_s: float, count: int) -> tuple[FloatArray, FloatArray]:
        """Rows of each second, and their mean latency."""
        known = np.array(self._commits, dtype=np.float64).reshape(-1, 3)
        second = np.maximum(np.ceil(known[:, 0] - first_s) - 1, 0).astype(np.int64)
        inside = second < count
        second, rows, latency_s = second[inside], known[inside, 1], known[inside, 2]
        finished = np.bincount(second, weights=rows, minlength=count).astype(np.float64)
        waited_s = np.bincount(second, weights=rows * latency_s, minlength=count)
        return finished, np.asarray(np.divide(waited_s, finished, out=np.zeros(count), where=finished > 0), dtype=np.float64)

    def _forget(self, before_s: float) -> None:
        self._commits = [each for each in self._commits if each[0] > before_s]
        self._sizes = [*[each for each in self._sizes if each[0] <= before_s][-1:], *[each for each in self._sizes if each[0] > before_s]]
        self._stops = [each for each in self._stops if each[1] > before_s]
