"""The capacity of a job: two models learn every turn, the more certain one answers, and what was seen sets a lower bound."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Self

import numpy as np

from penstock.core.domain.cadence import Cadence
from penstock.core.models.arrays import Flags, Floats, Ints
from penstock.core.models.capacity.batch_cost import FEWEST_BATCHES, BatchCost, BatchMeasured
from penstock.core.models.capacity.batch_law import BatchLaw, LawColumns, LikelyLaws, busy_share, capacities_by_laws, waves
from penstock.core.models.capacity.executor_use import ExecutorUses
from penstock.core.models.capacity.job_capacity import JobCapacity
from penstock.core.models.estimate import Estimate, Estimates, NotReady
from penstock.core.models.score import Score

MICRO_BATCH = "micro-batch cost"
UTILIZATION = "utilisation regression"
TIMES_SURER = 2.0
"""The regression replaces the micro-batch cost where its bounds are more than this many times narrower."""
NEWEST = 20
"""The newest batches, which prove a capacity."""
PROVEN_BY = 3
"""At least this many of them must have been as quick: a single one may have been lucky."""
SURE_SHARE = 0.9
"""Lower bound as a share of what is proven: equal batches differ by some percent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacitySeen:
    """One turn: all executors over a window that ends at a commit, and the batches committed since the turn before."""

    uses: ExecutorUses
    batches: tuple[BatchMeasured, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityChoice:
    """The model to use, and why, in words for people."""

    model: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityModel:
    """Holds the regression on utilisation and the cost of micro-batches, and answers from the one that `choice` names.

    Without `by_batches` (Real-Time Mode, where the batch duration is set, not measured) the regression answers.

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
        laws = self._laws()
        regression = self._by_utilization(executor_counts, cadence, laws)
        if isinstance(laws, NotReady):
            return regression if isinstance(regression, NotReady) else self._proven(regression, np.array(executor_counts), cadence)
        cost = capacities_by_laws(laws, executor_counts, cadence)
        surer = cost if isinstance(regression, NotReady) else cost.or_else(regression, are_overruled(cost, regression))
        return self._proven(surer, np.array(executor_counts), cadence)

    def score(self) -> Score | NotReady:
        """Return the error of the cost of micro-batches where it is known, else of the regression."""
        laws = self._laws()
        return self.by_utilization.score() if isinstance(laws, NotReady) or self.by_batches is None else self.by_batches.score()

    def choice(self, executors: int, cadence: Cadence) -> CapacityChoice:
        """Return the more certain model for this many executors, or the only one that is ready, why, and the proven capacity."""
        surer, least = self._surer(executors, cadence), self._least(np.array([executors]), cadence)
        by_what = "it has carried" if self.by_batches is None else "the batches prove"
        return surer if least is None else replace(surer, why=f"{surer.why}; {by_what} at least {least[0]:,.0f} rows/s")

    def _surer(self, executors: int, cadence: Cadence) -> CapacityChoice:
        laws = self._laws()
        if isinstance(laws, NotReady):
            return CapacityChoice(model=UTILIZATION, why=f"no micro-batch cost: {laws.why}")
        regression = self._by_utilization([executors], cadence, laws)
        if isinstance(regression, NotReady):
            return CapacityChoice(model=MICRO_BATCH, why=f"no utilisation regression: {regression.why}")
        return choose_capacity_model(capacities_by_laws(laws, [executors], cadence), regression)

    def _proven(self, answers: Estimates, executor_counts: Ints, cadence: Cadence) -> Estimates:
        """Raise the answers to what is proven; a line through few utilisations may be lower.

        Without batches, fewer executors are credited with the throughput that each of more executors had: else only the present number would be known of a
        job that is nearly idle.
        """
        least = self._least(executor_counts, cadence)
        if least is None:
            return answers
        known = at_least(answers, least)
        return known if self.by_batches is not None else surely(known, carried_by_share(self.by_utilization.carried(), executor_counts))

    def _least(self, executor_counts: Ints, cadence: Cadence) -> Floats | None:
        """Rows/s proven by the newest batches, or without them by the throughput seen with as many executors or fewer; None without proof."""
        if self.by_batches is None:
            carried = self.by_utilization.carried()
            return carried_by_fewer(carried, executor_counts) if carried else None
        proven = proven_by(self.by_batches, cadence)
        return proven.rates(executor_counts, cadence) if proven else None

    def _laws(self) -> LikelyLaws | NotReady:
        laws = self.by_batches.laws() if self.by_batches else NotReady(why="the query has no batches")
        return NotReady(why="rows do not lengthen a batch") if isinstance(laws, LikelyLaws) and laws.best.row_s <= 0.0 else laws

    def _by_utilization(self, executor_counts: Sequence[int], cadence: Cadence, laws: LikelyLaws | NotReady) -> Estimates | NotReady:
        """The regression at the utilisation of the longest batch (PAPER-NOTES "Micro-batch capacity"), 1 if unknown, under the limit of rows.

        With micro-batches, the regression is not used before there are enough batches to check it.
        """
        if isinstance(laws, NotReady) and self.by_batches is not None and len(self.by_batches.batches) < FEWEST_BATCHES:
            return laws
        if isinstance(laws, NotReady):
            saturated = self.by_utilization.predict_each(executor_counts, np.ones(len(executor_counts)))
            return saturated if isinstance(saturated, NotReady) else saturated.times(self._busy_share(cadence))
        asked = np.array(executor_counts)
        answers = self.by_utilization.predict_each(executor_counts, laws.best.busiest_at_capacity(cadence, asked))
        return answers if isinstance(answers, NotReady) else laws.best.limited(answers, asked, cadence.interval_s)

    def _busy_share(self, cadence: Cadence) -> float:
        """Return the share of the time in which tasks run at capacity, where the overhead is what the newest batches took beyond their rows; else 1."""
        newest = self.by_batches.batches[-NEWEST:] if self.by_batches is not None else ()
        saturated = {each: self.by_utilization.predict(executors=each) for each in {batch.executors for batch in newest}}
        known = [(batch, found.value) for batch in newest if isinstance(found := saturated[batch.executors], Estimate) and found.value > 0]
        overheads_s = [max(0.0, batch.duration_s - batch.rows / rows_per_s) for batch, rows_per_s in known]
        return float(busy_share(median(overheads_s), cadence)) if overheads_s else 1.0


def choose_capacity_model(by_batches: Estimates, by_utilization: Estimates) -> CapacityChoice:
    """Choose between one answer of each model: the micro-batch cost, unless the regression is far more certain.

    The micro-batch cost is the physical form and holds beyond what was seen. A capacity is asked for at a utilisation that was not seen yet: a regression may
    fit every moment that was and still say little about it, which shows in its bounds and not in its fit.

    >>> cost, regression = (Estimates(value=np.array([v]), low=np.array([v - d]), high=np.array([v + d])) for v, d in ((100.0, 10.0), (70.0, 20.0)))
    >>> choose_capacity_model(cost, regression).why
    'the micro-batch cost says 100 rows/s, ± 10 %, the utilisation regression 70 rows/s, ± 29 %'
    """
    overruled = bool(are_overruled(by_batches, by_utilization)[0])
    said = f"the {MICRO_BATCH} says {_words(by_batches)}, the {UTILIZATION} {_words(by_utilization)}"
    return CapacityChoice(model=UTILIZATION if overruled else MICRO_BATCH, why=f"{said}: far surer" if overruled else said)


def are_overruled(by_batches: Estimates, by_utilization: Estimates) -> Flags:
    """Return where the regression is far more certain than the cost of micro-batches."""
    return np.asarray(TIMES_SURER * _widths(by_utilization) < _widths(by_batches))


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
    """Return what the newest batches that were not too long prove; None where there are too few.

    >>> cadence = Cadence(interval_s=2.0, longest_s=2.0)
    >>> proven = proven_by(BatchCost(partitions=12).learn([BatchMeasured(rows=2000, duration_s=1.0, executors=4)] * 3), cadence)
    >>> proven.rates(np.array([2, 4, 6]), cadence).tolist()
    [1000.0, 2000.0, 2000.0]
    """
    newest = [batch for batch in cost.batches[-NEWEST:] if batch.duration_s <= cadence.longest_s]
    if len(newest) < PROVEN_BY:
        return None
    row_s = sorted(_row_s_without_overhead(batch, cost) for batch in newest)[PROVEN_BY - 1]
    law = BatchLaw(overhead_s=0.0, row_s=row_s, partitions=cost.partitions, cores_per_executor=cost.cores_per_executor, limit_rows=cost.limit_rows)
    return Proven(law=law, largest=max(batch.executors for batch in newest))


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
