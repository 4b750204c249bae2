"""How long a micro-batch takes, and what follows from it: capacity, and how busy the slots are at that capacity."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from penstock.core.models.arrays import Floats, Ints
from penstock.core.models.estimate import COVERAGE, Estimate, Estimates


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLaw:
    """T(n,s) = a + b*skew*n*waves/P with waves = ceil(P/(s*cores)): n rows in P tasks on s executors (PAPER-NOTES "Micro-batch capacity").

    a is `overhead_s`, b `row_s`, P `partitions`; `limit_rows` is the most rows that one batch takes.

    >>> law = BatchLaw(overhead_s=0.5, row_s=0.001, partitions=12)
    >>> law.waves(4), law.waves(5), law.waves(6)
    (3, 3, 2)
    >>> law.duration_s(4000, 4)
    1.5
    """

    overhead_s: float
    row_s: float
    partitions: int
    cores_per_executor: int = 1
    skew: float = 1.0
    limit_rows: float | None = None

    def waves(self, scaleout: int) -> int:
        """How often each slot takes a task of one batch."""
        return waves(self.partitions, scaleout * self.cores_per_executor)

    def row_cost_s(self, scaleout: int) -> float:
        """Seconds by which one more row lengthens a batch: b*skew*waves/P."""
        return self.row_s * self.skew * (self.waves(scaleout) / self.partitions)

    def duration_s(self, rows: float, scaleout: int) -> float:
        return self.overhead_s + self.row_cost_s(scaleout) * rows

    def capacity_rows_per_s(self, scaleout: int, interval_s: float) -> float:
        """C(s,i) = (1 - a/i)*P/(b*skew*waves), the rate at which a batch just fills the interval, and at most m/max(i, T(m)) under a limit of m rows.

        >>> BatchLaw(overhead_s=0.5, row_s=0.001, partitions=12).capacity_rows_per_s(4, 2.0)
        3000.0
        >>> BatchLaw(overhead_s=0.5, row_s=0.001, partitions=12, limit_rows=4000).capacity_rows_per_s(4, 2.0)
        2000.0
        """
        if interval_s <= 0:
            raise ValueError(f"a capacity needs an interval above 0 s, not {interval_s:g} s: without one a batch may grow for ever")
        left_s = interval_s - self.overhead_s
        if left_s <= 0:
            return 0.0
        cost_s = self.row_cost_s(scaleout) * interval_s
        by_cost = left_s / cost_s if cost_s > 0 else math.inf
        if self.limit_rows is None:
            return by_cost
        return min(by_cost, self.limit_rows / max(interval_s, self.duration_s(self.limit_rows, scaleout)))

    def utilization_at_saturation(self, interval_s: float, scaleout: int | None = None) -> float:
        """Share of the interval in which tasks run when a batch just fills it: 1 - a/T with T = i.

        With a scale-out, slots that stay empty in the last wave, or wait for the longest task, count as idle too.

        >>> law = BatchLaw(overhead_s=0.5, row_s=0.001, partitions=4)
        >>> law.utilization_at_saturation(5.0), law.utilization_at_saturation(5.0, 2), round(law.utilization_at_saturation(5.0, 3), 3)
        (0.9, 0.9, 0.6)
        """
        if interval_s <= 0:
            raise ValueError(f"utilisation at saturation needs an interval above 0 s, not {interval_s:g} s")
        running = max(0.0, 1.0 - self.overhead_s / interval_s)
        if scaleout is None:
            return running
        slots = scaleout * self.cores_per_executor
        return running * self.partitions / (self.waves(scaleout) * slots * self.skew)

    def busiest_at_saturation(self, interval_s: float, scaleout: int) -> float:
        """The same share for the executor with the most tasks, ceil(P/s) of them over its cores and all waves: what a regression on it extrapolates to.

        >>> law = BatchLaw(overhead_s=0.5, row_s=0.001, partitions=12, cores_per_executor=2)
        >>> law.busiest_at_saturation(5.0, 6), round(law.busiest_at_saturation(5.0, 5), 3)
        (0.9, 0.675)
        """
        return self.utilization_at_saturation(interval_s) * waves(self.partitions, scaleout) / (self.waves(scaleout) * self.cores_per_executor)


def waves(tasks: int, slots: int) -> int:
    """How many rounds of tasks a stage needs.

    >>> waves(4, 2), waves(4, 3), waves(4, 9)
    (2, 2, 1)
    """
    if tasks < 1 or slots < 1:
        raise ValueError(f"a batch needs a task and a slot, not {tasks} tasks on {slots} slots")
    return -(-tasks // slots)


def least_alike(size: int, tasks: int, slots_each: int) -> int:
    """The smallest size that needs no more waves.

    >>> [least_alike(size, 24, 1) for size in (5, 7, 8, 11, 12, 30)]
    [5, 6, 8, 8, 12, 24]
    """
    rounds = waves(tasks, size * slots_each)
    return waves(waves(tasks, rounds), slots_each)


@dataclass(frozen=True, slots=True, kw_only=True)
class LikelyLaws:
    """The law that fits best, and laws drawn from what the measurements leave open: their spread is the bound of whatever follows from a law."""

    best: BatchLaw
    drawn: tuple[BatchLaw, ...]

    def estimate(self, of: Callable[[BatchLaw], float]) -> Estimate:
        """What follows from the best law, within what follows from four of five of the drawn ones.

        >>> laws = [BatchLaw(overhead_s=each, row_s=0.0, partitions=1) for each in (1.0, 2.0, 3.0)]
        >>> LikelyLaws(best=laws[1], drawn=tuple(laws)).estimate(lambda law: law.overhead_s)
        Estimate(value=2.0, low=1.0, high=3.0)
        """
        value, spread = of(self.best), sorted(map(of, self.drawn))
        return Estimate(value=value, low=min(value, spread[self._beyond]), high=max(value, spread[-1 - self._beyond]))

    def ends(self, of: Callable[[BatchLaw], float]) -> tuple[BatchLaw, ...]:
        """The drawn laws from which the bounds of that follow, the lower one first; none where none were drawn.

        >>> laws = [BatchLaw(overhead_s=each, row_s=0.0, partitions=1) for each in (3.0, 1.0, 2.0)]
        >>> [law.overhead_s for law in LikelyLaws(best=laws[2], drawn=tuple(laws)).ends(lambda law: law.overhead_s)]
        [1.0, 3.0]
        """
        spread = sorted(self.drawn, key=of)
        return (spread[self._beyond], spread[-1 - self._beyond]) if spread else ()

    @property
    def _beyond(self) -> int:
        """How many of the drawn laws are beyond each bound."""
        return int(len(self.drawn) * (1.0 - COVERAGE) / 2)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LawColumns:
    """A law in each row: what follows from them has a column for each scale-out. `row_s` holds the skew too; `limit_rows` is infinite without a limit."""

    overhead_s: Floats
    row_s: Floats
    limit_rows: Floats
    partitions: Ints
    cores_per_executor: Ints

    @classmethod
    def of(cls, laws: Sequence[BatchLaw]) -> LawColumns:
        told = [(law.overhead_s, law.row_s * law.skew, np.inf if law.limit_rows is None else law.limit_rows) for law in laws]
        overhead_s, row_s, limit_rows = (column[:, None] for column in np.array(told).T)
        partitions, cores = (column[:, None] for column in np.array([(law.partitions, law.cores_per_executor) for law in laws]).T)
        return cls(overhead_s=overhead_s, row_s=row_s, limit_rows=limit_rows, partitions=partitions, cores_per_executor=cores)

    def row_cost_s(self, scaleouts: Ints) -> Floats:
        """What `BatchLaw.row_cost_s` says, to the last digit."""
        return np.asarray(self.row_s * (waves_each(self.partitions, scaleouts * self.cores_per_executor) / self.partitions))


def waves_each(tasks: int | Ints, slots: Ints) -> Ints:
    """What `waves` says of each.

    >>> waves_each(4, np.array([2, 3, 9])).tolist()
    [2, 2, 1]
    """
    if np.min(tasks) < 1 or slots.min(initial=1) < 1:
        raise ValueError(f"a batch needs a task and a slot, not {np.min(tasks)} tasks on {slots.min()} slots")
    return np.asarray(-(-tasks // slots))


def alike(law: BatchLaw, scaleouts: Sequence[int]) -> tuple[Ints, Ints]:
    """One scale-out for each number of waves, as those that take equally many are one to a law, and for each that was asked which of them it is.

    >>> some, which = alike(BatchLaw(overhead_s=0.5, row_s=0.001, partitions=12), [4, 5, 6])
    >>> some.tolist(), which.tolist()
    ([6, 4], [1, 1, 0])
    """
    asked = np.array(scaleouts, dtype=np.int64)
    _, first, which = np.unique(waves_each(law.partitions, asked * law.cores_per_executor), return_index=True, return_inverse=True)
    return asked[first], which


def likely_estimates(by_law: Floats) -> Estimates:
    """What `LikelyLaws.estimate` says of each column: the best law is in the first row, those drawn in the others."""
    value, spread = by_law[0], np.sort(by_law[1:], axis=0)
    beyond = int(len(spread) * (1.0 - COVERAGE) / 2)
    return Estimates(value=value, low=np.minimum(value, spread[beyond]), high=np.maximum(value, spread[-1 - beyond]))


def capacities_by_laws(laws: LikelyLaws, scaleouts: Sequence[int], interval_s: float) -> Estimates:
    """What `BatchLaw.capacity_rows_per_s` says of each size, best and drawn laws alike, to the last digit.

    >>> cheap, dear = (BatchLaw(overhead_s=0.5, row_s=each, partitions=12) for each in (0.001, 0.002))
    >>> capacities_by_laws(LikelyLaws(best=cheap, drawn=(cheap, dear)), [4, 6], 2.0).each()[0]
    Estimate(value=3000.0, low=1500.0, high=3000.0)
    """
    some, which = alike(laws.best, scaleouts)
    return likely_estimates(rates_by_laws((laws.best, *laws.drawn), some, interval_s)).at(which)


def rates_by_laws(laws: Sequence[BatchLaw], scaleouts: Ints, interval_s: float) -> Floats:
    """The same without bounds, a row for each law."""
    if interval_s <= 0:
        raise ValueError(f"capacities need an interval above 0 s, not {interval_s:g} s: without one a batch may grow for ever")
    columns = LawColumns.of(laws)
    row_cost_s, limit_rows = columns.row_cost_s(scaleouts), columns.limit_rows
    left_s, cost_s = interval_s - columns.overhead_s, row_cost_s * interval_s
    # Without a limit the second is not a number, and the first counts.
    with np.errstate(divide="ignore", invalid="ignore"):
        by_cost = np.where(cost_s > 0, left_s / cost_s, np.inf)
        by_limit = limit_rows / np.maximum(interval_s, columns.overhead_s + row_cost_s * limit_rows)
    return np.where(left_s > 0, np.fmin(by_cost, by_limit), 0.0)


def busiest_at_saturation(law: BatchLaw, scaleouts: Ints, interval_s: float) -> Floats:
    """What `BatchLaw.busiest_at_saturation` says of each, to the last digit."""
    waves = waves_each(law.partitions, scaleouts * law.cores_per_executor)
    return np.asarray(law.utilization_at_saturation(interval_s) * waves_each(law.partitions, scaleouts) / (waves * law.cores_per_executor))


def limited(law: BatchLaw, answers: Estimates, scaleouts: Ints, interval_s: float) -> Estimates:
    """No more than the limit of rows a batch allows."""
    if law.limit_rows is None:
        return answers
    duration_s = law.overhead_s + LawColumns.of([law]).row_cost_s(scaleouts)[0] * law.limit_rows
    return answers.at_most(law.limit_rows / np.maximum(interval_s, duration_s))
