"""The checkpoints of a continuous job since it last began: when they are, and how long it paused for them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from penstock.core.shapes.chance import FloatArray

HAIR = 1e-9
"""Of an interval: what rounding may do to a moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoints:
    """One every interval after `since_s`, each followed by a pause; `taken` of them are past.

    >>> grid = Checkpoints(since_s=0.0, interval_s=10.0, pause_s=2.0)
    >>> grid.due(30.0).tolist(), grid.due(30.5).tolist()
    ([10.0, 20.0], [10.0, 20.0, 30.0])
    >>> grid.paused_s(np.array([10.0, 11.0, 15.0, 22.0])).tolist()
    [0.0, 1.0, 2.0, 4.0]
    """

    since_s: float
    interval_s: float
    pause_s: float
    taken: int = 0

    def due(self, end_s: float) -> FloatArray:
        """The times of those not taken, before `end_s`: one at that very moment comes later."""
        count = math.ceil((end_s - self.since_s) / self.interval_s - HAIR) - 1
        return np.asarray(self.since_s + self.interval_s * np.arange(self.taken + 1, count + 1))

    def paused_s(self, time_s: FloatArray) -> FloatArray:
        """The sum of the pauses until each time."""
        since_first_s = np.maximum(time_s - self.since_s - self.interval_s, 0.0)
        whole = np.floor(since_first_s / self.interval_s)
        return np.asarray(whole * self.pause_s + np.minimum(since_first_s - whole * self.interval_s, self.pause_s))
