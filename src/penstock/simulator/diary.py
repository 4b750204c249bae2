"""The recorded seconds of a simulated micro-batch query, from its commits."""

import math

import numpy as np

from penstock.core.shapes.chance import FloatArray
from penstock.simulator.batch import Batch
from penstock.simulator.ground_truth import Record, Seconds
from penstock.simulator.load import Rows

LEAST_ROWS = 1e-6
"""A smaller lag is a rounding error."""


class Diary:
    """Collects commits, executors and downtimes until they are written into the record as whole seconds."""

    def __init__(self, record: Record, executors: int) -> None:
        self._record = record
        self._processed_rows = 0.0
        self._commits: list[tuple[float, float, float]] = []
        self._paid: list[tuple[float, int]] = [(record.start_s, executors)]
        self._downtimes: list[tuple[float, float]] = []

    def committed(self, batch: Batch, arrived_s: FloatArray) -> None:
        """Note a commit; the rows that arrived at `arrived_s` stand for all rows of the batch."""
        latency_s, count = batch.ends_s - arrived_s, len(arrived_s)
        self._record.deliver(np.full(count, batch.ends_s), latency_s, np.full(count, batch.rows / count))
        self._commits.append((batch.ends_s, batch.rows, float(latency_s.mean())))

    def paid(self, at_s: float, executors: int) -> None:
        """Note the number of executors that are paid for from now on."""
        if executors != self._paid[-1][1]:
            self._paid.append((at_s, executors))

    def down(self, from_s: float, until_s: float) -> None:
        self._downtimes.append((from_s, until_s))

    def write(self, until_s: float, load: Rows) -> None:
        """Write all whole seconds until `until_s` into the record."""
        count = math.floor(until_s - self._record.end_s + 1e-9)
        if count < 1:
            return
        edges = self._record.end_s + np.arange(count + 1, dtype=np.float64)
        arrived, ends = load.rows_until(edges), edges[1:]
        finished, latency_s = self._finished(float(edges[0]), count)
        processed = self._processed_rows + np.cumsum(finished)
        lag = np.maximum(arrived[1:] - processed, 0.0)
        times, paid = np.array([at_s for at_s, _ in self._paid]), np.array([executors for _, executors in self._paid], dtype=np.float64)
        in_force = np.maximum(np.searchsorted(times, edges[:-1], side="right") - 1, 0)
        self._record.append(
            Seconds(
                executors=paid[in_force],
                arrived_rows=np.diff(arrived),
                finished_rows=finished,
                replayed_rows=np.zeros(count),
                lag_rows=lag,
                latency_s=latency_s,
                oldest_s=np.where(lag > LEAST_ROWS, ends - np.minimum(load.arrived_s(processed), ends), 0.0),
                down=sum((np.clip(np.minimum(ends, end_s) - np.maximum(edges[:-1], from_s), 0.0, 1.0) for from_s, end_s in self._downtimes), np.zeros(count)),
            )
        )
        self._processed_rows = float(processed[-1])
        self._forget(float(ends[-1]))

    def _finished(self, first_s: float, count: int) -> tuple[FloatArray, FloatArray]:
        """Return the rows that finished in each second, and their mean latency."""
        known = np.array(self._commits, dtype=np.float64).reshape(-1, 3)
        second = np.maximum(np.ceil(known[:, 0] - first_s) - 1, 0).astype(np.int64)
        inside = second < count
        second, rows, latency_s = second[inside], known[inside, 1], known[inside, 2]
        finished = np.bincount(second, weights=rows, minlength=count).astype(np.float64)
        waited_s = np.bincount(second, weights=rows * latency_s, minlength=count)
        return finished, np.asarray(np.divide(waited_s, finished, out=np.zeros(count), where=finished > 0), dtype=np.float64)

    def _forget(self, before_s: float) -> None:
        self._commits = [each for each in self._commits if each[0] > before_s]
        self._paid = [*[each for each in self._paid if each[0] <= before_s][-1:], *[each for each in self._paid if each[0] > before_s]]
        self._downtimes = [each for each in self._downtimes if each[1] > before_s]
