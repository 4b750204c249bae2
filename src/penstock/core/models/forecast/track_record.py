"""The errors of forecasts that a job used, measured once their horizon has passed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from penstock.core.models.estimate import NotReady
from penstock.core.models.forecast.series import Series
from penstock.core.models.score import Score

MOST_PENDING = 4
"""Most forecasts that wait for their horizon to pass; they are a third of it apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingForecast:
    """A forecast for a few bins, beside the last value (`naive`) and the forecast of AutoARIMA alone (`paper`; the last value before its first fit)."""

    bins: tuple[int, ...]
    mean: tuple[float, ...]
    naive: float
    paper: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackRecord:
    """Forecasts that wait to be graded, and the summed absolute errors of graded ones: of the mixture, the last value and AutoARIMA.

    >>> made = PendingForecast(bins=(3, 4), mean=(10.0, 12.0), naive=8.0, paper=(9.0, 9.0))
    >>> TrackRecord().with_pending(made).graded(Series(first=3, sums=(10.0, 10.0), counts=(1, 1))).score()
    Score(mape=0.1, constant_mape=0.2, paper_mape=0.1, held_out=1, never=0)
    """

    pending: tuple[PendingForecast, ...] = ()
    forecasts: int = 0
    load: float = 0.0
    """The sum of the true rates, which errors are relative to."""
    error: float = 0.0
    constant_error: float = 0.0
    paper_error: float = 0.0

    def with_pending(self, forecast: PendingForecast) -> Self:
        return replace(self, pending=(*self.pending, forecast)[-MOST_PENDING:])

    def graded(self, series: Series) -> Self:
        """Return the record with those forecasts graded whose last bin is over; bins without a sample are left out."""
        record = replace(self, pending=tuple(each for each in self.pending if each.bins[-1] >= series.end))
        for each in self.pending:
            if each.bins[-1] < series.end:
                record = record._with_truth(each, [series.rate_in(number) for number in each.bins])
        return record

    def score(self) -> Score | NotReady:
        """Return the WAPE over all leads kept, beside the naive forecast as the constant and AutoARIMA alone as the paper's (Daedalus sec. 3.3)."""
        if not self.forecasts:
            return NotReady(why=f"no forecast has reached the end of its horizon yet, {len(self.pending)} pending")
        if self.load <= 0.0:
            return NotReady(why="no rows arrived in the steps that were forecast: the relative error is undefined")
        return Score(
            mape=self.error / self.load, constant_mape=self.constant_error / self.load, paper_mape=self.paper_error / self.load, held_out=self.forecasts
        )

    def _with_truth(self, made: PendingForecast, rates: Sequence[float | None]) -> Self:
        truth = np.array(rates, dtype=float)
        known = np.isfinite(truth)
        if not known.any():
            return self
        error, constant, paper = (float(np.abs(np.asarray(path) - truth)[known].sum()) for path in (made.mean, made.naive, made.paper))
        return replace(
            self,
            forecasts=self.forecasts + 1,
            load=self.load + float(truth[known].sum()),
            error=self.error + error,
            constant_error=self.constant_error + constant,
            paper_error=self.paper_error + paper,
        )
