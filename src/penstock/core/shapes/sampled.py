"""The curve of a shape that never settles: sampled every second of trace time, as far as it was asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate

import numpy as np

from penstock.core.shapes.chance import FloatArray, IntArray
from penstock.core.shapes.linear import LinearRate
from penstock.core.shapes.shape import Shape

BLOCK_S = 16_384
BARREN_BLOCKS = 10 * 366 * 86_400 // BLOCK_S
"""Ten years of trace: a shape that brings less than a row in so long brings none any more."""
_KEPT_BLOCKS = 256


class SampledCurve:
    """Linear between samples. Only the rows before each block are kept for good; the samples of a block are made again when needed.

    The answers do not depend on the order of the questions, and threads may ask at once: what grows is replaced, never changed.
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
        """The earliest time at which so many rows are due; what comes after ten years of trace without a row counts as never."""
        before = self._rows_until(float(rows.max(initial=0.0)))
        finite = np.minimum(rows, before[-1])
        number = np.clip(np.searchsorted(before, finite, side="left") - 1, 0, len(before) - 1)
        t_s = self._by_block(number, lambda block, at: block.time_of(finite[at] - before[number[at]]))
        return np.where(rows > finite, np.inf, t_s)

    def breaks(self, from_s: float, to_s: float, at_most: int) -> FloatArray | None:
        """The times between these two at which the slope may change; None if they are too many."""
        return np.arange(np.floor(from_s) + 1, np.ceil(to_s)) if to_s - from_s <= at_most else None

    def _rows_until(self, rows: float) -> FloatArray:
        """The rows due before each block, extended until so many are due or no more come."""
        before = self._before
        while before[-1] < rows and (len(before) <= BARREN_BLOCKS or before[-1] - before[-1 - BARREN_BLOCKS] >= 1):
            before = self._rows_before(len(before))
        return before

    def _rows_before(self, number: int) -> FloatArray:
        """The rows due before each block, up to that number; one by one, as sums of floats depend on their order."""
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
        """One answer for each element, asked of the block it is in."""
        out = np.empty(len(number))
        order = np.argsort(number, kind="stable")
        blocks, starts = np.unique(number[order], return_index=True)
        for each, at in zip(blocks.tolist(), np.split(order, starts[1:]), strict=False):
            out[at] = answer(self._block(each), at)
        return out

    def _number(self, t_s: FloatArray) -> IntArray:
        return (np.maximum(t_s, 0.0) // BLOCK_S).astype(np.int64)
