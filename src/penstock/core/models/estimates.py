"""Many estimates at once, in columns: a thousand sizes cost little more than one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.core.models.arrays import Flags, Floats, Ints
from penstock.core.models.estimate import Estimate


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Estimates:
    """Column by column what `Estimate` is.

    >>> Estimates(value=np.array([3.0, 5.0]), low=np.array([2.5, 5.0]), high=np.array([4.0, 5.0])).each()[0]
    Estimate(value=3.0, low=2.5, high=4.0)
    """

    value: Floats
    low: Floats
    high: Floats

    def each(self) -> list[Estimate]:
        columns = zip(self.value.tolist(), self.low.tolist(), self.high.tolist(), strict=True)
        return [Estimate(value=value, low=low, high=high) for value, low, high in columns]

    def at(self, places: Ints) -> Estimates:
        """Those at these places, as often as a place is named."""
        return Estimates(value=self.value[places], low=self.low[places], high=self.high[places])

    def or_else(self, others: Estimates, where: Flags) -> Estimates:
        """These, but the others where it says so."""
        return Estimates(
            value=np.where(where, others.value, self.value), low=np.where(where, others.low, self.low), high=np.where(where, others.high, self.high)
        )

    def at_most(self, most: Floats) -> Estimates:
        """No more than that, bounds and all.

        >>> Estimates(value=np.array([3.0]), low=np.array([2.5]), high=np.array([4.0])).at_most(np.array([3.5])).each()
        [Estimate(value=3.0, low=2.5, high=3.5)]
        """
        return Estimates(value=np.minimum(self.value, most), low=np.minimum(self.low, most), high=np.minimum(self.high, most))
