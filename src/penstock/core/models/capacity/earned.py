"""The capacity of a job by the model that earned it: both learn every turn, and the one that is surer answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from penstock.core.models.arrays import Floats, Ints
from penstock.core.models.capacity.batch_capacities import busiest_at_saturation, capacities_by_laws, limited
from penstock.core.models.capacity.batch_cost import FEWEST_BATCHES, BatchCost, BatchMeasured
from penstock.core.models.capacity.batch_law import LikelyLaws
from penstock.core.models.capacity.choice import MICRO_BATCH, UTILIZATION, CapacityChoice, are_overruled, choose_capacity_model
from penstock.core.models.capacity.job import JobCapacity
from penstock.core.models.capacity.proven import at_least, carried_by_fewer, carried_by_share, proven_by, surely
from penstock.core.models.capacity.readings import WorkersReading
from penstock.core.models.estimate import Estimate, NotReady
from penstock.core.models.estimates import Estimates
from penstock.core.models.score import Score


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacitySeen:
    """One turn: all workers over a window that ends at a commit, and the batches committed since the turn before."""

    workers: WorkersReading
    batches: tuple[BatchMeasured, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EarnedCapacity:
    """Holds the regression on utilisation and the cost of micro-batches, and answers from the one that `choice` names.

    Without `by_batches` (Real-Time Mode, where a batch lasts as long as it is told to) the regression answers.

    >>> from penstock.core.models.capacity.readings import WorkerReading
    >>> def turn(number: int) -> CapacitySeen:
    ...     rows = 1000.0 + 100.0 * number
    ...     worker = WorkerReading(worker="1", utilization=rows / 10_000.0, throughput_rows_per_s=rows / 5.0)
    ...     workers = WorkersReading(at_s=15.0 * number, scaleout=1, since_change_s=None, workers=(worker,))
    ...     return CapacitySeen(workers=workers, batches=(BatchMeasured(rows=rows, duration_s=0.5 + rows / 2000.0, scaleout=1),))
    >>> model = EarnedCapacity(by_batches=BatchCost(partitions=1)).learn([turn(number) for number in range(20)])
    >>> round(model.capacity(1, 5.0).value), round(model.by_utilization.predict().value)
    (1800, 2000)
    """

    by_utilization: JobCapacity = field(default_factory=JobCapacity)
    by_batches: BatchCost | None = None

    def learn(self, seen: Sequence[CapacitySeen]) -> Self:
        """Turns in the order of time."""
        batches = [batch for turn in seen for batch in turn.batches]
        return replace(
            self,
            by_utilization=self.by_utilization.learn([turn.workers for turn in seen]),
            by_batches=self.by_batches.learn(batches) if self.by_batches and batches else self.by_batches,
        )

    def capacity(self, scaleout: int, interval_s: float | None) -> Estimate | NotReady:
        """Rows/s that so many executors take at this trigger interval, by the model that `choice` names; None is a query without an interval."""
        answers = self.capacities([scaleout], interval_s)
        return answers if isinstance(answers, NotReady) else answers.each()[0]

    def capacities(self, scaleouts: Sequence[int], interval_s: float | None) -> Estimates | NotReady:
        """The same for several scale-outs, for little more than one costs."""
        laws = self._laws()
        regression = self._by_utilization(scaleouts, interval_s, laws)
        if interval_s is None or isinstance(laws, NotReady):
            return regression if isinstance(regression, NotReady) else self._proven(regression, np.array(scaleouts), interval_s)
        cost = capacities_by_laws(laws, scaleouts, interval_s)
        surer = cost if isinstance(regression, NotReady) else cost.or_else(regression, are_overruled(cost, regression))
        return self._proven(surer, np.array(scaleouts), interval_s)

    def score(self) -> Score | NotReady:
        """That of the model which answers unless the other is far surer: of the cost of micro-batches where there is one, else of the regression."""
        laws = self._laws()
        return self.by_utilization.score() if isinstance(laws, NotReady) or self.by_batches is None else self.by_batches.score()

    def choice(self, scaleout: int, interval_s: float) -> CapacityChoice:
        """The model that is surer of this scale-out, or the only one that is ready, and why; and what the batches prove, whichever it is."""
        surer, least = self._surer(scaleout, interval_s), self._least(np.array([scaleout]), interval_s)
        return surer if least is None else replace(surer, why=f"{surer.why}; {self._by_what} at least {least[0]:,.0f} rows/s")

    def _surer(self, scaleout: int, interval_s: float) -> CapacityChoice:
        laws = self._laws()
        if isinstance(laws, NotReady):
            return CapacityChoice(model=UTILIZATION, why=f"no micro-batch cost: {laws.why}")
        regression = self._by_utilization([scaleout], interval_s, laws)
        if isinstance(regression, NotReady):
            return CapacityChoice(model=MICRO_BATCH, why=f"no utilisation regression: {regression.why}")
        return choose_capacity_model(laws.estimate(lambda law: law.capacity_rows_per_s(scaleout, interval_s)), regression.each()[0])

    def _proven(self, answers: Estimates, scaleouts: Ints, interval_s: float | None) -> Estimates:
        """No less than what was seen proves, which a line through few utilisations may say.

        What a worker has taken among many it takes among few: else of a job that is nearly idle only the present size would be known.
        """
        least = self._least(scaleouts, interval_s)
        if least is None:
            return answers
        known = at_least(answers, least)
        return known if self._by_cost(interval_s) else surely(known, carried_by_share(self.by_utilization.carried(), scaleouts))

    def _least(self, scaleouts: Ints, interval_s: float | None) -> Floats | None:
        """Rows/s proven of each scale-out: by the newest batches, or where there are none by what it, or a smaller one, has carried. None without proof."""
        if not self._by_cost(interval_s):
            carried = self.by_utilization.carried()
            return carried_by_fewer(carried, scaleouts) if carried else None
        assert self.by_batches is not None and interval_s is not None
        proven = proven_by(self.by_batches)
        return proven.rates(scaleouts, interval_s) if proven else None

    def _by_cost(self, interval_s: float | None) -> bool:
        """Whether it is batches that prove something."""
        return self.by_batches is not None and interval_s is not None

    @property
    def _by_what(self) -> str:
        return "it has carried" if self.by_batches is None else "the batches prove"

    def _laws(self) -> LikelyLaws | NotReady:
        """What the batches say, or why they say nothing."""
        laws = self.by_batches.laws() if self.by_batches else NotReady(why="the query has no batches that could fill an interval")
        return NotReady(why="rows do not lengthen a batch") if isinstance(laws, LikelyLaws) and laws.best.row_s <= 0.0 else laws

    def _by_utilization(self, scaleouts: Sequence[int], interval_s: float | None, laws: LikelyLaws | NotReady) -> Estimates | NotReady:
        """The regression at the utilisation at which batches fill the interval (PAPER-NOTES "Micro-batch capacity"), 1 where nobody knows, and the limit.

        A line through the first few readings of micro-batches is not believed before there are batches enough to judge it by.
        """
        if isinstance(laws, NotReady) and self.by_batches is not None and len(self.by_batches.batches) < FEWEST_BATCHES:
            return laws
        if interval_s is None or isinstance(laws, NotReady):
            return self.by_utilization.predict_each(scaleouts, np.ones(len(scaleouts)))
        sizes = np.array(scaleouts)
        answers = self.by_utilization.predict_each(scaleouts, busiest_at_saturation(laws.best, sizes, interval_s))
        return answers if isinstance(answers, NotReady) else limited(laws.best, answers, sizes, interval_s)
