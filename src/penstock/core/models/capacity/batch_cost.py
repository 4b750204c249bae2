"""The cost of a micro-batch, learnt from the durations of batches."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Self, TypeVar

import numpy as np

from penstock.core.domain.cadence import Cadence
from penstock.core.models.arrays import Floats
from penstock.core.models.capacity.batch_law import BatchLaw, LikelyLaws, capacities_by_laws, waves
from penstock.core.models.estimate import HIGH_LEVEL, NORMAL_REACH, SIGMA_PER_MAD, Estimate, NotReady
from penstock.core.models.once import once
from penstock.core.models.score import Score, mape

FEWEST_BATCHES = 5
"""A law needs this many batches."""
MOST_BATCHES = 600
"""Batches kept in all; the newest win."""
MOST_ALIKE = 40
"""Batches kept with equal executors and size (within a factor of sqrt(2)): a steady hour must not push out the sizes that separate overhead from cost."""
APART = 1.25
"""Batches differ in size if the second largest is this many times the second smallest; a single stray batch does not count."""

ONE_SIZE_ONLY = "batches of one size only: the fixed overhead and the cost of a row cannot be separated until the rows in a batch, or the executors, change"


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchMeasured:
    """One committed batch; a batch without rows, or measured while executors warm up, is not learnt."""

    rows: float
    duration_s: float
    executors: int
    skew: float = 1.0
    """Longest task over the mean task."""
    tasks: int | None = None
    """Tasks of this batch where they vary (adaptive execution); None if as many as the partitions."""
    warming: bool = False

    def __post_init__(self) -> None:
        if not (0 <= self.rows < math.inf and 0 < self.duration_s < math.inf and self.executors >= 1 and 1 <= self.skew < math.inf):
            raise ValueError(f"a batch that cannot be: {self}")

    def kind(self) -> tuple[int, int | None, int]:
        return self.executors, self.tasks, math.floor(2 * math.log2(self.rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCost:
    """T(n,s) = a + b*skew*n*waves/P from measured batches, and from it the capacity C(s) (PAPER-NOTES "Micro-batch capacity").

    >>> seen = [BatchMeasured(rows=n, duration_s=0.5 + 0.001 * n * 12 / s / 12, executors=s) for n in (1000, 2000, 4000) for s in (2, 4)]
    >>> cost = BatchCost(partitions=12).learn(seen)
    >>> round(cost.predict(8000, 4).value, 3), round(cost.capacity(4, Cadence(interval_s=2.0, longest_s=2.0)).value)
    (2.5, 3000)
    """

    partitions: int
    cores_per_executor: int = 1
    limit_rows: float | None = None
    batches: tuple[BatchMeasured, ...] = ()

    def learn(self, seen: Sequence[BatchMeasured]) -> Self:
        taught = tuple(each for each in seen if each.rows > 0 and not each.warming)
        return replace(self, batches=newest_of_each(self.batches + taught, BatchMeasured.kind, MOST_ALIKE)[-MOST_BATCHES:]) if taught else self

    def predict(self, rows: float, executors: int) -> Estimate | NotReady:
        """Return the mean duration in seconds of a batch with this many rows."""
        laws = self.laws()
        return laws if isinstance(laws, NotReady) else laws.estimate(lambda law: law.duration_s(rows, executors))

    def capacity(self, executors: int, cadence: Cadence) -> Estimate | NotReady:
        """Return the rows/s at which batches take the longest time allowed, under the limit of rows a batch if there is one."""
        laws = self.laws()
        return laws if isinstance(laws, NotReady) else capacities_by_laws(laws, [executors], cadence).each()[0]

    def laws(self) -> LikelyLaws | NotReady:
        """Return the fitted law, with others drawn from the uncertainty of the fit."""
        return _laws(self)

    def score(self) -> Score | NotReady:
        """Return leave-one-out errors of the duration, beside the mean duration and the line a + b*n/(s*cores) without waves."""
        fit = _fit(self)
        if isinstance(fit, NotReady):
            return fit
        durations = np.array([each.duration_s for each in self.batches])
        slots = np.array([each.executors * self.cores_per_executor for each in self.batches])
        rows = np.array([each.rows for each in self.batches])
        plain = fit_durations(np.column_stack([np.ones(len(rows)), rows / slots]), durations)
        others = (durations.sum() - durations) / (len(durations) - 1)
        return Score(
            mape=mape(fit.left_out_s.tolist(), durations.tolist()),
            constant_mape=mape(others.tolist(), durations.tolist()),
            paper_mape=mape(plain.left_out_s.tolist(), durations.tolist()),
            held_out=len(durations),
        )


Seen = TypeVar("Seen")


def newest_of_each(seen: Sequence[Seen], kind_of: Callable[[Seen], Hashable], most: int) -> tuple[Seen, ...]:
    """Return the newest of each kind, at most `most`, in their order; the result does not depend on the batching.

    >>> newest_of_each((9, 1, 2, 3), lambda each: each > 5, 2)
    (9, 2, 3)
    """
    alike: Counter[Hashable] = Counter()
    kept: list[Seen] = []
    for each in reversed(seen):
        kind = kind_of(each)
        alike[kind] += 1
        if alike[kind] <= most:
            kept.append(each)
    return tuple(reversed(kept))


def one_size_only(loads: Floats) -> NotReady | None:
    """Return why overhead and cost per row cannot be separated, if they cannot; `loads` are rows*skew*waves/P.

    >>> one_size_only(np.array([10.0, 10.0, 11.0, 50.0])).why
    'batches of one size only: the fixed overhead and the cost of a row cannot be separated until the rows in a batch, or the executors, change'
    >>> one_size_only(np.array([10.0, 11.0, 48.0, 50.0]))
    """
    ordered = np.sort(loads)
    if ordered[-2] >= APART * ordered[1]:
        return None
    return NotReady(why=ONE_SIZE_ONLY)


@once(64)
def _fit(cost: BatchCost) -> DurationFit | NotReady:
    """Fit durations on 1 and the load, and on the number of tasks where it varies and lowers the leave-one-out error."""
    if len(cost.batches) < FEWEST_BATCHES:
        return NotReady(why=f"{len(cost.batches)} batches with rows so far, {FEWEST_BATCHES} are needed")
    tasks = np.array([each.tasks or cost.partitions for each in cost.batches])
    rounds = np.array([waves(int(count), each.executors * cost.cores_per_executor) for count, each in zip(tasks, cost.batches, strict=True)])
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


BISQUARE = 4.685
"""Residuals beyond this many standard deviations are left out (Tukey's bisquare): 95 % as efficient as least squares where all noise is normal."""
SMALLEST = 1e-6
"""Relative noise below which measurements count as exact."""
ROUNDS = 60
DRAWS = 64
MOST_CORRELATED = 0.9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DurationFit:
    """Coefficients, their uncertainty, and for each row the duration predicted from the other rows."""

    coefficients: Floats
    spread: Floats
    """A square root of their covariance, widened for few rows."""
    left_out_s: Floats

    def relative_error(self, durations_s: Floats) -> float:
        """Return the median leave-one-out error, which a few slow batches do not move."""
        return float(np.median(np.abs(self.left_out_s / durations_s - 1.0)))

    def draws(self) -> Floats:
        """Return coefficients that cover their uncertainty evenly, the same in each call."""
        normal = NormalDist()
        points = np.array([[normal.inv_cdf(each) for each in point] for point in evenly(DRAWS, len(self.coefficients)).tolist()])
        return np.asarray(np.maximum(self.coefficients + points @ self.spread.T, 0.0))


def fit_durations(columns: Floats, durations_s: Floats) -> DurationFit:
    """Fit durations as a sum of columns times coefficients of at least 0, robustly and by relative residuals.

    Noise of a batch grows with its duration, and relative residuals keep one huge first batch from deciding the slope.
    It starts from least absolute residuals, so that slow batches (warm-up, a retried task) do not set the scale by which batches are then left out.

    >>> rows = np.array([100.0, 200.0, 300.0, 400.0, 500.0, 600.0])
    >>> durations = 0.5 + 0.001 * rows
    >>> durations[0] *= 3
    >>> fit_durations(np.column_stack([np.ones(6), rows]), durations).coefficients.round(6).tolist()
    [0.5, 0.001]
    """
    unit = columns.max(axis=0)
    x, y = columns / unit, durations_s
    found = _least_absolute(x, y)
    fitted = _fitted(x, found, y)
    residuals = np.abs(y / fitted - 1.0)
    scale = max(SIGMA_PER_MAD * float(np.median(np.sort(residuals)[x.shape[1] :])), SMALLEST)
    for _ in range(ROUNDS):
        before, fitted = found, _fitted(x, found, y)
        found = _least_squares(x, y, _bisquare((y / fitted - 1.0) / scale) / fitted**2)
        if _near(before, found, 1e-9):
            break
    spread, left_out_s = _uncertainty(x, y, found, scale)
    return DurationFit(coefficients=found / unit, spread=spread / unit[:, None], left_out_s=left_out_s)


def evenly(count: int, dimensions: int) -> Floats:
    """Return points that fill the unit cube evenly, without chance: multiples of powers of the generalised golden ratio.

    >>> evenly(3, 1).round(3).tolist()
    [[0.118], [0.736], [0.354]]
    """
    ratio = 1.0
    for _ in range(ROUNDS):
        ratio = (1.0 + ratio) ** (1.0 / (dimensions + 1))
    steps = ratio ** -np.arange(1.0, dimensions + 1)
    return np.asarray((0.5 + np.arange(1, count + 1)[:, None] * steps) % 1.0)


def _least_absolute(x: Floats, y: Floats) -> Floats:
    found = _least_squares(x, y, y**-2.0)
    for _ in range(ROUNDS):
        before = found
        found = _least_squares(x, y, 1.0 / (y * np.maximum(np.abs(y - x @ found), SMALLEST * y)))
        if _near(before, found, 1e-3):
            break
    return found


def _near(before: Floats, found: Floats, share: float) -> bool:
    return bool((np.abs(before - found) <= share * np.abs(found)).all())


def _least_squares(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Weighted least squares without negative coefficients; the plain solution, ten times faster, mostly has none."""
    weighted = (x * weights[:, None]).T
    try:
        plain = np.asarray(np.linalg.solve(weighted @ x, weighted @ y), dtype=np.float64)
    except np.linalg.LinAlgError:
        plain = np.full(x.shape[1], -1.0)
    return plain if (plain >= 0.0).all() else _least_squares_bounded(x, y, weights)


def _least_squares_bounded(x: Floats, y: Floats, weights: Floats) -> Floats:
    from scipy.optimize import nnls

    root = np.sqrt(weights)
    triangle, target = np.linalg.qr(x * root[:, None]), y * root
    return np.asarray(nnls(triangle.R, triangle.Q.T @ target)[0])


def _fitted(x: Floats, found: Floats, y: Floats) -> Floats:
    """Fitted durations, never so small that a residual relative to them overflows."""
    return np.asarray(np.maximum(x @ found, SMALLEST * y))


def _bisquare(u: Floats) -> Floats:
    return np.asarray(np.maximum(1.0 - (u / BISQUARE) ** 2, 0.0) ** 2)


def _uncertainty(x: Floats, y: Floats, found: Floats, scale: float) -> tuple[Floats, Floats]:
    """Return a square root of the covariance (Huber's for M-estimates) and the leave-one-out predictions.

    Errors of neighbouring batches are correlated: the covariance grows by (1 + r)/(1 - r) with the correlation r of neighbours.
    Few rows make it wider, as Student's t is wider than the normal.
    """
    from scipy.special import stdtrit

    fitted = _fitted(x, found, y)
    relative = x / fitted[:, None]
    u = (y / fitted - 1.0) / scale
    weights, inside = _bisquare(u), np.minimum((u / BISQUARE) ** 2, 1.0)
    pull = u * weights
    gain = max(float(np.mean((1.0 - inside) * (1.0 - 5.0 * inside))), 0.1)
    inverse = np.linalg.pinv(relative.T @ (relative * weights[:, None]), hermitian=True)
    degrees = max(float(weights.sum()) - x.shape[1], 1.0)
    variance = scale**2 * float(pull @ pull) / max(len(y) - x.shape[1], 1) / gain**2 * float(weights.mean())
    together = min(max(float(pull[1:] @ pull[:-1]) / max(float(pull @ pull), SMALLEST), 0.0), MOST_CORRELATED)
    wider = float(stdtrit(degrees, HIGH_LEVEL)) / NORMAL_REACH * math.sqrt((1.0 + together) / (1.0 - together))
    values, vectors = np.linalg.eigh(inverse)
    leverage = np.minimum(weights * np.einsum("ij,jk,ik->i", relative, inverse, relative), 0.99)
    return vectors * np.sqrt(np.maximum(values, 0.0) * variance) * wider, np.asarray(y - (y - x @ found) / (1.0 - leverage))
