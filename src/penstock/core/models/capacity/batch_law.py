"""The duration of a micro-batch, and what follows from it: capacity, and how busy executors are at that capacity."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import numpy as np

from penstock.core.domain.cadence import Cadence
from penstock.core.models.arrays import Floats, Ints
from penstock.core.models.estimate import COVERAGE, Estimate, Estimates
from penstock.core.models.moments import Number

Count = TypeVar("Count", int, Ints)

MARGIN = 0.8
"""Share of the saturated throughput that counts as capacity where the promised latency cannot be kept at any rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLaw:
    """T(n,s) = a + waves*(f + b*skew*n/P) with waves = ceil(P/(s*cores)): n rows in P tasks on s executors (PAPER-NOTES "Micro-batch capacity").

    a is `overhead_s`, f `task_s`, b `row_s`, P `partitions`. A task takes f whatever its rows, to start and to open its source; more executors save that too.
    `limit_rows` is the most rows that one batch takes.

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
    task_s: float = 0.0

    def waves(self, executors: Count) -> Count:
        """Return how often each slot takes a task of one batch."""
        return waves(self.partitions, executors * self.cores_per_executor)

    def row_cost_s(self, executors: int) -> float:
        """Return the seconds by which one more row lengthens a batch: b*skew*waves/P."""
        return row_cost_s(self.row_s * self.skew, self.partitions, self.waves(executors))

    def base_s(self, executors: int) -> float:
        """Return the duration of a batch without rows.

        >>> BatchLaw(overhead_s=0.5, row_s=0.001, partitions=12, task_s=0.1).base_s(4)
        0.8
        """
        return self.overhead_s + self.task_s * self.waves(executors)

    def duration_s(self, rows: float, executors: int) -> float:
        return self.base_s(executors) + self.row_cost_s(executors) * rows

    def capacity_rows_per_s(self, executors: int, cadence: Cadence) -> float:
        """Return the rate at which batches reach the longest duration allowed, by `LawColumns.rates`.

        >>> law, cadence = BatchLaw(overhead_s=0.5, row_s=0.001, partitions=12), Cadence(interval_s=2.0, longest_s=4.0)
        >>> law.capacity_rows_per_s(4, cadence), law.saturated_rows_per_s(4, 2.0)
        (3500.0, 4000.0)
        """
        return float(LawColumns.of([self]).rates(np.array([executors]), cadence)[0, 0])

    def saturated_rows_per_s(self, executors: int, interval_s: float) -> float:
        """Return the throughput of a job that is always behind: 1/c, or what the limit of rows a batch allows."""
        return float(LawColumns.of([self]).saturated(np.array([executors]), interval_s)[0, 0])

    def utilization_at_capacity(self, cadence: Cadence) -> float:
        """Return the share of the time in which tasks run when batches take the longest time allowed.

        >>> law = BatchLaw(overhead_s=0.5, row_s=0.001, partitions=4)
        >>> law.utilization_at_capacity(Cadence(interval_s=2.0, longest_s=5.0)), law.utilization_at_capacity(Cadence(interval_s=5.0, longest_s=3.0))
        (0.9, 0.5)
        """
        return float(busy_share(self.overhead_s, cadence))


def busy_share(overhead_s: Number, cadence: Cadence) -> Number:
    """Return the share of the time in which tasks run when batches take T*, the longest time allowed: (T* - a)/max(i,T*).

    Where T* <= a no rate keeps the promise. Batches of any size break it then, and what counts is that the job keeps up: `MARGIN`.

    >>> busy_share(np.array([1.0, 4.0]), Cadence(interval_s=2.0, longest_s=4.0)).tolist()
    [0.75, 0.8]
    """
    left_s = cadence.longest_s - overhead_s
    with np.errstate(divide="ignore", invalid="ignore"):
        share: Number = np.where(left_s > 0, left_s / cadence.cycle_s, MARGIN)  # type: ignore[assignment]
    return share


def waves(tasks: int, slots: Count) -> Count:
    """Return how many rounds of tasks a stage needs.

    >>> waves(4, 2), waves(4, np.array([3, 9])).tolist()
    (2, [2, 1])
    """
    fewest = slots if isinstance(slots, int) else int(slots.min(initial=1))
    if tasks < 1 or fewest < 1:
        raise ValueError(f"a batch needs a task and a slot, not {tasks} tasks on {fewest} slots")
    return -(-tasks // slots)


def row_cost_s(row_s: Number, partitions: int, rounds: Any) -> Number:
    """Return the seconds that one more row of `row_s` adds to a batch of so many tasks in so many rounds."""
    cost_s: Number = row_s * (rounds / partitions)
    return cost_s


def least_alike(executors: int, tasks: int, slots_each: int) -> int:
    """Return the fewest executors that need no more waves.

    >>> [least_alike(executors, 24, 1) for executors in (5, 7, 8, 11, 12, 30)]
    [5, 6, 8, 8, 12, 24]
    """
    rounds = waves(tasks, executors * slots_each)
    return waves(waves(tasks, rounds), slots_each)


def alike(law: BatchLaw, executor_counts: Sequence[int]) -> tuple[Ints, Ints]:
    """Return one number of executors for each number of waves, as a law predicts the same for all of them, and the place of each that was asked among these.

    >>> some, which = alike(BatchLaw(overhead_s=0.5, row_s=0.001, partitions=12), [4, 5, 6])
    >>> some.tolist(), which.tolist()
    ([6, 4], [1, 1, 0])
    """
    asked = np.array(executor_counts, dtype=np.int64)
    _, first, which = np.unique(law.waves(asked), return_index=True, return_inverse=True)
    return asked[first], which


@dataclass(frozen=True, slots=True, kw_only=True)
class LikelyLaws:
    """The law that fits best, and laws drawn from the uncertainty of the fit: their spread gives the bounds of whatever follows from a law.

    All have the same partitions and cores.
    """

    best: BatchLaw
    drawn: tuple[BatchLaw, ...]
    noise: float = 0.1
    """Relative standard deviation of one batch."""

    def estimate(self, of: Callable[[BatchLaw], float]) -> Estimate:
        """Return a quantity by the best law, within that of four of five drawn laws.

        >>> laws = [BatchLaw(overhead_s=each, row_s=0.0, partitions=1) for each in (1.0, 2.0, 3.0)]
        >>> LikelyLaws(best=laws[1], drawn=tuple(laws)).estimate(lambda law: law.overhead_s)
        Estimate(value=2.0, low=1.0, high=3.0)
        """
        return likely_estimates(np.array([[of(law)] for law in (self.best, *self.drawn)], dtype=float)).each()[0]

    def of_tasks(self, tasks: int) -> "LikelyLaws":
        """Return the laws of batches with so many tasks.

        >>> law = BatchLaw(overhead_s=1.0, row_s=0.001, partitions=1)
        >>> LikelyLaws(best=law, drawn=(law,)).of_tasks(4).best.partitions
        4
        """
        if tasks == self.best.partitions:
            return self
        return replace(self, best=replace(self.best, partitions=tasks), drawn=tuple(replace(law, partitions=tasks) for law in self.drawn))

    def carrying(self, executors: int, rows_per_s: float) -> "LikelyLaws":
        """Return the laws by which these executors can process at least as many rows/s as they did: rows of a law that says less are cheaper than it says.

        >>> law = BatchLaw(overhead_s=1.0, row_s=0.002, partitions=1)
        >>> LikelyLaws(best=law, drawn=(law,)).carrying(1, 800.0).best.row_s
        0.00125
        """
        if executors < 1 or rows_per_s <= 0.0:
            return self

        def carried(law: BatchLaw) -> BatchLaw:
            cost_s = law.row_cost_s(executors)
            return replace(law, row_s=law.row_s / (cost_s * rows_per_s)) if cost_s * rows_per_s > 1.0 else law

        return replace(self, best=carried(self.best), drawn=tuple(map(carried, self.drawn)))

    def ends(self, of: Callable[[BatchLaw], float]) -> tuple[BatchLaw, ...]:
        """Return the drawn laws that give the bounds of a quantity, the lower one first; none where none were drawn.

        >>> laws = [BatchLaw(overhead_s=each, row_s=0.0, partitions=1) for each in (3.0, 1.0, 2.0)]
        >>> [law.overhead_s for law in LikelyLaws(best=laws[2], drawn=tuple(laws)).ends(lambda law: law.overhead_s)]
        [1.0, 3.0]
        """
        spread, beyond = sorted(self.drawn, key=of), _beyond(len(self.drawn))
        return (spread[beyond], spread[-1 - beyond]) if spread else ()


def likely_estimates(by_law: Floats) -> Estimates:
    """Return an estimate for each column, from the best law in the first row and the drawn laws in the others."""
    value, spread = by_law[0], np.sort(by_law[1:], axis=0)
    beyond = _beyond(len(spread))
    return Estimates(value=value, low=np.minimum(value, spread[beyond]), high=np.maximum(value, spread[-1 - beyond]))


def _beyond(drawn: int) -> int:
    """Return how many of the drawn laws are beyond each bound."""
    return int(drawn * (1.0 - COVERAGE) / 2)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LawColumns:
    """Laws with the same partitions and cores, one in each row, so that a result has a column for each number of executors.

    `row_s` includes the skew; `limit_rows` is infinite without a limit.
    """

    overhead_s: Floats
    task_s: Floats
    row_s: Floats
    limit_rows: Floats
    partitions: int
    cores_per_executor: int

    @classmethod
    def of(cls, laws: Sequence[BatchLaw]) -> Self:
        rows = np.array([(law.overhead_s, law.task_s, law.row_s * law.skew, np.inf if law.limit_rows is None else law.limit_rows) for law in laws])
        overhead_s, task_s, row_s, limit_rows = (column[:, None] for column in rows.T)
        partitions, cores = laws[0].partitions, laws[0].cores_per_executor
        return cls(overhead_s=overhead_s, task_s=task_s, row_s=row_s, limit_rows=limit_rows, partitions=partitions, cores_per_executor=cores)

    def row_cost_s(self, executor_counts: Ints) -> Floats:
        return row_cost_s(self.row_s, self.partitions, self._waves(executor_counts))

    def base_s(self, executor_counts: Ints) -> Floats:
        """Return the duration of a batch without rows."""
        return np.asarray(self.overhead_s + self.task_s * self._waves(executor_counts))

    def _waves(self, executor_counts: Ints) -> Ints:
        return waves(self.partitions, executor_counts * self.cores_per_executor)

    def limits(self, executor_counts: Ints, interval_s: float) -> Floats:
        """Return m/max(i,T(m)), the most rows/s under a limit of m rows; not a number without one."""
        return np.asarray(self.limit_rows / np.maximum(interval_s, self.base_s(executor_counts) + self.row_cost_s(executor_counts) * self.limit_rows))

    def rates(self, executor_counts: Ints, cadence: Cadence) -> Floats:
        """Return C(s) = (T* - a)/(c*max(i,T*)) in rows/s, the rate at which batches take the longest time allowed, and at most what the limit allows."""
        return self._at_share(busy_share(self.base_s(executor_counts), cadence), executor_counts, cadence.interval_s)

    def saturated(self, executor_counts: Ints, interval_s: float) -> Floats:
        """Return 1/c in rows/s, which batches approach as they grow, and at most what the limit allows."""
        return self._at_share(np.ones_like(self.overhead_s), executor_counts, interval_s)

    def _at_share(self, busy: Floats, executor_counts: Ints, interval_s: float) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            cost_s = self.row_cost_s(executor_counts)
            by_cost, by_limit = np.where(cost_s > 0, busy / cost_s, np.inf), self.limits(executor_counts, interval_s)
        return np.asarray(np.fmin(by_cost, by_limit))

    def settled_s(self, rate_rows_per_s: float | Floats, interval_s: float | Floats, executor_counts: Ints) -> Floats:
        """Return T of the batch that repeats itself at a constant rate W, with a column for each number of executors, rate and interval.

        Its rows are n = W*max(i,T) with T = T(n,s): T = a + g*W*i while that is at most i, else the fixed point T = a/(1 - g*W), where g is the cost of a
        row. Latency stays finite up to W = 1/g, or to m/T(m) under a limit of m rows. Beyond, T is infinite.

        >>> law = LawColumns.of([BatchLaw(overhead_s=1.0, row_s=0.001, partitions=1)])
        >>> law.settled_s(np.array([0.0, 500.0, 750.0, 1000.0]), 2.0, np.ones(4, dtype=int)).tolist()
        [[1.0, 2.0, 4.0, inf]]
        """
        cost_s, base_s = self.row_cost_s(executor_counts), self.base_s(executor_counts)
        duration_s, spare = base_s + cost_s * rate_rows_per_s * interval_s, 1.0 - cost_s * rate_rows_per_s
        with np.errstate(divide="ignore", invalid="ignore"):
            repeated_s = np.where(spare > 0, np.maximum(interval_s, base_s / spare), np.inf)
            duration_s = np.where(duration_s > interval_s, repeated_s, duration_s)
            return np.where(rate_rows_per_s * np.maximum(interval_s, duration_s) > self.limit_rows, np.inf, duration_s)


def capacities_by_laws(laws: LikelyLaws, executor_counts: Sequence[int], cadence: Cadence) -> Estimates:
    """Return the capacity with each number of executors in rows/s.

    >>> cheap, dear = (BatchLaw(overhead_s=0.5, row_s=each, partitions=12) for each in (0.001, 0.002))
    >>> capacities_by_laws(LikelyLaws(best=cheap, drawn=(cheap, dear)), [4, 6], Cadence(interval_s=2.0, longest_s=2.0)).each()[0]
    Estimate(value=3000.0, low=1500.0, high=3000.0)
    """
    some, which = alike(laws.best, executor_counts)
    return likely_estimates(LawColumns.of((laws.best, *laws.drawn)).rates(some, cadence)).at(which)
