"""Khaos's M_R as a table: made by a slow fit, asked in the turn in which something fails."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from penstock.core.models.estimate import Estimate, NotReady
from penstock.core.models.recovery.regression import RecoveryRegression
from penstock.core.models.surrogate.crossvalidation import SAME_INTERVAL

RATES = 12
"""Rates of a table, evenly spread from the lowest to the highest from which the job was seen to recover."""
MOST_SIZES = 16
"""Scale-outs of a table: the largest of those at which the job was seen to recover."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryTable:
    """M_R at one interval and the scale-outs and rates that were seen; a row for each scale-out. `rows` is how many recoveries M_R had learnt then.

    >>> table = RecoveryTable(interval_s=10.0, sizes=(4,), rates_rows_per_s=(100.0, 200.0), recovery_s=((50.0, 70.0),), low_s=((40.0, 50.0),),
    ...     high_s=((60.0, 90.0),), rows=8)
    >>> table.predict(10.0, 150.0, 4)
    Estimate(value=60.0, low=45.0, high=75.0)
    >>> table.predict(10.0, 250.0, 4).why
    'no recovery was seen at such an interval, rate and scale-out'
    """

    interval_s: float
    sizes: tuple[int, ...]
    rates_rows_per_s: tuple[float, ...]
    recovery_s: tuple[tuple[float, ...], ...]
    low_s: tuple[tuple[float, ...], ...]
    high_s: tuple[tuple[float, ...], ...]
    rows: int

    def is_for(self, interval_s: float) -> bool:
        return abs(self.interval_s - interval_s) <= SAME_INTERVAL * interval_s

    def predict(self, interval_s: float, rate_rows_per_s: float, scaleout: int) -> Estimate | NotReady:
        """Linear in the rate, and only where it was seen: elsewhere a regression knows less than a formula."""
        rates = self.rates_rows_per_s
        if scaleout not in self.sizes or not self.is_for(interval_s) or not rates[0] <= rate_rows_per_s <= rates[-1]:
            return NotReady(why="no recovery was seen at such an interval, rate and scale-out")
        row = self.sizes.index(scaleout)
        value, low, high = (float(np.interp(rate_rows_per_s, rates, each[row])) for each in (self.recovery_s, self.low_s, self.high_s))
        # Between a rate that never ends and one that does, interpolation has no number.
        if not math.isfinite(value):
            return Estimate(value=math.inf, low=0.0 if math.isnan(low) else low, high=math.inf)
        return Estimate(value=value, low=min(low, value), high=math.inf if math.isnan(high) else max(high, value))


def tabulated(model: RecoveryRegression, interval_s: float) -> RecoveryTable | NotReady:
    """What M_R says at this interval; slow, as its forms are chosen by held-out error first."""
    rates = [each.rate_rows_per_s for each in model.seen]
    grid = tuple(np.linspace(min(rates), max(rates), RATES).tolist()) if rates else ()
    sizes = tuple(sorted({each.scaleout for each in model.seen if each.scaleout is not None}))[-MOST_SIZES:]
    answers: list[list[Estimate]] = []
    for size in sizes:
        row: list[Estimate] = []
        for rate in grid:
            answer = model.predict(interval_s, rate, size)
            if isinstance(answer, NotReady):
                return answer
            row.append(answer)
        answers.append(row)
    if not answers:
        return NotReady(why="no recovery was seen at a known scale-out")
    return RecoveryTable(
        interval_s=interval_s,
        sizes=sizes,
        rates_rows_per_s=grid,
        recovery_s=tuple(tuple(each.value for each in row) for row in answers),
        low_s=tuple(tuple(each.low for each in row) for row in answers),
        high_s=tuple(tuple(each.high for each in row) for row in answers),
        rows=model.rows,
    )
