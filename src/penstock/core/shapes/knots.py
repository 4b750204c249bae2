"""A rate given by points in time: linear between them, and held, repeated or stopped after the last."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np

from penstock.core.shapes.chance import FloatArray
from penstock.core.shapes.linear import LinearRate

AT_END = ("hold", "repeat", "stop")


@dataclass(frozen=True, slots=True, kw_only=True)
class Knots:
    """Points of a rate, the first at time 0, times rising; two are equal when their digests are."""

    t_s: FloatArray = field(compare=False, repr=False)
    rate: FloatArray = field(compare=False, repr=False)
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        content = np.ascontiguousarray(np.stack((self.t_s, self.rate)), dtype="<f8").tobytes()
        object.__setattr__(self, "digest", hashlib.sha256(content).hexdigest()[:16])


class KnotCurve:
    """The curve through knots; a single knot is a constant rate for ever."""

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
        if self._at_end == "repeat":
            return self._once.rate_at(np.mod(t_s, self._length_s))
        return np.where(t_s < self._length_s, self._once.rate_at(t_s), self._last_rate)

    def rows_by(self, t_s: FloatArray) -> FloatArray:
        if self._at_end == "repeat":
            rounds, into_s = np.divmod(np.maximum(t_s, 0.0), self._length_s)
            return rounds * self._total + self._once.rows_by(into_s)
        return self._once.rows_by(t_s) + self._last_rate * np.maximum(t_s - self._length_s, 0.0)

    def time_of(self, rows: FloatArray) -> FloatArray:
        if self._at_end == "repeat" and self._total > 0:
            rounds: FloatArray = np.maximum(np.ceil(rows / self._total) - 1, 0.0)
            return rounds * self._length_s + self._once.time_of(rows - rounds * self._total)
        beyond = np.maximum(rows - self._total, 0.0)
        later_s = self._length_s + beyond / self._last_rate if self._last_rate > 0 else np.full_like(rows, np.inf)
        return np.where(beyond > 0, later_s, self._once.time_of(rows))

    def breaks(self, from_s: float, to_s: float, at_most: int) -> FloatArray | None:
        """The times between these two at which the slope may change; None if they are too many."""
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
