"""Count, means and co-moments of two quantities seen together, mergeable in any order and any batch size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, Generic, Self, TypeVar

import numpy as np

from penstock.core.models.arrays import Flags, Floats

Numbers = Sequence[float] | Floats
Number = TypeVar("Number", float, Floats)


class _Moments(Generic[Number]):
    """The formulas, for one pair of quantities and for many."""

    __slots__ = ()
    count: Number
    mean_x: Number
    mean_y: Number
    m2_x: Number
    m2_y: Number
    c_xy: Number

    def decayed(self, factor: float) -> Self:
        """Return the same means with every weight multiplied by `factor`."""
        return self._made(self.count * factor, self.mean_x, self.mean_y, self.m2_x * factor, self.m2_y * factor, self.c_xy * factor)

    @property
    def swapped(self) -> Self:
        """The moments with x and y exchanged."""
        return self._made(self.count, self.mean_y, self.mean_x, self.m2_y, self.m2_x, self.c_xy)

    def _joined(self, other: Self) -> Self:
        """Merge means and co-moments by the parallel formula of Chan, Golub and LeVeque (1979); the counts must not add up to 0."""
        count = self.count + other.count
        dx, dy = other.mean_x - self.mean_x, other.mean_y - self.mean_y
        share = other.count / count
        cross = self.count * share
        return self._made(
            count,
            self.mean_x + dx * share,
            self.mean_y + dy * share,
            self.m2_x + other.m2_x + dx * dx * cross,
            self.m2_y + other.m2_y + dy * dy * cross,
            self.c_xy + other.c_xy + dx * dy * cross,
        )

    def _made(self, count: Number, mean_x: Number, mean_y: Number, m2_x: Number, m2_y: Number, c_xy: Number) -> Self:
        return type(self)(count=count, mean_x=mean_x, mean_y=mean_y, m2_x=m2_x, m2_y=m2_y, c_xy=c_xy)  # type: ignore[call-arg]


def _batch(x: Floats, y: Floats, weights: Floats, count: float) -> tuple[Any, ...]:
    """Return means and co-moments of one pair of columns or of many, in rows of these weights, which add up to `count`."""
    mean_x, mean_y = weights @ x / count, weights @ y / count
    dx, dy = x - mean_x, y - mean_y
    return mean_x, mean_y, weights @ (dx * dx), weights @ (dy * dy), weights @ (dx * dy)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedMoments(_Moments[float]):
    """Weighted moments of pairs (x, y): `m2_x` is the sum of (x - mean_x)^2, `c_xy` that of (x - mean_x)(y - mean_y).

    >>> both = PairedMoments.of([1.0, 2.0], [10.0, 20.0]).merged(PairedMoments.of([3.0], [30.0]))
    >>> both.count, both.mean_x, both.mean_y, both.m2_x, both.c_xy
    (3.0, 2.0, 20.0, 2.0, 20.0)
    """

    count: float = 0.0
    mean_x: float = 0.0
    mean_y: float = 0.0
    m2_x: float = 0.0
    m2_y: float = 0.0
    c_xy: float = 0.0

    @classmethod
    def of(cls, xs: Numbers, ys: Numbers, weights: Numbers | None = None) -> Self:
        """Return the moments of one batch; without weights every pair counts 1."""
        x, y = np.asarray(xs, dtype=float), np.asarray(ys, dtype=float)
        weight = np.ones_like(x) if weights is None else np.asarray(weights, dtype=float)
        count = float(weight.sum())
        if count <= 0.0:
            return cls()
        mean_x, mean_y, m2_x, m2_y, c_xy = map(float, _batch(x, y, weight, count))
        return cls(count=count, mean_x=mean_x, mean_y=mean_y, m2_x=m2_x, m2_y=m2_y, c_xy=c_xy)

    def merged(self, other: Self) -> Self:
        """Return the moments of both together, exactly."""
        return self._joined(other) if self.count + other.count > 0.0 else type(self)()

    @property
    def spread_x(self) -> float:
        """Standard deviation of x; 0 without pairs."""
        return float(np.sqrt(self.m2_x / self.count)) if self.count > 0.0 else 0.0

    def leverage(self, x: Number) -> Number:
        """Variance of the least-squares line at x, over that of y around it."""
        return 1.0 / self.count + (x - self.mean_x) ** 2 / self.m2_x

    def unexplained_y(self) -> float:
        """Variance of y around its least-squares line on x, with two degrees of freedom less; 0 with too few pairs."""
        explained = self.c_xy * self.c_xy / self.m2_x if self.m2_x > 0.0 else 0.0
        return max(0.0, self.m2_y - explained) / (self.count - 2.0) if self.count > 2.0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MomentColumns(_Moments[Floats]):
    """Moments of many pairs of quantities, one array element each."""

    count: Floats
    mean_x: Floats
    mean_y: Floats
    m2_x: Floats
    m2_y: Floats
    c_xy: Floats

    @classmethod
    def of(cls, xs: Floats, ys: Floats, weights: Floats) -> Self:
        """Return the moments of a batch: a row for each moment in time, a column for each pair of quantities. The weights must not add up to 0."""
        count = float(weights.sum())
        mean_x, mean_y, m2_x, m2_y, c_xy = _batch(xs, ys, weights, count)
        return cls(count=np.full(xs.shape[1], count), mean_x=mean_x, mean_y=mean_y, m2_x=m2_x, m2_y=m2_y, c_xy=c_xy)

    @classmethod
    def of_rows(cls, rows: Floats) -> Self:
        """Return the moments whose six quantities are the rows of a matrix."""
        count, mean_x, mean_y, m2_x, m2_y, c_xy = rows
        return cls(count=count, mean_x=mean_x, mean_y=mean_y, m2_x=m2_x, m2_y=m2_y, c_xy=c_xy)

    @property
    def rows(self) -> tuple[Floats, ...]:
        return self.count, self.mean_x, self.mean_y, self.m2_x, self.m2_y, self.c_xy

    def merged(self, other: Self) -> Self:
        """Return the moments of both together, exactly; the counts must not add up to 0.

        >>> old, new = np.array([[1.0], [2.0]]), np.array([[3.0]])
        >>> both = MomentColumns.of(old, 10.0 * old, np.ones(2)).merged(MomentColumns.of(new, 10.0 * new, np.ones(1)))
        >>> both.at(0) == PairedMoments.of([1.0, 2.0, 3.0], [10.0, 20.0, 30.0])
        True
        """
        return self._joined(other)

    def where(self, chosen: Flags) -> Self:
        return self.of_rows(np.array([row[chosen] for row in self.rows]))

    def at(self, place: int) -> PairedMoments:
        count, mean_x, mean_y, m2_x, m2_y, c_xy = (float(row[place]) for row in self.rows)
        return PairedMoments(count=count, mean_x=mean_x, mean_y=mean_y, m2_x=m2_x, m2_y=m2_y, c_xy=c_xy)


NOTHING = PairedMoments()
"""No pair seen yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """Mean and variance of values that arrive one by one (Welford).

    >>> Running().with_value(1.0).with_value(3.0)
    Running(count=2, mean=2.0, squares=2.0)
    """

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def with_value(self, value: float) -> Running:
        count = self.count + 1
        mean = self.mean + (value - self.mean) / count
        return Running(count=count, mean=mean, squares=self.squares + (value - self.mean) * (value - mean))

    @property
    def deviation(self) -> float | None:
        """The standard deviation; None below two values."""
        return sqrt(self.squares / (self.count - 1)) if self.count >= 2 else None
