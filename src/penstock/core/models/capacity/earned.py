"""The capacity of a job by the model that earned it: both learn every turn, and each turn both are asked before they are told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from penstock.core.models.capacity.batch_cost import BatchCost, BatchMeasured
from penstock.core.models.capacity.batch_law import BatchLaw, LikelyLaws
from penstock.core.models.capacity.choice import FEWEST_COMPARED, MICRO_BATCH, UTILIZATION, CapacityChoice, Foretold, choose_capacity_model
from penstock.core.models.capacity.job import JobCapacity
from penstock.core.models.capacity.readings import WorkersReading
from penstock.core.models.estimate import Estimate, NotReady

MOST_FORETOLD = 60
"""Moments kept to compare the models on, of each kind; the newest win."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacitySeen:
    """One turn: all workers over a window that ends at a commit, and the batches committed since the turn before."""

    workers: WorkersReading
    batches: tuple[BatchMeasured, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EarnedCapacity:
    """Holds the regression on utilisation and the cost of micro-batches, and answers from the one that foretold the job better.

    Both say, from how busy the job was at a moment, what its throughput must have been: the regression from utilisation, the batch cost from the
    durations. `here` are such moments at scale-outs that the regression had measured, `elsewhere` at those it had not, where it relies on the average
    per worker and waves decide: they judge answers for a scale-out that it has not measured. Without `by_batches` (Real-Time Mode, where a batch
    lasts as long as it is told to) the regression answers.

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
    here: tuple[Foretold, ...] = ()
    elsewhere: tuple[Foretold, ...] = ()

    def learn(self, seen: Sequence[CapacitySeen]) -> Self:
        """Turns in the order of time; each is foretold before it is learnt."""
        model = self
        for turn in seen:
            here, elsewhere = model.here, model.elsewhere
            foretold = model._foretold(turn)
            if foretold and model.by_utilization.has_measured(turn.workers.scaleout):
                here = (*here, foretold)[-MOST_FORETOLD:]
            elif foretold:
                elsewhere = (*elsewhere, foretold)[-MOST_FORETOLD:]
            model = replace(
                model,
                by_utilization=model.by_utilization.learn([turn.workers]),
                by_batches=model.by_batches.learn(turn.batches) if model.by_batches and turn.batches else model.by_batches,
                here=here,
                elsewhere=elsewhere,
            )
        return model

    def capacity(self, scaleout: int, interval_s: float | None) -> Estimate | NotReady:
        """Rows/s that so many executors take at this trigger interval, by the model that `choice` names; None is a query without an interval."""
        if self.by_batches is not None and interval_s is not None and self.choice(scaleout).model == MICRO_BATCH:
            return self.by_batches.capacity(scaleout, interval_s)
        return self._by_utilization(scaleout, interval_s)

    def capacities(self, scaleouts: Sequence[int], interval_s: float | None) -> dict[int, Estimate | NotReady]:
        """The same for several scale-outs, which a regression answers at once."""
        if self.by_batches is None or interval_s is None:
            return self.by_utilization.predict_each(scaleouts)
        return {scaleout: self.capacity(scaleout, interval_s) for scaleout in scaleouts}

    def choice(self, scaleout: int) -> CapacityChoice:
        """The model that earned the answer for this scale-out, or the only one that is ready, and why."""
        laws = self._laws()
        if isinstance(laws, NotReady):
            return CapacityChoice(model=UTILIZATION, why=f"no micro-batch cost: {laws.why}")
        regression = self.by_utilization.predict(scaleout=scaleout)
        if isinstance(regression, NotReady):
            return CapacityChoice(model=MICRO_BATCH, why=f"no utilisation regression: {regression.why}")
        unmeasured = len(self.elsewhere) >= FEWEST_COMPARED and not self.by_utilization.has_measured(scaleout)
        return choose_capacity_model(self.elsewhere if unmeasured else (*self.elsewhere, *self.here))

    def _foretold(self, turn: CapacitySeen) -> Foretold | None:
        """What both say of a turn that teaches both; None of any other, and before both are ready."""
        came = sum(worker.throughput_rows_per_s for worker in turn.workers.workers)
        telling = [batch for batch in turn.batches if batch.rows > 0.0 and not batch.warming]
        if not telling or came <= 0.0 or not self.by_utilization.tells(turn.workers):
            return None
        laws, by_utilization = self._laws(), self.by_utilization.foretell(turn.workers)
        if isinstance(laws, NotReady) or isinstance(by_utilization, NotReady):
            return None
        said, rows = sum(rows_within(laws.best, batch) for batch in telling), sum(batch.rows for batch in telling)
        return Foretold(came_rows_per_s=came, by_batches_rows_per_s=came * said / rows, by_utilization_rows_per_s=by_utilization.value)

    def _laws(self) -> LikelyLaws | NotReady:
        """What the batches say, or why they say nothing."""
        laws = self.by_batches.laws() if self.by_batches else NotReady(why="the query has no batches that could fill an interval")
        return NotReady(why="rows do not lengthen a batch") if isinstance(laws, LikelyLaws) and laws.best.row_s <= 0.0 else laws

    def _by_utilization(self, scaleout: int, interval_s: float | None) -> Estimate | NotReady:
        """The regression at the utilisation at which batches fill the interval (PAPER-NOTES "Micro-batch capacity"), 1 where nobody knows, and the limit."""
        laws = self._laws()
        if interval_s is None or isinstance(laws, NotReady):
            return self.by_utilization.predict(scaleout=scaleout)
        answer = self.by_utilization.predict(at_utilization=laws.best.busiest_at_saturation(interval_s, scaleout), scaleout=scaleout)
        if isinstance(answer, NotReady) or laws.best.limit_rows is None:
            return answer
        most = laws.best.limit_rows / max(interval_s, laws.best.duration_s(laws.best.limit_rows, scaleout))
        return Estimate(value=min(answer.value, most), low=min(answer.low, most), high=min(answer.high, most))


def rows_within(law: BatchLaw, batch: BatchMeasured) -> float:
    """The rows with which a batch of these tasks, on these executors, takes as long as this one took.

    >>> rows_within(BatchLaw(overhead_s=0.5, row_s=0.001, partitions=12), BatchMeasured(rows=3900, duration_s=1.5, scaleout=4))
    4000.0
    """
    this = replace(law, skew=batch.skew, partitions=batch.tasks or law.partitions)
    return max(0.0, batch.duration_s - law.overhead_s) / this.row_cost_s(batch.scaleout)
