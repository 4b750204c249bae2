"""When rows had arrived, from how many were there when each batch began."""

from __future__ import annotations

import numpy as np

from penstock.core.monitor.facts import ArrivalSample

PROBABILITIES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


class ArrivalCurve:
    """Rows that had arrived by a time, as far back as rows still wait; in between they came evenly.

    Without a source that tells how far behind a batch was, a batch took all there was.

    >>> curve = ArrivalCurve()
    >>> curve.batch(100.0, rows=5000, behind_rows=None) is None
    True
    >>> curve.batch(110.0, rows=1000, behind_rows=None).wall_s[::3]
    (100.0, 105.0, 110.0)
    """

    def __init__(self) -> None:
        self._times_s: list[float] = []
        self._rows: list[float] = []
        self.processed_rows = 0.0

    @property
    def newest_rows(self) -> float | None:
        return self._rows[-1] if self._rows else None

    @property
    def counted_s(self) -> float | None:
        """When the newest rows were counted."""
        return self._times_s[-1] if self._times_s else None

    def idle(self, at_s: float) -> None:
        """Nothing more had come by then."""
        if self._times_s and at_s > self._times_s[-1]:
            self._times_s[-1] = at_s

    def batch(self, started_s: float, *, rows: float, behind_rows: float | None) -> ArrivalSample | None:
        """When the rows of a batch came; None for the first one, of which nobody knows since when they waited, and for one without rows."""
        before = self.processed_rows
        self.processed_rows += rows
        known = bool(self._times_s)
        self._count(started_s, self.processed_rows + (behind_rows or 0.0))
        if not known or rows <= 0:
            return None
        wall_s = np.interp(before + rows * np.array(PROBABILITIES), self._rows, self._times_s)
        self._forget()
        return ArrivalSample(rows=rows, probabilities=PROBABILITIES, wall_s=tuple(wall_s.tolist()))

    def _count(self, at_s: float, newest: float) -> None:
        """A count that is not above the last one says only that nothing came since."""
        if self._times_s and at_s <= self._times_s[-1]:
            self._rows[-1] = max(self._rows[-1], newest)
        elif self._rows and newest <= self._rows[-1]:
            self._times_s[-1] = at_s
        else:
            self._times_s.append(at_s)
            self._rows.append(newest)

    def _forget(self) -> None:
        """Points that no waiting row needs."""
        keep = max(0, int(np.searchsorted(self._rows, self.processed_rows, side="right")) - 1)
        del self._times_s[:keep], self._rows[:keep]
