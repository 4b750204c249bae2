"""The cost of a micro-batch, learnt from the durations of batches."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.capacity.batch_fit import DurationFit, fit_durations
from penstock.core.models.capacity.batch_law import BatchLaw, LikelyLaws, waves
from penstock.core.models.estimate import Estimate, NotReady
from penstock.core.models.once import once
from penstock.core.models.score import Score, mape

FEWEST_BATCHES = 5
"""Fewer batches than this give no law."""
MOST_BATCHES = 600
"""Batches kept in all; the newest win."""
MOST_ALIKE = 40
"""Batches kept of one scale-out and one size (a factor of the square root of 2): a steady hour must not push out the sizes that tell overhead from cost."""
APART = 1.25
"""Batches differ in size if the second largest is this many times the second smallest: one stray batch shows nothing."""

ONE_SIZE_ONLY = "batches of one size only: the fixed overhead and the cost of a row cannot be told apart until the rows in a batch, or the executors, change"


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchMeasured:
    """One batch that was committed; a batch without rows, or measured while executors warm up, teaches nothing."""

    rows: float
    duration_s: float
    scaleout: int
    skew: float = 1.0
    """Longest task over the mean task."""
    tasks: int | None = None
    """Tasks of this batch where they vary (adaptive execution); None if as many as the partitions."""
    warming: bool = False

    def __post_init__(self) -> None:
        if not (0 <= self.rows < math.inf and 0 < self.duration_s < math.inf and self.scaleout >= 1 and 1 <= self.skew < math.inf):
            raise ValueError(f"a batch that cannot be: {self}")


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCost:
    """T(n,s) = a + b*skew*n*waves/P from measured batches, and from it the capacity C(s,i) (PAPER-NOTES "Micro-batch capacity").

    >>> seen = [BatchMeasured(rows=n, duration_s=0.5 + 0.001 * n * 12 / s / 12, scaleout=s) for n in (1000, 2000, 4000) for s in (2, 4)]
    >>> cost = BatchCost(partitions=12).learn(seen)
    >>> round(cost.predict(8000, 4).value, 3), round(cost.capacity(4, 2.0).value)
    (2.5, 3000)
    """

    partitions: int
    cores_per_executor: int = 1
    limit_rows: float | None = None
    batches: tuple[BatchMeasured, ...] = ()

    def learn(self, seen: Sequence[BatchMeasured]) -> Self:
        taught = tuple(each for each in seen if each.rows > 0 and not each.warming)
        return replace(self, batches=newest_of_each(self.batches + taught)) if taught else self

    def predict(self, rows: float, scaleout: int) -> Estimate | NotReady:
        """Seconds that a batch of so many rows takes on average."""
        laws = self.laws()
        return laws if isinstance(laws, NotReady) else laws.estimate(lambda law: law.duration_s(rows, scaleout))

    def capacity(self, scaleout: int, interval_s: float) -> Estimate | NotReady:
        """Rows/s at which a batch just fills the interval, under the limit of rows a batch if there is one."""
        laws = self.laws()
        return laws if isinstance(laws, NotReady) else laws.estimate(lambda law: law.capacity_rows_per_s(scaleout, interval_s))

    def laws(self) -> LikelyLaws | NotReady:
        """The law as fitted, with others that the batches allow; ask once where many things are predicted from it."""
        return _laws(self)

    def score(self) -> Score | NotReady:
        """Leave-one-out errors of the duration, beside the mean duration and the line a + b*n/(s*cores) that knows no waves."""
        fit = _fit(self)
        if isinstance(fit, NotReady):
            return fit
        durations = np.array([each.duration_s for each in self.batches])
        slots = np.array([each.scaleout * self.cores_per_executor for each in self.batches])
        rows = np.array([each.rows for each in self.batches])
        plain = fit_durations(np.column_stack([np.ones(len(rows)), rows / slots]), durations)
        others = (durations.sum() - durations) / (len(durations) - 1)
        return Score(
            mape=mape(fit.left_out_s.tolist(), durations.tolist()),
            constant_mape=mape(others.tolist(), durations.tolist()),
            paper_mape=mape(plain.left_out_s.tolist(), durations.tolist()),
            held_out=len(durations),
        )


def newest_of_each(batches: tuple[BatchMeasured, ...]) -> tuple[BatchMeasured, ...]:
    """The newest batches of each scale-out and size, in their order; what is dropped would be dropped in any batching.

    >>> one, other = BatchMeasured(rows=10, duration_s=1, scaleout=1), BatchMeasured(rows=99, duration_s=2, scaleout=1)
    >>> [each.rows for each in newest_of_each((other,) + (one,) * 1000)].count(10)
    40
    """
    alike: Counter[tuple[int, int | None, int]] = Counter()
    kept: list[BatchMeasured] = []
    for each in reversed(batches):
        kind = (each.scaleout, each.tasks, math.floor(2 * math.log2(each.rows)))
        alike[kind] += 1
        if alike[kind] <= MOST_ALIKE and len(kept) < MOST_BATCHES:
            kept.append(each)
    return tuple(reversed(kept))


def one_size_only(loads: Floats) -> NotReady | None:
    """Why overhead and cost per row cannot be told apart, if they cannot; `loads` are rows*skew*waves/P.

    >>> one_size_only(np.array([10.0, 10.0, 11.0, 50.0])).why
    'batches of one size only: the fixed overhead and the cost of a row cannot be told apart until the rows in a batch, or the executors, change'
    >>> one_size_only(np.array([10.0, 11.0, 48.0, 50.0]))
    """
    ordered = np.sort(loads)
    if ordered[-2] >= APART * ordered[1]:
        return None
    return NotReady(why=ONE_SIZE_ONLY)


@lru_cache(maxsize=64)
def _fit(cost: BatchCost) -> DurationFit | NotReady:
    """Columns are 1 and the load, and the number of tasks where it varies and helps to predict batches that were left out."""
    if len(cost.batches) < FEWEST_BATCHES:
        return NotReady(why=f"{len(cost.batches)} batches with rows so far, {FEWEST_BATCHES} are needed")
    tasks = np.array([each.tasks or cost.partitions for each in cost.batches])
    rounds = np.array([waves(int(count), each.scaleout * cost.cores_per_executor) for count, each in zip(tasks, cost.batches, strict=True)])
    loads = np.array([each.rows * each.skew for each in cost.batches]) * rounds / tasks
    durations = np.array([each.duration_s for each in cost.batches])
    unidentified = one_size_only(loads)
    if unidentified:
        return unidentified
    constant = fit_durations(np.column_stack([np.ones(len(loads)), loads]), durations)
    if len(cost.batches) <= FEWEST_BATCHES or tasks.min() == tasks.max():
        return constant
    growing = fit_durations(np.column_stack([np.ones(len(loads)), loads, tasks]), durations)
    return growing if growing.relative_error(durations) < constant.relative_error(durations) else constant


@once(64)
def _laws(cost: BatchCost) -> LikelyLaws | NotReady:
    return _laws_of_equals(cost)


@lru_cache(maxsize=64)
def _laws_of_equals(cost: BatchCost) -> LikelyLaws | NotReady:
    """Models of capacity and of latency learn the same batches: what one has fitted need not be fitted for the other."""
    fit = _fit(cost)
    if isinstance(fit, NotReady):
        return fit
    skew = float(np.median([each.skew for each in cost.batches]))

    def law(coefficients: Floats) -> BatchLaw:
        overhead_s, row_s, *per_task = map(float, coefficients)
        return BatchLaw(
            overhead_s=overhead_s + sum(per_task) * cost.partitions,
            row_s=row_s,
            partitions=cost.partitions,
            cores_per_executor=cost.cores_per_executor,
            skew=skew,
            limit_rows=cost.limit_rows,
        )

    return LikelyLaws(best=law(fit.coefficients), drawn=tuple(law(each) for each in fit.draws()))
