"""Arrival rates over time: measured rates, followed by forecast ones."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.forecast.forecast import Forecast

BLOCKS = 16
"""Number of blocks in which a stretch is tested for a constant level; fewer points do not separate noise from a trend."""
SIGMAS = 3.0
"""The two halves of a stretch have different levels if their means differ by more standard errors than this."""
MOST_RELATED = 8
"""Points over which noise may be correlated, as metrics are averages; blocks of this size average it out."""


class Piece(NamedTuple):
    """A stretch of time in which the rate is linear; the last one has no end and a constant rate."""

    start_s: float
    end_s: float
    rate_in: float
    rate_out: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """A rate that is linear between points, constant before the first, and `long_run_rate` from the last one on: f of Phoebe sec. III-B.

    >>> ramp = Arrivals.through((0.0, 10.0), (0.0, 100.0))
    >>> ramp.rate(5.0), ramp.rate(99.0), ramp.rows(0.0, 10.0), ramp.rows(5.0, 12.0)
    (50.0, 100.0, 500.0, 575.0)
    """

    time_s: tuple[float, ...]
    rate_rows_per_s: tuple[float, ...]
    rows_by_point: tuple[float, ...] = field(init=False, repr=False, compare=False)
    long_run_rate: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        time_s, rate = np.asarray(self.time_s, dtype=np.float64), np.asarray(self.rate_rows_per_s, dtype=np.float64)
        _check(time_s, rate)
        rows = np.concatenate(([0.0], np.cumsum(np.diff(time_s) * (rate[1:] + rate[:-1]) / 2)))
        object.__setattr__(self, "rows_by_point", tuple(rows.tolist()))
        object.__setattr__(self, "long_run_rate", long_run_level(time_s, rate))

    @classmethod
    def through(cls, time_s: Sequence[float] | Floats, rate_rows_per_s: Sequence[float] | Floats) -> Arrivals:
        """Return the rate through these points; times must rise, rates must not be negative."""
        plain = (tuple(np.asarray(each, dtype=np.float64).ravel().tolist()) for each in (time_s, rate_rows_per_s))
        return cls(time_s=next(plain), rate_rows_per_s=next(plain))

    @classmethod
    def constant(cls, rate_rows_per_s: float) -> Arrivals:
        return cls.through((0.0,), (rate_rows_per_s,))

    @classmethod
    def joined(cls, history: Sequence[tuple[float, float]], forecast: Sequence[tuple[float, float]]) -> Arrivals:
        """Append to the measured points (time, rate) those forecast for later times.

        >>> Arrivals.joined([(0.0, 5.0), (10.0, 6.0)], [(10.0, 9.0), (20.0, 8.0)]).rate_rows_per_s
        (5.0, 6.0, 8.0)
        """
        known_until_s = history[-1][0] if history else -math.inf
        points = [*history, *(point for point in forecast if point[0] > known_until_s)]
        return cls.through([time_s for time_s, _ in points], [rate for _, rate in points])

    @classmethod
    def summed(cls, arrivals: Sequence[Arrivals]) -> Arrivals:
        """Return the sum of several rates, with the points of all of them.

        >>> Arrivals.summed([Arrivals.through((0.0, 10.0), (0.0, 100.0)), Arrivals.through((5.0,), (7.0,))]).rate_rows_per_s
        (7.0, 57.0, 107.0)
        """
        if len(arrivals) == 1:
            return arrivals[0]
        points = sorted({time_s for each in arrivals for time_s in each.time_s})
        return cls.through(points, [sum(each.rate_by(at_s) for each in arrivals) for at_s in points])

    def rate_by(self, at_s: float) -> float:
        """Return the rate at a time; at the last point, the rate of that point and not the long-run rate."""
        return self.rate_rows_per_s[-1] if at_s == self.last_s else self.rate(at_s)

    def between(self, start_s: float, end_s: float) -> Arrivals:
        """Cut out a stretch of time; its last rate continues after it."""
        inside = [at_s for at_s in self.time_s if start_s < at_s < end_s]
        points = [start_s, *inside, end_s]
        return Arrivals.through(points, [self.rate_by(each) for each in points])

    def moved(self, by_s: float) -> Arrivals:
        """Shift the rate to later times."""
        return Arrivals.through(np.asarray(self.time_s) + by_s, self.rate_rows_per_s) if by_s else self

    def times(self, share: float) -> Arrivals:
        """Multiply the rate by a factor."""
        return Arrivals.through(self.time_s, share * np.asarray(self.rate_rows_per_s)) if share != 1.0 else self

    @property
    def last_s(self) -> float:
        """The time from which on the rate is `long_run_rate`."""
        return self.time_s[-1]

    @property
    def lasts_s(self) -> float:
        return self.last_s - self.time_s[0]

    def rate(self, at_s: float) -> float:
        return self._rate_in(bisect_right(self.time_s, at_s), at_s)

    def rows(self, start_s: float, end_s: float) -> float:
        """Return the rows that arrive from `start_s` until `end_s`: the exact integral of the rate."""
        if not start_s <= end_s:
            raise ValueError(f"rows are asked from {start_s} s until {end_s} s, which is earlier")
        first, last = bisect_right(self.time_s, start_s), bisect_right(self.time_s, end_s)
        rate_in, rate_out = self._rate_in(first, start_s), self._rate_in(last, end_s)
        if first == last:
            return (end_s - start_s) * (rate_in + rate_out) / 2
        before = (self.time_s[first] - start_s) * (rate_in + self.rate_rows_per_s[first]) / 2
        after = (end_s - self.time_s[last - 1]) * (self._rate_in(last, self.time_s[last - 1]) + rate_out) / 2
        return before + (self.rows_by_point[last - 1] - self.rows_by_point[first]) + after

    def pieces(self, start_s: float) -> Iterator[Piece]:
        """Yield the linear pieces from `start_s` on; the last one is endless."""
        first = bisect_right(self.time_s, start_s)
        rate_in = self._rate_in(first, start_s)
        for number in range(first, len(self.time_s)):
            end_s, rate_out = self.time_s[number], self.rate_rows_per_s[number]
            yield Piece(start_s, end_s, rate_in, rate_out)
            start_s, rate_in = end_s, rate_out
        yield Piece(start_s, math.inf, self.long_run_rate, self.long_run_rate)

    def _rate_in(self, number: int, at_s: float) -> float:
        """Return the rate at a time, given the number of points at or before it."""
        if number == 0:
            return self.rate_rows_per_s[0]
        if number == len(self.time_s):
            return self.long_run_rate
        before_s, after_s = self.time_s[number - 1], self.time_s[number]
        share = (at_s - before_s) / (after_s - before_s)
        return self.rate_rows_per_s[number - 1] * (1 - share) + self.rate_rows_per_s[number] * share


def forecast_arrivals(forecast: Forecast, history: Sequence[tuple[float, float]] = (), quantile: float | None = None) -> Arrivals:
    """Join the measured points (time, rate) to the mean of a forecast, or to one of its quantiles: f of Phoebe sec. III-B.

    The rate of a step is placed in its middle and the last one held until the end of the forecast. At a quantile every step is at that quantile, as if
    all errors had one sign: the worst case for a sum over steps.

    >>> load = Forecast(start_s=60.0, step_s=10.0, mean=(5.0, 6.0), levels=(0.1, 0.9), paths=((4.0, 4.0), (6.0, 8.0)))
    >>> forecast_arrivals(load, [(50.0, 3.0), (60.0, 4.0)], 0.9)
    Arrivals(time_s=(50.0, 60.0, 65.0, 75.0, 80.0), rate_rows_per_s=(3.0, 4.0, 6.0, 8.0, 8.0))
    """
    path = [max(0.0, rate) for rate in (forecast.mean if quantile is None else forecast.at(quantile))]
    middles = [(forecast.start_s + (number + 0.5) * forecast.step_s, rate) for number, rate in enumerate(path)]
    return Arrivals.joined(history, [*middles, (forecast.end_s, path[-1])])


def long_run_level(time_s: Floats, rate: Floats) -> float:
    """Return the mean of the longest final stretch that differs from a constant by noise only; the last rate where there is none.

    Stretches of 16, 32, 64, ... points are taken while the means of their halves agree. The noise of a block is its distance from the line between its
    neighbours (Gasser, Sroka and Jennen-Steinmetz 1986), to which a trend adds nothing. So a smooth forecast continues at its last level, as in Phoebe
    sec. III-B, and a single reading of a noisy trace does not decide whether a job ever recovers.

    >>> steps = np.arange(16.0)
    >>> long_run_level(steps, 100.0 + steps), long_run_level(steps, 100.0 + 10.0 * (-1.0) ** steps)
    (115.0, 100.0)
    """
    level, size = float(rate[-1]), BLOCKS
    while size <= len(rate):
        stretch = rate[-size:]
        if _is_level(time_s[-size:].reshape(BLOCKS, -1).mean(axis=1), stretch.reshape(BLOCKS, -1).mean(axis=1)):
            level = float(np.clip(stretch.mean(), stretch.min(), stretch.max()))
        elif size >= MOST_RELATED * BLOCKS:
            break
        size *= 2
    return level


def _is_level(time_s: Floats, rate: Floats) -> bool:
    """Return whether the means of the two halves differ by noise only."""
    share = (time_s[1:-1] - time_s[:-2]) / (time_s[2:] - time_s[:-2])
    off = rate[1:-1] - (1 - share) * rate[:-2] - share * rate[2:]
    variance = float(np.mean(off**2 / (1 + share**2 + (1 - share) ** 2)))
    moved = float(rate[BLOCKS // 2 :].mean() - rate[: BLOCKS // 2].mean())
    return bool(abs(moved) <= SIGMAS * np.sqrt(variance * 4 / BLOCKS))


def _check(time_s: Floats, rate: Floats) -> None:
    if len(time_s) == 0 or len(time_s) != len(rate):
        raise ValueError(f"arrivals need at least one point, and a rate for each time; there are {len(time_s)} times and {len(rate)} rates")
    if not (np.isfinite(time_s).all() and np.isfinite(rate).all()):
        raise ValueError("arrivals hold a time or a rate that is not a number")
    if (rate < 0).any():
        raise ValueError(f"arrivals hold a negative rate, {float(rate.min())} rows/s")
    if (np.diff(time_s) <= 0).any():
        place = int(np.argmax(np.diff(time_s) <= 0))
        raise ValueError(f"times of arrivals must rise; {float(time_s[place + 1])} s comes after {float(time_s[place])} s")
