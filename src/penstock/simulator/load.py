"""The rows that a simulated query reads: how many have arrived by a time, and when the row of a given number arrived."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import Protocol

import numpy as np

from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.shapes.chance import FloatArray
from penstock.simulator.ground_truth import Growing


class Rows(Protocol):
    """The rows that a query reads, counted from the start of the run: a load, or a topic that another query writes."""

    def rows_until(self, time_s: FloatArray) -> FloatArray:
        """Return the number of rows that have arrived by each time, as far as is known now."""

    def arrived_s(self, rows: FloatArray) -> FloatArray:
        """Return the last time at which only this many rows had arrived; infinite where no more are known."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Load:
    """Rows that arrive from `start_s` on, at a rate that is linear in each piece; the last piece has no end.

    >>> ramp = Load.of(Arrivals.through((0.0, 10.0), (0.0, 100.0)), start_s=0.0)
    >>> ramp.rows_until(np.array([5.0, 10.0, 12.0])).tolist()
    [125.0, 500.0, 700.0]
    >>> ramp.arrived_s(np.array([125.0, 700.0])).tolist()
    [5.0, 12.0]
    """

    begins_s: FloatArray
    rate_rows_per_s: FloatArray
    """At the beginning of each piece."""
    slope: FloatArray
    """Change of the rate, in rows/s per second."""
    rows_before: FloatArray

    @classmethod
    def of(cls, arrivals: Arrivals, start_s: float) -> Load:
        """Return the load of these rates from `start_s` on."""
        pieces = list(islice(arrivals.pieces(start_s), len(arrivals.time_s) + 1))
        begins_s = np.array([piece.start_s for piece in pieces])
        rate_in, rate_out = np.array([piece.rate_in for piece in pieces]), np.array([piece.rate_out for piece in pieces])
        length_s = np.diff(begins_s)
        slope = np.append((rate_out[:-1] - rate_in[:-1]) / length_s, 0.0)
        rows = np.concatenate(([0.0], np.cumsum(length_s * (rate_in[:-1] + rate_out[:-1]) / 2)))
        return cls(begins_s=begins_s, rate_rows_per_s=rate_in, slope=slope, rows_before=rows)

    @property
    def start_s(self) -> float:
        return float(self.begins_s[0])

    def rows_until(self, time_s: FloatArray) -> FloatArray:
        """Return the integral of the rate from `start_s` to each time."""
        piece = np.maximum(np.searchsorted(self.begins_s, time_s, side="right") - 1, 0)
        since_s = np.maximum(time_s - self.begins_s[piece], 0.0)
        return self.rows_before[piece] + since_s * (self.rate_rows_per_s[piece] + self.slope[piece] * since_s / 2)

    def arrived_s(self, rows: FloatArray) -> FloatArray:
        """Return when the row after each number of rows arrived; infinite where the load ends before."""
        piece = np.maximum(np.searchsorted(self.rows_before, rows, side="right") - 1, 0)
        more, rate, slope = rows - self.rows_before[piece], self.rate_rows_per_s[piece], self.slope[piece]
        # The root of rate x + slope x^2 / 2 = more in a form that does not cancel when the slope is small.
        divisor = rate + np.sqrt(np.maximum(rate**2 + 2 * slope * more, 0.0))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            since_s = np.where(more <= 0, 0.0, 2 * more / divisor)
        return self.begins_s[piece] + since_s

    def times(self, share: float) -> Load:
        """Return this load with `share` times the rows."""
        if share == 1.0:
            return self
        return replace(self, rate_rows_per_s=share * self.rate_rows_per_s, slope=share * self.slope, rows_before=share * self.rows_before)

    def then(self, at_s: float, rate_rows_per_s: float) -> Load:
        """Return this load until `at_s`, with a constant rate after it.

        >>> Load.of(Arrivals.constant(10.0), start_s=0.0).then(5.0, 100.0).rows_until(np.array([5.0, 6.0])).tolist()
        [50.0, 150.0]
        """
        if at_s <= self.start_s:
            return Load.of(Arrivals.constant(rate_rows_per_s), self.start_s)
        kept = int(np.searchsorted(self.begins_s, at_s, side="left"))
        return Load(
            begins_s=np.append(self.begins_s[:kept], at_s),
            rate_rows_per_s=np.append(self.rate_rows_per_s[:kept], rate_rows_per_s),
            slope=np.append(self.slope[:kept], 0.0),
            rows_before=np.append(self.rows_before[:kept], self.rows_until(np.array([at_s]))),
        )


class Topic:
    """Rows that one query writes and others read, known only up to now.

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
        """Append rows at these times, none of which is before those written already."""
        some = rows > 0
        self._until.extend(self.written_rows + np.cumsum(rows[some]))
        self._readable_s.extend(readable_s[some])

    def ahead(self, readable_s: FloatArray, rows: FloatArray) -> Topic:
        """Return a copy of this topic with rows that are expected to be written; this one does not change."""
        expected = Topic()
        expected._readable_s.extend(self._readable_s.values[1:])
        expected._until.extend(self._until.values[1:])
        expected.write(readable_s, rows)
        return expected

    def rows_until(self, time_s: FloatArray) -> FloatArray:
        return self._until.values[np.searchsorted(self._readable_s.values, time_s, side="right") - 1]

    def arrived_s(self, rows: FloatArray) -> FloatArray:
        place, readable_s = np.searchsorted(self._until.values, rows, side="right"), self._readable_s.values
        return np.where(place < len(readable_s), readable_s[np.minimum(place, len(readable_s) - 1)], np.inf)
