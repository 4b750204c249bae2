"""Khaos's M_R: recovery time over checkpoint interval, rate and, where it varies, number of executors; as a regression, and as a table for the turn."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

import numpy as np

from penstock.core.models.estimate import Estimate, NotReady
from penstock.core.models.recovery.recovery_forms import FORMS
from penstock.core.models.surrogate.crossvalidation import SAME_INTERVAL
from penstock.core.models.surrogate.points import points_of
from penstock.core.models.surrogate.study import LEAST_ROWS, MOST_SEEN, Studied, Study

RATES = 12
"""Rates of a table, evenly spaced from the lowest to the highest from which the job was seen to recover."""
MOST_EXECUTOR_COUNTS = 16
"""Numbers of executors of a table: the largest of those at which the job was seen to recover."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoverySeen:
    """One recovery: the interval and rate at the fault, and the seconds until the newest row was reached again."""

    interval_s: float
    rate_rows_per_s: float
    recovery_s: float
    executors: int | None = None

    def __post_init__(self) -> None:
        if not (0 < self.interval_s < math.inf and 0 <= self.rate_rows_per_s < math.inf and 0 < self.recovery_s < math.inf):
            raise ValueError(f"a recovery needs a positive interval and duration and a rate of at least zero, all finite: {self}")
        if self.executors is not None and self.executors < 1:
            raise ValueError(f"a job that recovered had an executor: {self}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryRegression(Studied):
    """Learns recovery times from recoveries (Khaos sec. III-D), by the form that best predicts intervals it has not seen.

    The paper's plane is one of the forms; the physical form, the physical form corrected by data, and regressions of the logarithm are improvements.

    >>> rows = [RecoverySeen(interval_s=i, rate_rows_per_s=r, recovery_s=60 + r * (i + 60) / (1000 - r)) for i in (10, 60, 120) for r in (200, 500, 800)]
    >>> model = RecoveryRegression().learn(rows)
    >>> answer = model.predict(60, 650)
    >>> abs(answer.value - 283) < 15
    True
    >>> model.inside(60, 650), model.inside(60, 900)
    (True, False)
    """

    seen: tuple[RecoverySeen, ...] = ()
    most_seen: int = MOST_SEEN
    rows: int = 0
    """Recoveries learnt so far, those no longer kept included."""

    def learn(self, seen: Sequence[RecoverySeen]) -> Self:
        return replace(self, seen=(*self.seen, *seen)[-self.most_seen :], rows=self.rows + len(seen))

    @property
    def study(self) -> Study | NotReady:
        return _study(self.seen)


@lru_cache(maxsize=4)
def _study(seen: tuple[RecoverySeen, ...]) -> Study | NotReady:
    if len(seen) < LEAST_ROWS:
        return NotReady(why=f"{len(seen)} recoveries seen, {LEAST_ROWS} needed")
    return Study(points_of(seen), np.array([each.recovery_s for each in seen], dtype=float), FORMS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryTable:
    """M_R at one interval, with a row for each number of executors that was seen and a column for each rate; `rows` is how many recoveries M_R had learnt.

    >>> table = RecoveryTable(interval_s=10.0, executor_counts=(4,), rates_rows_per_s=(100.0, 200.0), recovery_s=((50.0, 70.0),), low_s=((40.0, 50.0),),
    ...     high_s=((60.0, 90.0),), rows=8)
    >>> table.predict(10.0, 150.0, 4)
    Estimate(value=60.0, low=45.0, high=75.0)
    >>> table.predict(10.0, 250.0, 4).why
    'no recovery was seen at such an interval, rate and number of executors'
    """

    interval_s: float
    executor_counts: tuple[int, ...]
    rates_rows_per_s: tuple[float, ...]
    recovery_s: tuple[tuple[float, ...], ...]
    low_s: tuple[tuple[float, ...], ...]
    high_s: tuple[tuple[float, ...], ...]
    rows: int

    def is_for(self, interval_s: float) -> bool:
        return abs(self.interval_s - interval_s) <= SAME_INTERVAL * interval_s

    def predict(self, interval_s: float, rate_rows_per_s: float, executors: int) -> Estimate | NotReady:
        """Interpolate in the rate; not ready outside of what was seen, where a formula is better than a regression."""
        rates = self.rates_rows_per_s
        if executors not in self.executor_counts or not self.is_for(interval_s) or not rates[0] <= rate_rows_per_s <= rates[-1]:
            return NotReady(why="no recovery was seen at such an interval, rate and number of executors")
        row = self.executor_counts.index(executors)
        value, low, high = (float(np.interp(rate_rows_per_s, rates, each[row])) for each in (self.recovery_s, self.low_s, self.high_s))
        # Interpolation between a finite and an infinite recovery gives NaN.
        if not math.isfinite(value):
            return Estimate(value=math.inf, low=0.0 if math.isnan(low) else low, high=math.inf)
        return Estimate(value=value, low=min(low, value), high=math.inf if math.isnan(high) else max(high, value))


def tabulated(model: RecoveryRegression, interval_s: float) -> RecoveryTable | NotReady:
    """Tabulate M_R at this interval; slow, as its forms are chosen by held-out error first."""
    rates = [each.rate_rows_per_s for each in model.seen]
    grid = tuple(np.linspace(min(rates), max(rates), RATES).tolist()) if rates else ()
    executor_counts = tuple(sorted({each.executors for each in model.seen if each.executors is not None}))[-MOST_EXECUTOR_COUNTS:]
    answers: list[list[Estimate]] = []
    for executors in executor_counts:
        row: list[Estimate] = []
        for rate in grid:
            answer = model.predict(interval_s, rate, executors)
            if isinstance(answer, NotReady):
                return answer
            row.append(answer)
        answers.append(row)
    if not answers:
        return NotReady(why="no recovery was seen at a known number of executors")
    return RecoveryTable(
        interval_s=interval_s,
        executor_counts=executor_counts,
        rates_rows_per_s=grid,
        recovery_s=tuple(tuple(each.value for each in row) for row in answers),
        low_s=tuple(tuple(each.low for each in row) for row in answers),
        high_s=tuple(tuple(each.high for each in row) for row in answers),
        rows=model.rows,
    )
