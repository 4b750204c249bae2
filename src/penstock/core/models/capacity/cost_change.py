"""Detect that batches cost more or less than before, and which part of their cost has changed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal, Protocol

from penstock.core.models.capacity.batch_law import BatchLaw, LikelyLaws

Part = Literal["overhead", "row", "skew", "waiting"]

IN_A_ROW = 5
"""Batches in a row, all longer or all shorter than predicted, that make a change."""
SIGMAS, LEAST = 2.5, 0.15
"""Their median is off by this many standard deviations of a batch, and by this much of the logarithm."""
APART = 1.25
"""Batches of loads within this factor do not show whether the overhead or the cost of a row has changed."""
ALIKE, FEWEST_ALIKE = 1.5, 3
"""Batches of before whose rows are within this factor show what the tasks of the newest would have taken, if there are as many."""
EXPLAINED = 0.5
"""Tasks that run or compute longer explain a longer batch if they do so by this share of the logarithm."""
BEYOND = 1.25
"""A batch this many times larger than any before is no surprise: the law was not seen there."""


class Batch(Protocol):
    """What is looked at of a batch; `own_s` is its duration without the time that others took, `outside_s` what is spent outside of tasks.

    `task_row_s` is the run time of all its tasks together for each row, `cpu_row_s` their CPU time.
    """

    @property
    def rows(self) -> float: ...
    @property
    def skew(self) -> float: ...
    @property
    def executors(self) -> int: ...
    @property
    def own_s(self) -> float: ...
    @property
    def outside_s(self) -> float | None: ...
    @property
    def task_row_s(self) -> float | None: ...
    @property
    def cpu_row_s(self) -> float | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CostChange:
    """A change of the overhead in seconds, or of the seconds by which one more row lengthens a batch: as it costs more, as tasks wait, or by skew."""

    at_s: float
    part: Part
    before_s: float
    after_s: float

    def law(self, before: BatchLaw) -> BatchLaw:
        """Return the law after the change."""
        if self.part == "overhead":
            return replace(before, overhead_s=self.after_s)
        return replace(before, row_s=before.row_s * self.after_s / self.before_s)

    def ratio(self, before: BatchLaw, batch: Batch) -> float:
        """Return by how much a batch of before would take longer now."""
        old_s = expected_s(before, batch)
        return expected_s(self.law(before), batch) / old_s if old_s > 0 else 1.0


def expected_s(law: BatchLaw, batch: Batch) -> float:
    """Return the duration of a batch with its own skew."""
    return law.duration_s(batch.rows * batch.skew / law.skew, batch.executors)


def surprise(laws: LikelyLaws, batch: Batch, most_rows: float) -> float:
    """Return the logarithm of a duration over the predicted one; 0 within the bounds of the prediction, and for a batch larger than any before.

    >>> law = BatchLaw(overhead_s=1.0, row_s=0.001, partitions=1)
    >>> from penstock.core.models.capacity.batch_cost import BatchMeasured
    >>> some = (BatchMeasured(rows=1000.0, duration_s=each, executors=1) for each in (2.0, 4.0))
    >>> [round(surprise(LikelyLaws(best=law, drawn=(law,)), batch, 1000.0), 3) for batch in some]
    [0.0, 0.693]
    """
    if batch.rows > BEYOND * most_rows:
        return 0.0
    expected = laws.estimate(lambda law: expected_s(law, batch))
    inside = expected.low <= batch.own_s <= expected.high
    return 0.0 if inside or expected.value <= 0 else math.log(batch.own_s / expected.value)


def cost_change(laws: LikelyLaws, surprises: Sequence[float], before: Sequence[Batch], newest: Sequence[Batch], at_s: float) -> CostChange | None:
    """Return the change since the batches of before that explains the newest, whose surprises these are; None while there is none.

    Where their loads differ, it is the part that leaves them the more alike. Else it is the overhead if most of the difference lies outside of tasks.
    A row that lengthens a batch while tasks run no longer together is a matter of skew: one task has more of the rows than before. If they run longer and
    compute no more, they wait: for a service, or for a CPU that others take on a machine that cannot be seen.
    """
    if len(surprises) < IN_A_ROW or not (all(each > 0 for each in surprises) or all(each < 0 for each in surprises)):
        return None
    if abs(median(surprises)) < max(SIGMAS * laws.noise, LEAST):
        return None
    law = laws.best
    bases_s = [law.base_s(batch.executors) for batch in newest]
    loads_s = [expected_s(law, batch) - base_s for batch, base_s in zip(newest, bases_s, strict=True)]
    overhead_s = median(batch.own_s - expected_s(law, batch) + law.overhead_s for batch in newest)
    times = median((each.own_s - base_s) / load_s if load_s > 0 else 0.0 for each, base_s, load_s in zip(newest, bases_s, loads_s, strict=True))
    overhead = CostChange(at_s=at_s, part="overhead", before_s=law.overhead_s, after_s=overhead_s)
    row_s = law.row_cost_s(newest[-1].executors)
    row = CostChange(at_s=at_s, part=part_of_row(before, newest, times) if times > 0 else "row", before_s=row_s, after_s=times * row_s)
    if overhead_s < 0 or times <= 0:
        return row if times > 0 else overhead if overhead_s >= 0 else None
    if max(loads_s) > APART * min(loads_s):
        return min((overhead, row), key=lambda change: _spread(change, law, newest))
    known, earlier = ([batch.outside_s for batch in some if batch.outside_s is not None] for some in (newest, before))
    if not earlier or not known:
        return row
    return overhead if 2 * abs(median(known) - median(earlier)) > abs(overhead_s - law.overhead_s) else row


def part_of_row(before: Sequence[Batch], newest: Sequence[Batch], times: float) -> Part:
    """Return why one more row lengthens a batch `times` as much as before; "row" where nothing else is shown."""
    rows = median(batch.rows for batch in newest)
    alike = [batch for batch in before if rows / ALIKE <= batch.rows <= rows * ALIKE]

    def explains(cost_s: Callable[[Batch], float | None]) -> bool | None:
        """Return whether a cost of all tasks changed with the batches; None where it is not known."""
        then, now = ([known for batch in some if (known := cost_s(batch))] for some in (alike, newest))
        if len(then) < FEWEST_ALIKE or len(now) < FEWEST_ALIKE:
            return None
        return math.log(median(now) / median(then)) / math.log(times) >= EXPLAINED

    if explains(lambda batch: batch.task_row_s) is False:
        return "skew"
    return "waiting" if explains(lambda batch: batch.cpu_row_s) is False else "row"


def _spread(change: CostChange, law: BatchLaw, newest: Sequence[Batch]) -> float:
    """Return how far apart the batches are from the changed law, as the range of the logarithm."""
    logs = [math.log(max(batch.own_s, 1e-9) / max(expected_s(change.law(law), batch), 1e-9)) for batch in newest]
    return max(logs) - min(logs)
