"""The rate of a trace over its own time, piecewise linear, with its exact integral and inverse.

A curve goes through the knots of a CSV or of a shape that settles (`KnotCurve`), or samples a shape that never does (`SampledCurve`).
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from typing import Self

import numpy as np

from penstock.core.shapes.chance import FloatArray, IntArray
from penstock.core.shapes.shape import Shape


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinearRate:
    """A rate that is linear in each of n cells between n + 1 borders: the rate at both ends of each cell, and the rows due by each border.

    >>> triangle = LinearRate.through(np.array([0.0, 1.0, 2.0]), np.array([0.0, 2.0, 0.0]))
    >>> triangle.rows_by(np.array([0.5, 1.0, 2.0])).tolist(), triangle.time_of(np.array([0.25, 1.0, 2.0])).tolist()
    ([0.25, 1.0, 2.0], [0.5, 1.0, 2.0])
    """

    border_s: FloatArray
    rate_in: FloatArray
    rate_out: FloatArray
    rows: FloatArray

    @classmethod
    def through(cls, t_s: FloatArray, rate: FloatArray) -> Self:
        """Return the rate through these points; no row is due before the first."""
        rows = np.concatenate(([0.0], np.cumsum(np.diff(t_s) * (rate[1:] + rate[:-1]) / 2)))
        return cls(border_s=t_s, rate_in=rate[:-1], rate_out=rate[1:], rows=rows)

    def rate_at(self, t_s: FloatArray) -> FloatArray:
        cell, into_s = self._cell_at(t_s)
        return self._rate_in_cell(cell, into_s)

    def rows_by(self, t_s: FloatArray) -> FloatArray:
        """Return the rows due by these times, which are clipped to the borders."""
        cell, into_s = self._cell_at(t_s)
        gained = into_s * (self.rate_in[cell] + self._rate_in_cell(cell, into_s)) / 2
        return np.minimum(self.rows[cell] + gained, self.rows[cell + 1])

    def time_of(self, rows: FloatArray) -> FloatArray:
        """Return the earliest times at which these numbers of rows are due; at most the last border.

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


AT_END = ("hold", "repeat", "stop")


@dataclass(frozen=True, slots=True, kw_only=True)
class Knots:
    """Points of a rate at ascending times, the first at 0; compared by digest."""

    t_s: FloatArray = field(compare=False, repr=False)
    rate: FloatArray = field(compare=False, repr=False)
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        content = np.ascontiguousarray(np.stack((self.t_s, self.rate)), dtype="<f8").tobytes()
        object.__setattr__(self, "digest", hashlib.sha256(content).hexdigest()[:16])


class KnotCurve:
    """The curve through knots, held, repeated or stopped after the last; a single knot is a constant rate."""

    def __init__(self, knots: Knots, at_end: str) -> None:
        t_s, rate = knots.t_s, knots.rate
        if len(t_s) == 1:
            t_s, rate, at_end = np.array([0.0, 1.0]), np.repeat(rate, 2), "hold"
        self._once = LinearRate.through(t_s, rate)
        self._at_end = at_end
        self._length_s = float(t_s[-1])
        self._total = float(self._once.rows[-1])
        self._last_rate = float(rate[-1]) if at_end == "hold" else 0.0

    def rate_at(self, t_s: FloatArray) -> FloatArray:
        """Return rows/s at these times."""
        if self._at_end == "repeat":
            return self._once.rate_at(np.mod(t_s, self._length_s))
        return np.where(t_s < self._length_s, self._once.rate_at(t_s), self._last_rate)

    def rows_by(self, t_s: FloatArray) -> FloatArray:
        """Return the integral of the rate from 0 to these times."""
        if self._at_end == "repeat":
            rounds, into_s = np.divmod(np.maximum(t_s, 0.0), self._length_s)
            return rounds * self._total + self._once.rows_by(into_s)
        return self._once.rows_by(t_s) + self._last_rate * np.maximum(t_s - self._length_s, 0.0)

    def time_of(self, rows: FloatArray) -> FloatArray:
        """Return the earliest times at which these numbers of rows are due; infinite for never."""
        if self._at_end == "repeat" and self._total > 0:
            rounds: FloatArray = np.maximum(np.ceil(rows / self._total) - 1, 0.0)
            return rounds * self._length_s + self._once.time_of(rows - rounds * self._total)
        beyond = np.maximum(rows - self._total, 0.0)
        later_s = self._length_s + beyond / self._last_rate if self._last_rate > 0 else np.full_like(rows, np.inf)
        return np.where(beyond > 0, later_s, self._once.time_of(rows))

    def breaks(self, from_s: float, to_s: float, at_most: int) -> FloatArray | None:
        """Return the times between these two at which the slope may change; None if there are more than `at_most`."""
        border_s, length_s = self._once.border_s, self._length_s
        first, last = (int(from_s // length_s), int(to_s // length_s)) if self._at_end == "repeat" else (0, 0)
        if last - first > at_most:
            return None
        found, left = [], at_most
        for start_s in (number * length_s for number in range(first, last + 1)):
            low, high = np.searchsorted(border_s, from_s - start_s, side="right"), np.searchsorted(border_s, to_s - start_s, side="left")
            left -= max(int(high - low), 0)
            if left < 0:
                return None
            found.append(border_s[low:high] + start_s)
        return np.concatenate(found)


BLOCK_S = 16_384
BARREN_BLOCKS = 10 * 366 * 86_400 // BLOCK_S
"""Ten years of trace: a shape with less than one row in ten years has no more rows."""
_KEPT_BLOCKS = 256


class SampledCurve:
    """The curve of a shape, linear between samples every second. Only the rows before each block are kept; its samples are cached and made again when needed.

    Answers do not depend on the order of calls. It is safe for threads: arrays are replaced, never changed.
    """

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._before = np.zeros(1)
        self._block = lru_cache(maxsize=_KEPT_BLOCKS)(self._sample)

    def rate_at(self, t_s: FloatArray) -> FloatArray:
        return self._by_block(self._number(t_s), lambda block, at: block.rate_at(t_s[at]))

    def rows_by(self, t_s: FloatArray) -> FloatArray:
        number = self._number(t_s)
        before = self._rows_before(int(number.max(initial=0)))
        return before[number] + self._by_block(number, lambda block, at: block.rows_by(t_s[at]))

    def time_of(self, rows: FloatArray) -> FloatArray:
        """Return the earliest times at which these numbers of rows are due; later than ten years of trace without a row counts as never."""
        before = self._rows_until(float(rows.max(initial=0.0)))
        finite = np.minimum(rows, before[-1])
        number = np.clip(np.searchsorted(before, finite, side="left") - 1, 0, len(before) - 1)
        t_s = self._by_block(number, lambda block, at: block.time_of(finite[at] - before[number[at]]))
        return np.where(rows > finite, np.inf, t_s)

    def breaks(self, from_s: float, to_s: float, at_most: int) -> FloatArray | None:
        return np.arange(np.floor(from_s) + 1, np.ceil(to_s)) if to_s - from_s <= at_most else None

    def _rows_until(self, rows: float) -> FloatArray:
        """Return the rows due before each block, extended until `rows` are due or no more come."""
        before = self._before
        while before[-1] < rows and (len(before) <= BARREN_BLOCKS or before[-1] - before[-1 - BARREN_BLOCKS] >= 1):
            before = self._rows_before(len(before))
        return before

    def _rows_before(self, number: int) -> FloatArray:
        """Return the rows due before each block up to `number`; added one by one, as float sums depend on their order."""
        before = self._before
        if number >= len(before):
            totals = (float(self._sample(each).rows[-1]) for each in range(len(before) - 1, number))
            before = np.concatenate((before[:-1], np.fromiter(accumulate(totals, initial=float(before[-1])), dtype=np.float64)))
            self._before = before
        return before

    def _sample(self, number: int) -> LinearRate:
        t_s = number * float(BLOCK_S) + np.arange(BLOCK_S + 1, dtype=np.float64)
        return LinearRate.through(t_s, self._shape.rate_at(t_s))

    def _by_block(self, number: IntArray, answer: Callable[[LinearRate, IntArray], FloatArray]) -> FloatArray:
        """Return one answer for each element, by the block it is in."""
        out = np.empty(len(number))
        order = np.argsort(number, kind="stable")
        blocks, starts = np.unique(number[order], return_index=True)
        for each, at in zip(blocks.tolist(), np.split(order, starts[1:]), strict=False):
            out[at] = answer(self._block(each), at)
        return out

    def _number(self, t_s: FloatArray) -> IntArray:
        return (np.maximum(t_s, 0.0) // BLOCK_S).astype(np.int64)


_SAMPLED_WHOLE_S = 1_000_000


RateCurve = KnotCurve | SampledCurve
"""A rate that is piecewise linear in trace time (seconds from its start)."""


def curve_of_shape(shape: Shape) -> RateCurve:
    """Return the curve of a shape, sampled every second; one that settles is held from then on.

    >>> from penstock.core.shapes.shape import parse_shape
    >>> curve_of_shape(parse_shape("step(before=100, after=500, at=60)")).rows_by(np.array([60.0, 61.0, 71.0])).tolist()
    [6000.0, 6300.0, 11300.0]
    """
    if shape.settled_s <= _SAMPLED_WHOLE_S:
        t_s = np.arange(np.ceil(shape.settled_s) + 1)
        return KnotCurve(Knots(t_s=t_s, rate=shape.rate_at(t_s)), "hold")
    return SampledCurve(shape)
