"""What one query writes and others read: rows that come in lumps, known only up to now."""

from __future__ import annotations

import numpy as np

from penstock.core.shapes.chance import FloatArray
from penstock.simulator.ground_truth import Growing


class Topic:
    """Rows that were written, and when they can be read; it grows while its writer lives.

    >>> topic = Topic()
    >>> topic.write(np.array([5.0, 8.0]), np.array([10.0, 2.0]))
    >>> topic.rows_until(np.array([4.9, 5.0, 9.0])).tolist(), topic.arrived_s(np.array([0.0, 9.5, 10.0, 12.0])).tolist()
    ([0.0, 10.0, 12.0], [5.0, 5.0, 8.0, inf])
    """

    def __init__(self) -> None:
        self._readable_s, self._until = Growing(), Growing()
        self._readable_s.extend(np.array([-np.inf]))
        self._until.extend(np.array([0.0]))

    @property
    def written_rows(self) -> float:
        return float(self._until.values[-1])

    def write(self, readable_s: FloatArray, rows: FloatArray) -> None:
        """So many at each of these times, none of them before those written already."""
        some = rows > 0
        self._until.extend(self.written_rows + np.cumsum(rows[some]))
        self._readable_s.extend(readable_s[some])

    def ahead(self, readable_s: FloatArray, rows: FloatArray) -> Topic:
        """Another one with what will be written if nothing else happens; this one does not change."""
        foreseen = Topic()
        foreseen._readable_s.extend(self._readable_s.values[1:])
        foreseen._until.extend(self._until.values[1:])
        foreseen.write(readable_s, rows)
        return foreseen

    def rows_until(self, time_s: FloatArray) -> FloatArray:
        return self._until.values[np.searchsorted(self._readable_s.values, time_s, side="right") - 1]

    def arrived_s(self, rows: FloatArray) -> FloatArray:
        place, readable_s = np.searchsorted(self._until.values, rows, side="right"), self._readable_s.values
        return np.where(place < len(readable_s), readable_s[np.minimum(place, len(readable_s) - 1)], np.inf)
