"""The cost of a micro-batch, learnt from the durations of batches."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Self, TypeVar

import numpy as np

from penstock.core.domain.cadence import Cadence
from penstock.core.models.arrays import Floats, Ints
from penstock.core.models.capacity.batch_law import BatchLaw, LikelyLaws, capacities_by_laws, waves
from penstock.core.models.capacity.cost_change import IN_A_ROW, CostChange, cost_change, expected_s, surprise
from penstock.core.models.capacity.duration_fit import DurationFit, fit_durations
from penstock.core.models.estimate import SIGMA_PER_MAD, Estimate, NotReady
from penstock.core.models.once import once
from penstock.core.models.score import PrequentialErrors, Score, mape

FEWEST_BATCHES = 5
"""A law needs this many batches."""
MOST_BATCHES = 600
"""Batches kept in all; the newest win, and older ones stay as proofs: as many at most, of which `PROVEN_BY` of each kind."""
PROVEN_BY = 3
"""So many batches alike prove what a configuration carries."""
MOST_ALIKE = 40
"""Batches kept with equal executors and size (within a factor of sqrt(2)): a steady hour must not push out the sizes that separate overhead from cost."""
NEWEST = 20
"""The newest batches, of which medians are taken."""
LITTLE = 0.05
"""A batch of which others took more does not show a change of the cost."""
HALF_LIFE_S = 3600.0
"""A batch this old counts half."""
APART = 1.25
"""Batches differ in size if the second largest is this many times the second smallest; a single stray batch does not count."""
TELLING = 0.3
"""The share of a batch that its rows must take for it to show what a row costs."""

UNGRADED = PrequentialErrors(paper_error=None)

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
    at_s: float = 0.0
    taken: float = 0.0
    """Share of the CPU time that it wanted and that others took."""
    outside_s: float | None = None
    """Time outside of its tasks."""
    task_row_s: float | None = None
    """Run time of all its tasks together for each row, without the time that others took."""
    cpu_row_s: float | None = None
    """CPU time of all its tasks together for each row."""
    off: float | None = None
    """The logarithm of its duration over the one that was predicted, 0 within the bounds; None where it tells nothing of a change."""

    def __post_init__(self) -> None:
        if not (0 <= self.rows < math.inf and 0 < self.duration_s < math.inf and self.executors >= 1 and 1 <= self.skew < math.inf and 0 <= self.taken < 1):
            raise ValueError(f"a batch that cannot be: {self}")

    @property
    def own_s(self) -> float:
        """The duration without the time that others took."""
        return self.duration_s * (1.0 - self.taken)

    def kind(self) -> tuple[int, int | None, int]:
        return self.executors, self.tasks, math.floor(2 * math.log2(self.rows))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Seconds:
    """Durations of batches, and their loads, rows*skew*waves/P."""

    durations: Floats
    loads: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fit:
    """A fit of these durations."""

    found: DurationFit
    durations_s: Floats

    @property
    def error(self) -> float:
        return self.found.relative_error(self.durations_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCost:
    """T(n,s) = a + waves*(f + b*skew*n/P) from measured batches, and from it the capacity C(s) (PAPER-NOTES "Micro-batch capacity").

    >>> seen = [BatchMeasured(rows=n, duration_s=0.5 + 0.001 * n * 12 / s / 12, executors=s) for n in (1000, 2000, 4000) for s in (2, 4)]
    >>> cost = BatchCost(partitions=12).learn(seen)
    >>> round(cost.predict(8000, 4).value, 3), round(cost.capacity(4, Cadence(interval_s=2.0, longest_s=2.0)).value)
    (2.5, 3000)
    """

    partitions: int
    cores_per_executor: int = 1
    limit_rows: float | None = None
    batches: tuple[BatchMeasured, ...] = ()
    change: CostChange | None = None
    """The newest change of the cost."""
    next_durations: PrequentialErrors = UNGRADED
    """Errors of the duration that is predicted of each next batch, and of the saturated throughput that it implies."""
    next_saturated: PrequentialErrors = UNGRADED

    def learn(self, seen: Sequence[BatchMeasured]) -> Self:
        """Learn batches in the order of time; what was learnt before a change of the cost is moved to the new cost."""
        new = tuple(each for each in seen if each.rows > 0 and not each.warming)
        if not new:
            return self
        laws = self._expected()
        graded = self if laws is None else self._graded(laws, new)
        known = newest_of_each((*self.batches, *(self._judged(laws, each) for each in new)), BatchMeasured.kind, MOST_ALIKE)
        older, newest = known[:-MOST_BATCHES], known[-MOST_BATCHES:]
        cost = replace(graded, batches=(*newest_of_each(older, BatchMeasured.kind, PROVEN_BY)[-MOST_BATCHES:], *newest))
        return cost if laws is None else cost._changed(laws, new[-1].at_s)

    def _expected(self) -> LikelyLaws | None:
        """Return the laws by which the next batch is judged; while all batches are of one size, a law through them; None before there are a few."""
        laws = self.laws()
        return laws if isinstance(laws, LikelyLaws) else law_of_one_size(self) if len(self.batches) >= FEWEST_BATCHES else None

    def _graded(self, laws: LikelyLaws, new: Sequence[BatchMeasured]) -> Self:
        """Compare the predicted duration of each batch with its own, and the saturated throughput of the law with the one that the batch implies."""
        durations, saturated = self.next_durations, self.next_saturated
        for batch in new:
            durations = durations.with_one(batch.own_s, expected_s(laws.best, batch), None)
            in_rows_s, row_s = batch.own_s - laws.best.base_s(batch.executors), laws.best.row_cost_s(batch.executors)
            if in_rows_s > TELLING * batch.own_s and row_s > 0:
                saturated = saturated.with_one(batch.rows / in_rows_s, 1.0 / row_s, None)
        return replace(self, next_durations=durations, next_saturated=saturated)

    def _judged(self, laws: LikelyLaws | None, batch: BatchMeasured) -> BatchMeasured:
        if laws is None or batch.taken > LITTLE:
            return batch
        return replace(batch, off=surprise(laws.of_tasks(batch.tasks or self.partitions), batch, max(each.rows for each in self.batches)))

    def _changed(self, laws: LikelyLaws, at_s: float) -> Self:
        """Return the cost after a change that the newest telling batches show: durations of before become what they would be now."""
        places = [place for place, batch in enumerate(self.batches) if batch.off is not None][-IN_A_ROW:]
        if len(places) < IN_A_ROW:
            return self
        newest, before, since = [self.batches[place] for place in places], self.batches[: places[0]], self.batches[places[0] :]
        change = cost_change(laws, [batch.off or 0.0 for batch in newest], before, newest, at_s)
        if change is None:
            return self
        moved = (replace(each, duration_s=each.duration_s * change.ratio(laws.best, each)) for each in before)
        return replace(self, batches=tuple(replace(each, off=None) for each in (*moved, *since)), change=change)

    def predict(self, rows: float, executors: int) -> Estimate | NotReady:
        """Return the mean duration in seconds of a batch with this many rows."""
        laws = self.laws()
        return laws if isinstance(laws, NotReady) else laws.estimate(lambda law: law.duration_s(rows, executors))

    def capacity(self, executors: int, cadence: Cadence) -> Estimate | NotReady:
        """Return the rows/s at which batches take the longest time allowed, under the limit of rows a batch if there is one."""
        laws = self.laws()
        return laws if isinstance(laws, NotReady) else capacities_by_laws(laws, [executors], cadence).each()[0]

    def busiest_share(self, executor_counts: Ints) -> Floats:
        """Return the utilisation of the executor with the most tasks while tasks run: ceil(P/s) of them over its cores and all waves.

        >>> BatchCost(partitions=12, cores_per_executor=2).busiest_share(np.array([6, 5])).tolist()
        [1.0, 0.75]
        """
        rounds = waves(self.partitions, executor_counts * self.cores_per_executor)
        return np.asarray(waves(self.partitions, executor_counts) / (rounds * self.cores_per_executor))

    def law(self, *, row_s: float, base_s: float = 0.0, skew: float = 1.0) -> BatchLaw:
        """Return a law for the tasks, slots and limit of the query. `base_s` is that on the newest executors.

        What tasks run for beyond their rows goes with the waves.

        >>> seen = [BatchMeasured(rows=1000.0, duration_s=2.5, executors=2, task_row_s=0.0024)] * 5
        >>> law = BatchCost(partitions=12).learn(seen).law(row_s=0.001, base_s=2.0)
        >>> round(law.overhead_s, 3), round(law.task_s, 3), law.base_s(2)
        (1.3, 0.117, 2.0)
        """
        law = BatchLaw(
            overhead_s=base_s, row_s=row_s, partitions=self.partitions, cores_per_executor=self.cores_per_executor, skew=skew, limit_rows=self.limit_rows
        )
        fixed = [each.task_row_s * each.rows / (each.tasks or self.partitions) for each in self.batches[-NEWEST:] if each.task_row_s]
        if not fixed or base_s <= 0.0:
            return law
        rounds = law.waves(self.batches[-1].executors)
        for_rows = [row_s * skew * each.rows / (each.tasks or self.partitions) for each in self.batches[-NEWEST:] if each.task_row_s]
        task_s = min(max(0.0, median(all_s - rows_s for all_s, rows_s in zip(fixed, for_rows, strict=True))), base_s / rounds)
        return replace(law, overhead_s=base_s - rounds * task_s, task_s=task_s) if task_s else law

    def loads(self, batches: Sequence[BatchMeasured]) -> tuple[Floats, Ints]:
        """Return rows*skew*waves/P of each batch, and its waves."""
        tasks = np.array([each.tasks or self.partitions for each in batches])
        rounds = np.array([waves(int(count), each.executors * self.cores_per_executor) for count, each in zip(tasks, batches, strict=True)])
        return np.array([each.rows * each.skew for each in batches]) * rounds / tasks, rounds

    def as_now(self, batches: Sequence[BatchMeasured]) -> Seconds:
        """Return durations and loads as they would be on the newest executors: the time in tasks goes with the waves, whatever part of it is for rows.

        As they were, if the time outside of tasks is not known, or the tasks vary.
        """
        own_s, (loads, rounds) = np.array([each.own_s for each in batches]), self.loads(batches)
        if any(each.outside_s is None or each.tasks not in (None, self.partitions) for each in batches):
            return Seconds(durations=own_s, loads=loads)
        outside_s = np.minimum(own_s, [each.outside_s * (1.0 - each.taken) for each in batches if each.outside_s is not None])
        times = waves(self.partitions, self.batches[-1].executors * self.cores_per_executor) / rounds
        return Seconds(durations=outside_s + (own_s - outside_s) * times, loads=loads * times)

    def laws(self) -> LikelyLaws | NotReady:
        """Return the fitted law, with others drawn from the uncertainty of the fit."""
        return _laws(self)

    def score(self) -> Score | NotReady:
        """Return leave-one-out errors of the duration, beside the mean duration and the line a + b*n/(s*cores) without waves."""
        fit = _fit(self)
        if isinstance(fit, NotReady):
            return fit
        durations = fit.durations_s
        slots = np.array([each.executors * self.cores_per_executor for each in self.batches])
        rows = np.array([each.rows for each in self.batches])
        plain = fit_durations(np.column_stack([np.ones(len(rows)), rows / slots]), durations)
        others = (durations.sum() - durations) / (len(durations) - 1)
        return Score(
            mape=mape(fit.found.left_out_s.tolist(), durations.tolist()),
            constant_mape=mape(others.tolist(), durations.tolist()),
            paper_mape=mape(plain.left_out_s.tolist(), durations.tolist()),
            held_out=len(durations),
        )


def law_of_one_size(cost: BatchCost) -> LikelyLaws:
    """Return a law through batches of one size, whose overhead is the time outside of their tasks: it holds for batches of that size.

    >>> alike = [BatchMeasured(rows=1000.0, duration_s=each, executors=1, outside_s=0.5) for each in (1.9, 2.0, 2.0, 2.0, 2.1)]
    >>> laws = law_of_one_size(BatchCost(partitions=1).learn(alike))
    >>> laws.best.overhead_s, laws.best.row_s, round(laws.noise, 3)
    (0.5, 0.0015, 0.0)
    """
    known = [each.outside_s for each in cost.batches if each.outside_s is not None]
    overhead_s = min(median(known), *(each.own_s for each in cost.batches)) if known else 0.0
    free = cost.law(row_s=1.0)
    row_s = median((each.own_s - overhead_s) / free.duration_s(each.rows * each.skew, each.executors) for each in cost.batches)
    law = replace(free, overhead_s=overhead_s, row_s=row_s)
    noise = SIGMA_PER_MAD * median(abs(math.log(each.own_s / expected_s(law, each))) for each in cost.batches)
    return LikelyLaws(best=law, drawn=(law,), noise=noise)


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
def _fit(cost: BatchCost) -> Fit | NotReady:
    """Fit durations on 1 and the load, and on the number of tasks where it varies; and as they would be on the newest executors, where these vary.

    What lowers the leave-one-out error is taken.
    """
    if len(cost.batches) < FEWEST_BATCHES:
        return NotReady(why=f"{len(cost.batches)} batches with rows so far, {FEWEST_BATCHES} are needed")
    tasks = np.array([each.tasks or cost.partitions for each in cost.batches])
    (loads, rounds), weights, now = cost.loads(cost.batches), weights_of(cost.batches), cost.as_now(cost.batches)
    durations = np.array([each.own_s for each in cost.batches])
    unidentified = one_size_only(loads)
    if unidentified:
        return unidentified
    ones = np.ones(len(loads))
    found = Fit(found=fit_durations(np.column_stack([ones, loads]), durations, weights), durations_s=durations)
    if len(cost.batches) <= FEWEST_BATCHES:
        return found
    if tasks.min() < tasks.max():
        growing = Fit(found=fit_durations(np.column_stack([ones, loads, tasks]), durations, weights), durations_s=durations)
        return growing if growing.error < found.error else found
    if rounds.min() == rounds.max() or one_size_only(now.loads) is not None:
        return found
    alike = Fit(found=fit_durations(np.column_stack([ones, now.loads]), now.durations, weights), durations_s=now.durations)
    return alike if alike.error < found.error else found


@once(64)
def _laws(cost: BatchCost) -> LikelyLaws | NotReady:
    fit = _fit(cost)
    if isinstance(fit, NotReady):
        return fit
    skew = float(np.median([each.skew for each in cost.batches]))

    def law(coefficients: Floats) -> BatchLaw:
        base_s, row_s, *per_task = map(float, coefficients)
        return cost.law(base_s=base_s + sum(per_task) * cost.partitions, row_s=row_s, skew=skew)

    return LikelyLaws(best=law(fit.found.coefficients), drawn=tuple(law(each) for each in fit.found.draws()), noise=fit.found.scale)


def weights_of(batches: Sequence[BatchMeasured]) -> Floats:
    """Return how much each batch counts: less the older it is, as costs drift, and the more time others took from it, as that is measured less well.

    What others take on a machine that cannot be seen shows in tasks that run for longer than usual for their CPU time: such a batch counts less too.

    >>> waited = [BatchMeasured(rows=1.0, duration_s=1.0, executors=1, task_row_s=each, cpu_row_s=1.0) for each in (2.0, 2.0, 4.0)]
    >>> weights_of(waited).tolist()
    [1.0, 1.0, 0.25]
    """
    newest_s = max(each.at_s for each in batches)
    waits = [each.task_row_s / each.cpu_row_s if each.task_row_s and each.cpu_row_s else None for each in batches]
    usual = median([each for each in waits if each is not None] or [1.0])
    shares = [1.0 if each is None else min(1.0, usual / each) for each in waits]
    return np.array([2.0 ** ((each.at_s - newest_s) / HALF_LIFE_S) * ((1.0 - each.taken) * share) ** 2 for each, share in zip(batches, shares, strict=True)])
