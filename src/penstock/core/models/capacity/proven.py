"""What batches that were seen prove: a size can take at least so much, whatever part of their time was overhead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from penstock.core.models.arrays import Floats, Ints
from penstock.core.models.capacity.batch_capacities import rates_by_laws
from penstock.core.models.capacity.batch_cost import BatchCost, BatchMeasured
from penstock.core.models.capacity.batch_law import BatchLaw, waves
from penstock.core.models.estimates import Estimates

NEWEST = 20
PROVEN_BY = 3
"""At least this many of the newest batches must have been as quick: one alone may have been lucky."""
SURE_SHARE = 0.9
"""Lower bound as a share of what is proven: equal batches differ by some percent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proven:
    """The law by which all of a batch's time goes into its rows: an overhead, which does not grow with them, would leave room for more."""

    law: BatchLaw
    largest: int

    def rows_per_s(self, scaleout: int, interval_s: float) -> float:
        """Rows/s at which a batch fills the interval. Of a size beyond those seen nothing is claimed but that it takes no less than the largest of them."""
        return self.law.capacity_rows_per_s(min(scaleout, self.largest), interval_s)

    def rates(self, scaleouts: Ints, interval_s: float) -> Floats:
        """The same of each."""
        return np.asarray(rates_by_laws([self.law], np.minimum(scaleouts, self.largest), interval_s)[0])


def proven_by(cost: BatchCost) -> Proven | None:
    """What the newest batches prove; None where there are too few.

    >>> proven = proven_by(BatchCost(partitions=12).learn([BatchMeasured(rows=2000, duration_s=1.0, scaleout=4)] * 3))
    >>> [proven.rows_per_s(size, 2.0) for size in (2, 4, 6)]
    [1000.0, 2000.0, 2000.0]
    """
    newest = cost.batches[-NEWEST:]
    if len(newest) < PROVEN_BY:
        return None
    row_s = sorted(seconds_of_a_row(batch, cost) for batch in newest)[PROVEN_BY - 1]
    law = BatchLaw(overhead_s=0.0, row_s=row_s, partitions=cost.partitions, cores_per_executor=cost.cores_per_executor, limit_rows=cost.limit_rows)
    return Proven(law=law, largest=max(batch.scaleout for batch in newest))


def seconds_of_a_row(batch: BatchMeasured, cost: BatchCost) -> float:
    """On one slot, were there no overhead."""
    tasks = batch.tasks or cost.partitions
    return batch.duration_s * tasks / (batch.rows * waves(tasks, batch.scaleout * cost.cores_per_executor))


def carried_by_fewer(carried: Mapping[int, float], scaleouts: Ints) -> Floats:
    """The most rows/s that each scale-out, or a smaller one, has carried.

    >>> carried_by_fewer({4: 900.0, 2: 500.0, 6: 700.0}, np.array([1, 2, 3, 6])).tolist()
    [0.0, 500.0, 500.0, 900.0]
    """
    sizes = sorted(carried)
    most = np.maximum.accumulate([0.0, *(carried[size] for size in sizes)])
    return np.asarray(most[np.searchsorted(sizes, scaleouts, side="right")])


def carried_by_share(carried: Mapping[int, float], scaleouts: Ints) -> Floats:
    """Rows/s of each scale-out whose workers take no more than those of a larger one have taken; 0 of those that are not smaller than any.

    >>> carried_by_share({4: 900.0, 2: 500.0}, np.array([1, 2, 3, 6])).tolist()
    [250.0, 450.0, 675.0, 0.0]
    """
    shares = [np.where(scaleouts < size, scaleouts / size * rows_per_s, 0.0) for size, rows_per_s in carried.items()]
    return np.asarray(np.max(shares, axis=0))


def surely(answers: Estimates, rows_per_s: Floats) -> Estimates:
    """With lower bounds no smaller than this, as far as the value allows: partitions may be shared unevenly by fewer workers, so nothing more is claimed.

    >>> surely(Estimates(value=np.array([600.0, 90.0]), low=np.array([0.0, 0.0]), high=np.array([1e4, 1e4])), np.array([100.0, 200.0])).low.tolist()
    [90.0, 90.0]
    """
    return replace(answers, low=np.maximum(answers.low, np.minimum(answers.value, SURE_SHARE * rows_per_s)))


def at_least(answers: Estimates, rows_per_s: Floats) -> Estimates:
    """
    >>> at_least(Estimates(value=np.array([600.0]), low=np.array([150.0]), high=np.array([1050.0])), np.array([1600.0])).each()
    [Estimate(value=1600.0, low=1440.0, high=1600.0)]
    """
    return Estimates(
        value=np.maximum(answers.value, rows_per_s), low=np.maximum(answers.low, SURE_SHARE * rows_per_s), high=np.maximum(answers.high, rows_per_s)
    )
