"""Latency of micro-batches over interval and rate: the wait for the trigger and the time of the batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penstock.core.models.surrogate.points import Floats, Points


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerLatency:
    """L = w*i + a + b*W*i: a share w of the interval i, and the time T = a + b*n of a batch of n = W*i rows (PAPER-NOTES "Micro-batch capacity")."""

    wait_share: float
    overhead_s: float
    row_s: float

    def at(self, points: Points) -> Floats:
        return np.asarray(np.maximum(self.wait_share * points.interval_s + self.overhead_s + self.row_s * points.rate * points.interval_s, 1e-9))

    @property
    def parameters(self) -> Mapping[str, float]:
        return {"wait_share": self.wait_share, "overhead_s": self.overhead_s, "row_s": self.row_s}


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerWait:
    """Least squares of the relative error, no part negative: half an interval of waiting on average, 0.95 of it at p95.

    >>> rows = Points(interval_s=np.array([1.0, 2.0, 4.0, 8.0]), rate=np.array([100.0, 300.0, 200.0, 400.0]))
    >>> seen = 0.5 * rows.interval_s + 0.3 + 0.001 * rows.rate * rows.interval_s
    >>> {name: round(value, 6) for name, value in TriggerWait().fit(rows, seen).parameters.items()}
    {'wait_share': 0.5, 'overhead_s': 0.3, 'row_s': 0.001}
    """

    name: str = "micro-batches"

    def fit(self, points: Points, seen: Floats) -> TriggerLatency:
        from scipy.optimize import nnls

        parts = np.column_stack([points.interval_s, np.ones(len(seen)), points.rate * points.interval_s])
        scale = np.maximum(parts.max(axis=0), 1e-12)
        wait_share, overhead_s, row_s = (float(value) for value in nnls(parts / scale / seen[:, None], np.ones(len(seen)))[0] / scale)
        return TriggerLatency(wait_share=wait_share, overhead_s=overhead_s, row_s=row_s)
