"""A rate that is linear in each of many cells of time, and its exact integral and inverse."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.core.shapes.chance import FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinearRate:
    """n cells between n + 1 borders: the rate at both ends of each cell, and the rows due by each border.

    >>> triangle = LinearRate.through(np.array([0.0, 1.0, 2.0]), np.array([0.0, 2.0, 0.0]))
    >>> triangle.rows_by(np.array([0.5, 1.0, 2.0])).tolist(), triangle.time_of(np.array([0.25, 1.0, 2.0])).tolist()
    ([0.25, 1.0, 2.0], [0.5, 1.0, 2.0])
    """

    border_s: FloatArray
    rate_in: FloatArray
    rate_out: FloatArray
    rows: FloatArray

    @classmethod
    def through(cls, t_s: FloatArray, rate: FloatArray) -> LinearRate:
        """The rate through these points, with no row before the first."""
        rows = np.concatenate(([0.0], np.cumsum(np.diff(t_s) * (rate[1:] + rate[:-1]) / 2)))
        return cls(border_s=t_s, rate_in=rate[:-1], rate_out=rate[1:], rows=rows)

    def rate_at(self, t_s: FloatArray) -> FloatArray:
        cell, into_s = self._cell_at(t_s)
        return self._rate_in_cell(cell, into_s)

    def rows_by(self, t_s: FloatArray) -> FloatArray:
        """Rows due by these times; a time outside counts as the nearest border."""
        cell, into_s = self._cell_at(t_s)
        gained = into_s * (self.rate_in[cell] + self._rate_in_cell(cell, into_s)) / 2
        return np.minimum(self.rows[cell] + gained, self.rows[cell + 1])

    def time_of(self, rows: FloatArray) -> FloatArray:
        """The earliest time at which so many rows are due; at most the last border.

        In a cell, rows = a x + s x^2 / 2 with rate a and slope s; x = 2 rows / (a + sqrt(a^2 + 2 s rows)) holds its precision at every slope.
        """
        cell = np.clip(np.searchsorted(self.rows, rows, side="left") - 1, 0, len(self.rate_in) - 1)
        due, rate, width_s = np.maximum(rows - self.rows[cell], 0.0), self.rate_in[cell], self._width_s(cell)
        slope = (self.rate_out[cell] - rate) / width_s
        below = rate + np.sqrt(np.maximum(rate * rate + 2 * slope * due, 0.0))
        into_s: FloatArray = np.divide(2 * due, below, out=np.zeros_like(due), where=below > 0)
        return self.border_s[cell] + np.minimum(into_s, width_s)

    def _cell_at(self, t_s: FloatArray) -> tuple[IntArray, FloatArray]:
        cell = np.clip(np.searchsorted(self.border_s, t_s, side="right") - 1, 0, len(self.rate_in) - 1)
        return cell, np.clip(t_s - self.border_s[cell], 0.0, self._width_s(cell))

    def _rate_in_cell(self, cell: IntArray, into_s: FloatArray) -> FloatArray:
        share = into_s / self._width_s(cell)
        return self.rate_in[cell] * (1 - share) + self.rate_out[cell] * share

    def _width_s(self, cell: IntArray) -> FloatArray:
        return self.border_s[cell + 1] - self.border_s[cell]
