"""The capacity of a job: by the cost of its batches within what utilisation allows, else by utilisation alone, and at least what is proven."""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Self

import numpy as np

from penstock.core.domain.cadence import Cadence
from penstock.core.models.arrays import Flags, Floats, Ints
from penstock.core.models.capacity.batch_cost import FEWEST_BATCHES, NEWEST, PROVEN_BY, BatchCost, BatchMeasured
from penstock.core.models.capacity.batch_law import BatchLaw, LawColumns, LikelyLaws, capacities_by_laws, waves
from penstock.core.models.capacity.executor_use import ExecutorUses
from penstock.core.models.capacity.job_capacity import JobCapacity
from penstock.core.models.estimate import Estimate, Estimates, NotReady
from penstock.core.models.once import once
from penstock.core.models.score import Score

MICRO_BATCH = "micro-batch cost"
UTILIZATION = "utilisation regression"
MOST_SKEW, USUAL_SKEW = 2.5, 1.2
"""How much longer than the mean task the longest one takes: at most, and where nothing is known."""
FIXED_S, LEAST_SHARE = 0.15, 0.3
"""Seconds that a task may run whatever its rows, to start and to open its source; and the least share of its time that its rows take."""
OPEN = 32
"""Laws that are likely where only their bounds are known."""
FADES_S = 6 * 3600.0
"""A proof this old counts half."""
VAGUE = 3.0
"""A capacity whose upper bound is more than this many times its lower one is not known."""
SURE_SHARE = 0.9
"""Lower bound as a share of what is proven: equal batches differ by some percent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacitySeen:
    """One turn: all executors over a window that ends at a commit, and the batches committed since the turn before."""

    uses: ExecutorUses
    batches: tuple[BatchMeasured, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityChoice:
    """The model that answers, and why, in words for people."""

    model: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityModel:
    """Holds the regression on utilisation and the cost of micro-batches; the regression bounds what a row costs.

    Without `by_batches` (Real-Time Mode, where the batch duration is set, not measured) the regression alone answers.

    >>> from penstock.core.models.capacity.executor_use import ExecutorUse
    >>> def turn(number: int) -> CapacitySeen:
    ...     rows = 1000.0 + 100.0 * number
    ...     use = ExecutorUse(executor="1", utilization=rows / 10_000.0, throughput_rows_per_s=rows / 5.0)
    ...     uses = ExecutorUses(at_s=15.0 * number, executors=1, since_change_s=None, uses=(use,))
    ...     return CapacitySeen(uses=uses, batches=(BatchMeasured(rows=rows, duration_s=0.5 + rows / 2000.0, executors=1),))
    >>> model = CapacityModel(by_batches=BatchCost(partitions=1)).learn([turn(number) for number in range(20)])
    >>> round(model.capacity(1, Cadence(interval_s=5.0, longest_s=5.0)).value), round(model.by_utilization.predict().value)
    (1800, 2000)
    """

    by_utilization: JobCapacity = field(default_factory=JobCapacity)
    by_batches: BatchCost | None = None
    in_batches: bool = False
    """Whether the job runs in micro-batches: without `by_batches` these are of several queries."""

    def learn(self, seen: Sequence[CapacitySeen]) -> Self:
        """Learn turns in the order of time."""
        batches = [batch for turn in seen for batch in turn.batches]
        return replace(
            self,
            by_utilization=self.by_utilization.learn([turn.uses for turn in seen]),
            by_batches=self.by_batches.learn(batches) if self.by_batches and batches else self.by_batches,
        )

    def capacity(self, executors: int, cadence: Cadence) -> Estimate | NotReady:
        """Return the capacity of this many executors in rows/s."""
        answers = self.capacities([executors], cadence)
        return answers if isinstance(answers, NotReady) else answers.each()[0]

    def capacities(self, executor_counts: Sequence[int], cadence: Cadence) -> Estimates | NotReady:
        """Return the capacity of several numbers of executors, which costs little more than one."""
        asked = np.array(executor_counts)
        if self.by_batches is None:
            regression = self.by_utilization.predict_each(executor_counts, np.ones(len(asked)))
            return regression if isinstance(regression, NotReady) else self._proven(regression, asked, cadence)
        laws = self.laws()
        return laws if isinstance(laws, NotReady) else self._proven(capacities_by_laws(laws, executor_counts, cadence), asked, cadence)

    def laws(self) -> LikelyLaws | NotReady:
        """Return the cost of batches by their durations, as far as the utilisation of the executors allows it."""
        return _laws_within(self)

    def score(self) -> Score | NotReady:
        """Return the error of the cost of micro-batches where it is known, else of the regression."""
        known = self.by_batches is not None and not isinstance(self.by_batches.laws(), NotReady)
        return self.by_batches.score() if known and self.by_batches is not None else self.by_utilization.score()

    def choice(self, executors: int, cadence: Cadence) -> CapacityChoice:
        """Return which model answers for this many executors, why, and the proven capacity."""
        asked = np.array([executors])
        least, answers = self._least(asked, cadence), self.capacities([executors], cadence)
        if self.by_batches is None:
            model, why, by_what = UTILIZATION, "the query has no batches", "it has carried"
        else:
            alone = self.by_batches.laws()
            why = f"by utilisation alone, {alone.why}" if isinstance(alone, NotReady) else "by durations and utilisation"
            model, by_what = MICRO_BATCH, "the batches prove"
        if not isinstance(answers, NotReady):
            open_ = self._counts_vague and bool(are_vague(answers)[0])
            said = f"not known, from {answers.low[0]:,.0f} to {answers.high[0]:,.0f} rows/s: what is proven counts" if open_ else _words(answers)
            why = f"{why}: {said}"
        return CapacityChoice(model=model, why=why if least is None else f"{why}; {by_what} at least {least[0]:,.0f} rows/s")

    def _proven(self, answers: Estimates, executor_counts: Ints, cadence: Cadence) -> Estimates:
        """Raise the answers to what is proven; a line through few utilisations may be lower.

        Without batches, fewer executors are credited with the throughput that each of more executors had: else only the present number would be known of a
        job that is nearly idle. In micro-batches, an answer whose bounds are too far apart is not known: what is proven takes its place, if anything.
        """
        least = self._least(executor_counts, cadence)
        known = answers if least is None else at_least(answers, least)
        if self.by_batches is None and least is not None:
            known = surely(known, carried_by_share(self.by_utilization.carried(), executor_counts))
        if not self._counts_vague:
            return known
        vague, proven = are_vague(known), np.zeros(len(executor_counts)) if least is None else least
        return replace(known, value=np.where(vague, proven, known.value), low=np.where(vague, SURE_SHARE * proven, known.low))

    @property
    def _counts_vague(self) -> bool:
        return self.in_batches or self.by_batches is not None

    def _least(self, executor_counts: Ints, cadence: Cadence) -> Floats | None:
        """Rows/s proven by batches, or without them by the throughput seen with as many executors or fewer; None without proof."""
        if self.by_batches is None:
            carried = self.by_utilization.carried()
            return carried_by_fewer(carried, executor_counts) if carried else None
        proven = proven_by(self.by_batches, cadence)
        return proven.rates(executor_counts, cadence) if proven else None


@once(16)
def _laws_within(model: CapacityModel) -> LikelyLaws | NotReady:
    """Return the laws of the batches, each moved to the cost of a row that utilisation allows; without such a law all these costs are likely.

    The median batch stays where it is: what its rows do not take is overhead. Durations by which a row costs less than the least show no cost of a row.
    """
    cost = model.by_batches
    assert cost is not None
    laws = cost.laws()
    if len(cost.batches) < FEWEST_BATCHES:
        return laws
    bounds = row_bounds(model)
    if bounds is None:
        return NotReady(why="rows do not lengthen a batch") if isinstance(laws, LikelyLaws) and laws.best.row_s <= 0.0 else laws
    newest = cost.as_now(cost.batches[-NEWEST:])

    def at(row_s: float) -> BatchLaw:
        return cost.law(base_s=max(0.0, float(np.median(newest.durations - row_s * newest.loads))), row_s=row_s)

    if isinstance(laws, NotReady) or laws.best.row_s * laws.best.skew < bounds.low:
        return LikelyLaws(best=at(bounds.usual), drawn=tuple(at(float(each)) for each in np.geomspace(bounds.low, bounds.high, OPEN)))

    def within(law: BatchLaw) -> BatchLaw:
        row_s = law.row_s * law.skew
        return law if bounds.low <= row_s <= bounds.high else at(min(max(row_s, bounds.low), bounds.high))

    return replace(laws, best=within(laws.best), drawn=tuple(map(within, laws.drawn)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RowBounds:
    """The least, the usual and the most seconds that a row takes one core."""

    low: float
    usual: float
    high: float


def row_bounds(model: CapacityModel) -> RowBounds | None:
    """Return what a row may cost by the utilisation of the executors, else by the run time of the tasks; None while neither is known.

    A nearly idle job at a constant load shows no line of throughput over utilisation. A batch lasts at least as long as its tasks fill the executors, and
    longer only by skew. Of the time of its tasks, up to `FIXED_S` each may not be for rows, which makes a row cheaper. All batches together do not take longer
    than they took: that makes it cheaper too.
    """
    cost = model.by_batches
    assert cost is not None
    executors, newest = cost.batches[-1].executors, cost.batches[-NEWEST:]
    busy = model.by_utilization.predict_each([executors], cost.busiest_share(np.array([executors])))
    if isinstance(busy, NotReady) or busy.low[0] <= 0.0:
        in_tasks = [batch.task_row_s for batch in newest if batch.task_row_s]
        if not in_tasks:
            return None
        least, most = median(in_tasks), MOST_SKEW * median(in_tasks)
    else:
        one_s = 1.0 / cost.law(row_s=1.0).row_cost_s(executors)
        least, most = float(one_s / busy.high[0]), float(MOST_SKEW * one_s / busy.low[0])
    fixed = FIXED_S / median(batch.rows / (batch.tasks or cost.partitions) for batch in newest)
    low, high = max(least - fixed, LEAST_SHARE * least), min(most, max(least, dearest_s(cost)))
    return RowBounds(low=low, usual=min((low + least) / 2 * usual_skew(cost), high), high=high) if 0.0 < low < high < np.inf else None


def dearest_s(cost: BatchCost) -> float:
    """Return the most seconds that a row can take one core: all the time of the batches that had the most rows for theirs."""
    alike = [each for each in batches_alike(cost).values() if len(each) >= PROVEN_BY]
    return min((median(_row_s_without_overhead(batch, cost) for batch in each) for each in alike), default=np.inf)


def usual_skew(cost: BatchCost) -> float:
    """Return how much longer than their mean tasks the newest batches took, without the time outside of tasks; `USUAL_SKEW` where that is not known."""
    known = []
    for batch in cost.batches[-NEWEST:]:
        if batch.outside_s is not None and batch.task_row_s:
            tasks = batch.tasks or cost.partitions
            mean_s = batch.task_row_s * batch.rows * waves(tasks, batch.executors * cost.cores_per_executor) / tasks
            known.append((batch.own_s - batch.outside_s) / mean_s)
    return min(max(median(known), 1.0), MOST_SKEW) if known else USUAL_SKEW


def are_vague(answers: Estimates) -> Flags:
    """Return where the bounds are so far apart that a capacity is not known."""
    return np.asarray(answers.high > VAGUE * answers.low)


def _widths(answers: Estimates) -> Floats:
    """Half the distance between the bounds, as a share of the value."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(answers.value > 0.0, (answers.high - answers.low) / 2 / answers.value, np.inf)


def _words(answer: Estimates) -> str:
    return f"{answer.value[0]:,.0f} rows/s, ± {100 * _widths(answer)[0]:.0f} %"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proven:
    """The law by which all of a batch's time goes into its rows: an overhead, which does not grow with them, would leave room for more."""

    law: BatchLaw
    largest: int

    def rates(self, executor_counts: Ints, cadence: Cadence) -> Floats:
        """Return the rows/s at which a batch takes the longest time allowed; beyond the most executors seen, the rate of the most seen."""
        return np.asarray(LawColumns.of([self.law]).rates(np.minimum(executor_counts, self.largest), cadence)[0])


def proven_by(cost: BatchCost, cadence: Cadence) -> Proven | None:
    """Return what batches prove that were alike and not too long: they outlive the newest ones and fade over hours. None where there are too few.

    >>> cadence = Cadence(interval_s=2.0, longest_s=2.0)
    >>> proven = proven_by(BatchCost(partitions=12).learn([BatchMeasured(rows=2000, duration_s=1.0, executors=4)] * 3), cadence)
    >>> proven.rates(np.array([2, 4, 6]), cadence).tolist()
    [1000.0, 2000.0, 2000.0]
    """
    proofs = [each for each in batches_alike(cost).values() if len(each) >= PROVEN_BY and median(batch.duration_s for batch in each) <= cadence.longest_s]
    if not proofs:
        return None
    newest_s = cost.batches[-1].at_s
    row_s = min(median(_row_s_without_overhead(batch, cost) for batch in each) * 2.0 ** ((newest_s - each[-1].at_s) / FADES_S) for each in proofs)
    return Proven(law=cost.law(row_s=row_s), largest=max(batch.executors for each in proofs for batch in each))


def batches_alike(cost: BatchCost) -> Mapping[Hashable, Sequence[BatchMeasured]]:
    """Return the batches by their kind."""
    alike: dict[Hashable, list[BatchMeasured]] = defaultdict(list)
    for batch in cost.batches:
        alike[batch.kind()].append(batch)
    return alike


def _row_s_without_overhead(batch: BatchMeasured, cost: BatchCost) -> float:
    tasks = batch.tasks or cost.partitions
    return batch.duration_s * tasks / (batch.rows * waves(tasks, batch.executors * cost.cores_per_executor))


def carried_by_fewer(carried: Mapping[int, float], executor_counts: Ints) -> Floats:
    """Return the highest throughput in rows/s seen with as many executors or fewer.

    >>> carried_by_fewer({4: 900.0, 2: 500.0, 6: 700.0}, np.array([1, 2, 3, 6])).tolist()
    [0.0, 500.0, 500.0, 900.0]
    """
    seen = sorted(carried)
    most = np.maximum.accumulate([0.0, *(carried[each] for each in seen)])
    return np.asarray(most[np.searchsorted(seen, executor_counts, side="right")])


def carried_by_share(carried: Mapping[int, float], executor_counts: Ints) -> Floats:
    """Return the rows/s if each executor processes what each of more executors has processed; 0 where more were never seen.

    >>> carried_by_share({4: 900.0, 2: 500.0}, np.array([1, 2, 3, 6])).tolist()
    [250.0, 450.0, 675.0, 0.0]
    """
    shares = [np.where(executor_counts < seen, executor_counts / seen * rows_per_s, 0.0) for seen, rows_per_s in carried.items()]
    return np.asarray(np.max(shares, axis=0))


def surely(answers: Estimates, rows_per_s: Floats) -> Estimates:
    """Raise the lower bounds to these rates, but not above the values: fewer executors may share the partitions unevenly.

    >>> surely(Estimates(value=np.array([600.0, 90.0]), low=np.array([0.0, 0.0]), high=np.array([1e4, 1e4])), np.array([100.0, 200.0])).low.tolist()
    [90.0, 90.0]
    """
    return replace(answers, low=np.maximum(answers.low, np.minimum(answers.value, SURE_SHARE * rows_per_s)))


def at_least(answers: Estimates, rows_per_s: Floats) -> Estimates:
    """Raise the answers to these rates.

    >>> at_least(Estimates(value=np.array([600.0]), low=np.array([150.0]), high=np.array([1050.0])), np.array([1600.0])).each()
    [Estimate(value=1600.0, low=1440.0, high=1600.0)]
    """
    return Estimates(
        value=np.maximum(answers.value, rows_per_s), low=np.maximum(answers.low, SURE_SHARE * rows_per_s), high=np.maximum(answers.high, rows_per_s)
    )
