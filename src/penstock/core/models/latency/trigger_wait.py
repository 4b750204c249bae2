"""Latency of micro-batches over interval and rate: the wait for the trigger and the time of the batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penstock.core.models.surrogate.parts import Prior, fit_parts
from penstock.core.models.surrogate.points import Floats, Points


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerLatency:
    """L = w*i + a + b*W*i: a share w of the interval i, and the time T = a + b*n of a batch of n = W*i rows (PAPER-NOTES "Micro-batch capacity").

    W are the rows/s of each worker where their number is known.
    """

    wait_share: float
    overhead_s: float
    row_s: float

    def at(self, points: Points) -> Floats:
        return np.asarray(_columns(points) @ np.array([self.wait_share, self.overhead_s, self.row_s]), dtype=float).clip(1e-9)

    @property
    def parameters(self) -> Mapping[str, float]:
        return {"wait_share": self.wait_share, "overhead_s": self.overhead_s, "row_s": self.row_s}


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerWait:
    """No part negative: half an interval of waiting on average, 0.95 of it at p95.

    >>> rows = Points(interval_s=np.array([1.0, 2.0, 4.0, 8.0]), rate=np.array([100.0, 300.0, 200.0, 400.0]))
    >>> seen = 0.5 * rows.interval_s + 0.3 + 0.001 * rows.rate * rows.interval_s
    >>> {name: round(value, 6) for name, value in TriggerWait().fit(rows, seen).parameters.items()}
    {'wait_share': 0.5, 'overhead_s': 0.3, 'row_s': 0.001}
    """

    name: str = "micro-batches"

    def fit(self, points: Points, seen: Floats) -> TriggerLatency:
        wait_share, overhead_s, row_s = (float(amount) for amount in fit_parts(lambda _: _columns(points)[None], seen, (Prior(),) * 3)[1])
        return TriggerLatency(wait_share=wait_share, overhead_s=overhead_s, row_s=row_s)


def _columns(points: Points) -> Floats:
    return np.column_stack([points.interval_s, np.ones(len(points)), points.load * points.interval_s])
