"""The even series that forecasts are made from: samples at any times, averaged in bins."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from penstock.core.models.arrays import Flags, Floats

STEP_S = 10.0
"""Width of a bin."""
LONGEST_GAP_S = 300.0
USUAL_GAPS = 3.0
"""A gap longer than LONGEST_GAP_S and than this many times the median distance of samples is not bridged: only samples after it count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSeen:
    """The arrival rate of the job at a time of a steady clock."""

    at_s: float
    rate_rows_per_s: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.at_s) and math.isfinite(self.rate_rows_per_s) and self.rate_rows_per_s >= 0):
            raise ValueError(f"a load of {self.rate_rows_per_s} rows/s at {self.at_s} s is not a load")


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Sums and counts of samples in bins: bin k covers [k * step_s, (k + 1) * step_s); `first` is the number of the oldest."""

    step_s: float = STEP_S
    first: int = 0
    sums: tuple[float, ...] = ()
    counts: tuple[int, ...] = ()

    def with_seen(self, seen: Sequence[LoadSeen], keep_s: float) -> Self:
        """Return the series with more samples, in any order, cut to the newest `keep_s`.

        >>> seen = [LoadSeen(at_s=at_s, rate_rows_per_s=rate) for at_s, rate in ((12.0, 4.0), (25.0, 5.0), (13.0, 6.0))]
        >>> Series().with_seen(seen, 60.0)
        Series(step_s=10.0, first=1, sums=(10.0, 5.0), counts=(2, 1))
        """
        if not seen:
            return self
        numbers = [math.floor(each.at_s / self.step_s) for each in seen]
        end = max(*numbers, self.first + len(self.sums) - 1 if self.sums else numbers[0]) + 1
        start = max(min(*numbers, self.first if self.sums else numbers[0]), end - steps_in(keep_s, self.step_s))
        sums, counts = [0.0] * (end - start), [0] * (end - start)
        for offset, (total, count) in enumerate(zip(self.sums, self.counts, strict=True), self.first - start):
            if offset >= 0:
                sums[offset], counts[offset] = total, count
        for number, each in zip(numbers, seen, strict=True):
            if number >= start:
                sums[number - start] += each.rate_rows_per_s
                counts[number - start] += 1
        return replace(self, first=start, sums=tuple(sums), counts=tuple(counts))

    @property
    def end(self) -> int:
        """The number of the bin after the newest."""
        return self.first + len(self.sums)

    def rate_in(self, number: int) -> float | None:
        """Return the mean rate of a bin; None without a sample."""
        place = number - self.first
        return self.sums[place] / self.counts[place] if 0 <= place < len(self.sums) and self.counts[place] else None

    def even(self) -> Floats:
        """Return the average of each bin after the last gap that is too long to bridge; shorter gaps are interpolated.

        >>> Series(first=0, sums=(2.0, 0.0, 6.0), counts=(1, 0, 1)).even().tolist()
        [2.0, 4.0, 6.0]
        """
        known = self._unbroken()
        if not len(known):
            return np.zeros(0)
        averages = np.asarray(self.sums)[known] / np.asarray(self.counts)[known]
        return np.asarray(np.interp(np.arange(known[0], known[-1] + 1), known, averages))

    def sampled(self) -> Flags:
        """Return which bins of `even` have samples; the others become known with the next sample.

        >>> Series(first=0, sums=(2.0, 0.0, 6.0), counts=(1, 0, 1)).sampled().tolist()
        [True, False, True]
        """
        known = self._unbroken()
        return np.asarray(self.counts)[known[0] : known[-1] + 1] > 0 if len(known) else np.zeros(0, dtype=bool)

    def _unbroken(self) -> npt.NDArray[np.intp]:
        """Return the bins with samples after the last gap that is too long to bridge, counted from the oldest bin."""
        known = np.flatnonzero(self.counts)
        broken = np.flatnonzero(np.diff(known) > longest_gap_s(known * self.step_s) / self.step_s)
        return known[broken[-1] + 1 :] if len(broken) else known


def steps_in(duration_s: float, step_s: float) -> int:
    """Return a duration in steps, at least one.

    >>> steps_in(900.0, 10.0), steps_in(25.0, 10.0), steps_in(1.0, 10.0)
    (90, 2, 1)
    """
    return max(1, round(duration_s / step_s))


def longest_gap_s(times_s: npt.ArrayLike) -> float:
    """Return the longest gap that is bridged between samples at these ascending times.

    >>> longest_gap_s([0.0, 10.0, 20.0]), longest_gap_s([0.0, 600.0, 1200.0])
    (300.0, 1800.0)
    """
    apart = np.diff(np.asarray(times_s, dtype=np.float64))
    return max(LONGEST_GAP_S, USUAL_GAPS * float(np.median(apart))) if len(apart) else LONGEST_GAP_S


def varies(values: Floats) -> bool:
    """Return whether a series is more than one value and its rounding.

    >>> varies(np.array([3.0, 3.0])), varies(np.array([3.0, 3.1]))
    (False, True)
    """
    return bool(np.ptp(values) > 1e-9 * np.abs(values).max())
