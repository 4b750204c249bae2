"""Count, means and co-moments of two quantities seen together, mergeable in any order and any batch size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from penstock.core.models.arrays import Flags, Floats

Numbers = Sequence[float] | Floats
Columns = Floats
"""A row for each moment in time, a column for each of those that were seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedMoments:
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
        """The moments of one batch; without weights every pair counts 1."""
        x, y = np.asarray(xs, dtype=float), np.asarray(ys, dtype=float)
        weight = np.ones_like(x) if weights is None else np.asarray(weights, dtype=float)
        count = float(weight.sum())
        if count <= 0.0:
            return cls()
        mean_x, mean_y = float(weight @ x) / count, float(weight @ y) / count
        dx, dy = x - mean_x, y - mean_y
        return cls(count=count, mean_x=mean_x, mean_y=mean_y, m2_x=float(weight @ (dx * dx)), m2_y=float(weight @ (dy * dy)), c_xy=float(weight @ (dx * dy)))

    def merged(self, other: PairedMoments) -> Self:
        """Both together, exactly: the parallel formula of Chan, Golub and LeVeque (1979) for means and co-moments."""
        count = self.count + other.count
        if count <= 0.0:
            return type(self)()
        dx, dy = other.mean_x - self.mean_x, other.mean_y - self.mean_y
        share, cross = other.count / count, self.count * (other.count / count)
        return type(self)(
            count=count,
            mean_x=self.mean_x + dx * share,
            mean_y=self.mean_y + dy * share,
            m2_x=self.m2_x + other.m2_x + dx * dx * cross,
            m2_y=self.m2_y + other.m2_y + dy * dy * cross,
            c_xy=self.c_xy + other.c_xy + dx * dy * cross,
        )

    def decayed(self, factor: float) -> Self:
        """The same means, every pair weighing `factor` of what it did."""
        return type(self)(
            count=self.count * factor,
            mean_x=self.mean_x,
            mean_y=self.mean_y,
            m2_x=self.m2_x * factor,
            m2_y=self.m2_y * factor,
            c_xy=self.c_xy * factor,
        )

    @property
    def swapped(self) -> Self:
        """With x and y in each other's place."""
        return type(self)(count=self.count, mean_x=self.mean_y, mean_y=self.mean_x, m2_x=self.m2_y, m2_y=self.m2_x, c_xy=self.c_xy)

    @property
    def spread_x(self) -> float:
        """Standard deviation of x over what was seen; 0 before anything was."""
        return float(np.sqrt(self.m2_x / self.count)) if self.count > 0.0 else 0.0

    def unexplained_y(self) -> float:
        """Variance of y around its least-squares line on x, two parameters paid for; 0 where too little was seen."""
        explained = self.c_xy * self.c_xy / self.m2_x if self.m2_x > 0.0 else 0.0
        return max(0.0, self.m2_y - explained) / (self.count - 2.0) if self.count > 2.0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MomentColumns:
    """Many moments at once, a column of each: what `decayed`, `of` and `merged` do one by one.

    >>> old = PairedMoments.of([1.0, 2.0], [10.0, 20.0])
    >>> MomentColumns.of([old]).grown(1.0, np.array([[3.0]]), np.array([[30.0]]), np.ones(1)).each() == [old.merged(PairedMoments.of([3.0], [30.0]))]
    True
    """

    count: Floats
    mean_x: Floats
    mean_y: Floats
    m2_x: Floats
    m2_y: Floats
    c_xy: Floats

    @classmethod
    def of(cls, each: Sequence[PairedMoments]) -> Self:
        rows = [(one.count, one.mean_x, one.mean_y, one.m2_x, one.m2_y, one.c_xy) for one in each]
        count, mean_x, mean_y, m2_x, m2_y, c_xy = np.array(rows, dtype=float).T
        return cls(count=count, mean_x=mean_x, mean_y=mean_y, m2_x=m2_x, m2_y=m2_y, c_xy=c_xy)

    def grown(self, factor: float, xs: Columns, ys: Columns, weights: Floats) -> Self:
        """Each decayed by `factor` and merged with its column of pairs."""
        count, m2_x, m2_y, c_xy = (each * factor for each in (self.count, self.m2_x, self.m2_y, self.c_xy))
        new = float(weights.sum())
        if new <= 0.0:
            return type(self)(count=count, mean_x=self.mean_x, mean_y=self.mean_y, m2_x=m2_x, m2_y=m2_y, c_xy=c_xy)
        new_x, new_y = weights @ xs / new, weights @ ys / new
        off_x, off_y, dx, dy = xs - new_x, ys - new_y, new_x - self.mean_x, new_y - self.mean_y
        share = new / (count + new)
        cross = count * share
        return type(self)(
            count=count + new,
            mean_x=self.mean_x + dx * share,
            mean_y=self.mean_y + dy * share,
            m2_x=m2_x + weights @ (off_x * off_x) + dx * dx * cross,
            m2_y=m2_y + weights @ (off_y * off_y) + dy * dy * cross,
            c_xy=c_xy + weights @ (off_x * off_y) + dx * dy * cross,
        )

    def where(self, chosen: Flags) -> Self:
        """Only some of them."""
        count, mean_x, mean_y, m2_x, m2_y, c_xy = (column[chosen] for column in self._columns)
        return type(self)(count=count, mean_x=mean_x, mean_y=mean_y, m2_x=m2_x, m2_y=m2_y, c_xy=c_xy)

    def at(self, place: int) -> PairedMoments:
        count, mean_x, mean_y, m2_x, m2_y, c_xy = (float(column[place]) for column in self._columns)
        return PairedMoments(count=count, mean_x=mean_x, mean_y=mean_y, m2_x=m2_x, m2_y=m2_y, c_xy=c_xy)

    def each(self) -> list[PairedMoments]:
        columns = zip(*(column.tolist() for column in self._columns), strict=True)
        return [PairedMoments(count=n, mean_x=x, mean_y=y, m2_x=xx, m2_y=yy, c_xy=xy) for n, x, y, xx, yy, xy in columns]

    @property
    def _columns(self) -> tuple[Floats, ...]:
        return self.count, self.mean_x, self.mean_y, self.m2_x, self.m2_y, self.c_xy


NOTHING = PairedMoments()
"""No pair seen yet."""
