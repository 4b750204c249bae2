"""Latency of micro-batches over interval and rate: the wait for the trigger and the time of the batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penstock.core.models.arrays import Flags, Floats
from penstock.core.models.surrogate.parts import Prior, fit_parts
from penstock.core.models.surrogate.points import Points

FEWEST = 4
"""Three parts, and a row to doubt them."""
SURE = 1.5
"""A batch that just fills its interval has a mean latency of this many intervals, so any batch with less fitted its interval."""
ROUNDS = 3
"""At most this many times the model is fitted and then asked which batches fitted their interval."""
FULL = 0.98
"""Beyond this share of the capacity latency is a matter of time: the form answers as if it were this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerLatency:
    """L = w*max(i,T) + T: a share w of the cycle, and the time T = a + b*n of a batch of n = W*max(i,T) rows (PAPER-NOTES "Micro-batch capacity").

    While a batch fits the interval i that is w*i + a + b*W*i; one that does not settles at T = a/(1 - b*W) as long as there is capacity, b*W < 1.
    W are the rows/s of each worker where their number is known.

    >>> job = TriggerLatency(wait_share=0.5, overhead_s=1.0, row_s=0.001)
    >>> job.at(Points(interval_s=np.array([4.0, 2.0]), rate=np.array([500.0, 750.0]))).tolist()
    [5.0, 6.0]
    """

    wait_share: float
    overhead_s: float
    row_s: float

    def at(self, points: Points) -> Floats:
        spare = np.maximum(1.0 - self.row_s * points.load, 1.0 - FULL)
        batch_s = np.where(self.in_time(points), self._batch_s(points), np.maximum(points.interval_s, self.overhead_s / spare))
        return np.asarray(self.wait_share * np.maximum(points.interval_s, batch_s) + batch_s, dtype=float).clip(1e-9)

    def in_time(self, points: Points) -> Flags:
        """Where a batch fits its interval."""
        return np.asarray(self._batch_s(points) <= points.interval_s)

    def _batch_s(self, points: Points) -> Floats:
        """T of a batch that took the rows of one interval."""
        return np.asarray(self.overhead_s + self.row_s * points.load * points.interval_s)

    @property
    def parameters(self) -> Mapping[str, float]:
        return {"wait_share": self.wait_share, "overhead_s": self.overhead_s, "row_s": self.row_s}


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerWait:
    """No part negative: half an interval of waiting on average, 0.95 of it at p95. Learnt from batches that fit their interval, where these are enough.

    >>> rows = Points(interval_s=np.array([1.0, 2.0, 4.0, 8.0]), rate=np.array([100.0, 300.0, 200.0, 400.0]))
    >>> seen = 0.5 * rows.interval_s + 0.3 + 0.001 * rows.rate * rows.interval_s
    >>> {name: round(value, 6) for name, value in TriggerWait().fit(rows, seen).parameters.items()}
    {'wait_share': 0.5, 'overhead_s': 0.3, 'row_s': 0.001}
    """

    name: str = "micro-batches"

    def fit(self, points: Points, seen: Floats) -> TriggerLatency:
        rows = np.asarray(seen <= SURE * points.interval_s)
        for _ in range(ROUNDS):
            known = rows if rows.sum() >= FEWEST else np.ones(len(points), dtype=bool)
            fitted = _straight(points.where(known), seen[known])
            rows = fitted.in_time(points)
            if np.array_equal(rows, known):
                break
        return fitted


def _straight(points: Points, seen: Floats) -> TriggerLatency:
    """As if all batches fitted their interval: a sum of parts."""
    wait_share, overhead_s, row_s = (float(amount) for amount in fit_parts(lambda _: _columns(points)[None], seen, (Prior(),) * 3)[1])
    return TriggerLatency(wait_share=wait_share, overhead_s=overhead_s, row_s=row_s)


def _columns(points: Points) -> Floats:
    return np.column_stack([points.interval_s, np.ones(len(points)), points.load * points.interval_s])
