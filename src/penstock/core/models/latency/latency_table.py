"""Phoebe's M_L as a table: computed by a slow fit, looked up in every turn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from operator import and_
from typing import Self

import numpy as np

from penstock.core.models.estimate import NotReady
from penstock.core.models.latency.latency_by_executors import LatencyByExecutors
from penstock.core.models.latency.profile_fit import fit

RATES = 80
"""Rates of a table, evenly spaced: a step of about one percent of the largest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The expected latency at a rate, and whether the executors keep up."""

    latency_s: float
    valid: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyTable:
    """Phoebe's M_L on a grid; `rows` is how many rows its profile had learnt.

    >>> table = LatencyTable(executor_counts=(2, 4), rates_rows_per_s=(100.0, 200.0), latency_s=((1, 9), (1, 2)), valid=((True, False), (True, True)), rows=8)
    >>> table.at(2, 150.0), table.at(4, 150.0)
    (Expected(latency_s=5.0, valid=False), Expected(latency_s=1.5, valid=True))
    """

    executor_counts: tuple[int, ...]
    rates_rows_per_s: tuple[float, ...]
    latency_s: tuple[tuple[float, ...], ...]
    valid: tuple[tuple[bool, ...], ...]
    rows: int

    def at(self, executors: int, rate_rows_per_s: float) -> Expected:
        """Interpolate in the rate; valid as the next rate up is, never above the grid. Executors between two rows of the grid count as the smaller."""
        row = max(0, int(np.searchsorted(self.executor_counts, executors, side="right")) - 1)
        above = int(np.searchsorted(self.rates_rows_per_s, rate_rows_per_s))
        valid = above < len(self.rates_rows_per_s) and self.valid[row][above]
        return Expected(latency_s=float(np.interp(rate_rows_per_s, self.rates_rows_per_s, self.latency_s[row])), valid=valid)

    def at_pace(self, share: float) -> Self:
        """Return the table of a job that is slower by this factor: latencies occur at that share of the rate.

        >>> table = LatencyTable(executor_counts=(2,), rates_rows_per_s=(100.0, 200.0), latency_s=((1.0, 9.0),), valid=((True, False),), rows=8)
        >>> table.at_pace(0.5).at(2, 75.0)
        Expected(latency_s=5.0, valid=False)
        """
        return self if share == 1.0 else replace(self, rates_rows_per_s=tuple(share * rate for rate in self.rates_rows_per_s))

    def within(self, most_rows_per_s: Mapping[int, float]) -> Self:
        """Return the table with rates above the known capacity of each number of executors marked invalid.

        >>> table = LatencyTable(executor_counts=(2, 4), rates_rows_per_s=(100.0, 200.0), latency_s=((1.0, 9.0),) * 2, valid=((True, True),) * 2, rows=8)
        >>> table.within({2: 150.0}).valid
        ((True, False), (True, True))
        """
        most = [most_rows_per_s.get(executors, inf) for executors in self.executor_counts]
        carried = [tuple(rate <= each for rate in self.rates_rows_per_s) for each in most]
        return replace(self, valid=tuple(tuple(map(and_, *rows)) for rows in zip(self.valid, carried, strict=True)))


def tabulate(profile: LatencyByExecutors, executor_counts: Sequence[int], most_rows_per_s: float) -> LatencyTable | NotReady:
    """Tabulate a profile at these numbers of executors, ascending, and rates up to the largest; slow, as the forms are chosen by held-out error first."""
    forms = profile.forms()
    if isinstance(forms, NotReady):
        return forms
    fitted = fit(profile.observations, profile.reading)
    rates = np.linspace(0.0, most_rows_per_s, RATES + 1)[1:]
    executors, at = (each.ravel() for each in np.meshgrid(np.asarray(executor_counts, dtype=float), rates, indexing="ij"))
    shape = (len(executor_counts), RATES)
    return LatencyTable(
        executor_counts=tuple(executor_counts),
        rates_rows_per_s=tuple(rates.tolist()),
        latency_s=tuple(map(tuple, fitted.latency_s(forms, executors, at).reshape(shape).tolist())),
        valid=tuple(map(tuple, fitted.valid(forms[1], executors, at).reshape(shape).tolist())),
        rows=profile.rows,
    )
