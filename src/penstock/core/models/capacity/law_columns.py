"""The laws of micro-batches in columns, to ask all of them about many sizes at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.core.models.arrays import Floats, Ints
from penstock.core.models.capacity.batch_law import BatchLaw
from penstock.core.models.estimate import COVERAGE
from penstock.core.models.estimates import Estimates


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
