"""The rows of a regression over (interval, rate[, number of executors]), the interface of the forms fitted to them, and which rows to keep of too many."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from penstock.core.models.arrays import Flags, Floats


class Placed(Protocol):
    """An observation with its interval, rate and number of executors."""

    @property
    def interval_s(self) -> float: ...
    @property
    def rate_rows_per_s(self) -> float: ...
    @property
    def executors(self) -> int | None: ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Points:
    """Columns of equal length; `executors` is None unless it is known for every row."""

    interval_s: Floats
    rate: Floats
    executors: Floats | None = None

    def where(self, rows: Flags) -> Points:
        """Return only these rows."""
        return Points(interval_s=self.interval_s[rows], rate=self.rate[rows], executors=None if self.executors is None else self.executors[rows])

    @property
    def executors_vary(self) -> bool:
        """Whether there is more than one number of executors."""
        return self.executors is not None and bool(np.ptp(self.executors) > 0)

    @property
    def load(self) -> Floats:
        """Rows/s for each executor, or in total where the number of executors is unknown."""
        return self.rate if self.executors is None else self.rate / self.executors

    def __len__(self) -> int:
        return len(self.rate)


def points_of(seen: Sequence[Placed]) -> Points:
    """Return the columns of observations.

    >>> from penstock.core.models.recovery.recovery_regression import RecoverySeen
    >>> points_of([RecoverySeen(interval_s=10, rate_rows_per_s=500, recovery_s=70)]).rate.tolist()
    [500.0]
    """
    executors = [each.executors for each in seen if each.executors is not None]
    return Points(
        interval_s=np.array([each.interval_s for each in seen], dtype=float),
        rate=np.array([each.rate_rows_per_s for each in seen], dtype=float),
        executors=np.array(executors, dtype=float) if executors and len(executors) == len(seen) else None,
    )


def point(interval_s: float, rate_rows_per_s: float, executors: int | None) -> Points:
    """Return a single point."""
    known = None if executors is None else np.array([float(executors)])
    return Points(interval_s=np.array([float(interval_s)]), rate=np.array([float(rate_rows_per_s)]), executors=known)


class Fitted(Protocol):
    """A form with its parameters."""

    @property
    def parameters(self) -> Mapping[str, float]: ...

    def at(self, points: Points) -> Floats:
        """Return a positive value for every point; infinite for never."""
        ...


class Form(Protocol):
    """A candidate form; `fit` is deterministic and depends on the rows alone."""

    @property
    def name(self) -> str: ...

    def fit(self, points: Points, seen: Floats) -> Fitted: ...


class Derived(ABC):
    """A form that starts from the fit of another one, its `base`, so that a fit of the base can be reused."""

    __slots__ = ()
    base: Form

    @abstractmethod
    def derive(self, base: Fitted, points: Points, seen: Floats) -> Fitted: ...

    def fit(self, points: Points, seen: Floats) -> Fitted:
        return self.derive(self.base.fit(points, seen), points, seen)


def spread_out(groups: npt.NDArray[np.int64], rates: Floats, most: int) -> Flags:
    """Choose at most `most` rows, spread over the groups and over the range of rates of each, and evenly among similar rows.

    Rare groups and rates keep all of their rows before frequent ones keep more.

    >>> groups, rates = np.array([0] * 97 + [1, 1, 2]), np.array([5.0] * 97 + [5.0, 9.0, 5.0])
    >>> spread_out(groups, rates, 6).nonzero()[0].tolist()
    [32, 64, 96, 97, 98, 99]
    """
    if len(rates) <= most:
        return np.ones(len(rates), dtype=bool)
    lowest, highest = np.full(groups.max() + 1, np.inf), np.full(groups.max() + 1, -np.inf)
    np.minimum.at(lowest, groups, rates)
    np.maximum.at(highest, groups, rates)
    places, width = max(1, most // len(lowest)), np.where(highest > lowest, highest - lowest, 1.0)
    place = np.minimum((places * (rates - lowest[groups]) / width[groups]).astype(np.int64), places - 1)
    _, cells, sizes = np.unique(groups * places + place, return_inverse=True, return_counts=True)
    quota = next(each for each in range(most, 0, -1) if each == 1 or np.minimum(sizes, each).sum() <= most)
    order = np.argsort(cells, kind="stable")
    size = np.repeat(sizes, sizes)
    number = np.arange(len(rates)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    wanted = np.minimum(size, quota)
    kept = np.zeros(len(rates), dtype=bool)
    chosen = order[(number + 1) * wanted // size > number * wanted // size]
    kept[chosen[np.linspace(0, len(chosen) - 1, min(most, len(chosen))).astype(np.int64)]] = True
    return kept
