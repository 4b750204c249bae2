"""The errors of forecasts that a job used, measured once their horizon has passed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from penstock.core.models.estimate import NotReady
from penstock.core.models.forecast.series import Series
from penstock.core.models.score import Score

MOST_PENDING = 4
"""Forecasts that wait for their horizon to come; they are made a third of it apart, so that no more wait than these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A forecast at a few leads: `bins` are the numbers of the bins it is of, `naive` the last value, `paper` what AutoARIMA alone said.

    `paper` is the last value too until AutoARIMA was fitted.
    """

    bins: tuple[int, ...]
    mean: tuple[float, ...]
    naive: float
    paper: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Forecasts that wait to be judged, and the absolute errors of those that were, summed up: of the combination, the last value and AutoARIMA.

    >>> made = Made(bins=(3, 4), mean=(10.0, 12.0), naive=8.0, paper=(9.0, 9.0))
    >>> told = Told().with_made(made).judged(Series(first=3, sums=(10.0, 10.0), counts=(1, 1)))
    >>> told.score()
    Score(mape=0.1, constant_mape=0.2, paper_mape=0.1, held_out=1, never=0)
    """

    pending: tuple[Made, ...] = ()
    forecasts: int = 0
    load: float = 0.0
    """What errors are measured against: the sum of what came."""
    error: float = 0.0
    constant_error: float = 0.0
    paper_error: float = 0.0

    def with_made(self, made: Made) -> Told:
        return replace(self, pending=(*self.pending, made)[-MOST_PENDING:])

    def judged(self, series: Series) -> Told:
        """With those judged whose last bin is over; bins without a sample are left out."""
        told = replace(self, pending=tuple(each for each in self.pending if each.bins[-1] >= series.end))
        for each in self.pending:
            if each.bins[-1] < series.end:
                told = told._with_truth(each, [_rate_in(series, number) for number in each.bins])
        return told

    def score(self) -> Score | NotReady:
        """WAPE over all leads kept, beside the naive forecast as the constant and AutoARIMA alone as the paper's (Daedalus sec. 3.3)."""
        if not self.forecasts:
            return NotReady(why=f"no forecast has seen the end of its horizon yet, {len(self.pending)} wait for it")
        if self.load <= 0.0:
            return NotReady(why="nothing came in the steps that were forecast: there is nothing to measure an error against")
        return Score(
            mape=self.error / self.load,
            constant_mape=self.constant_error / self.load,
            paper_mape=self.paper_error / self.load,
            held_out=self.forecasts,
        )

    def _with_truth(self, made: Made, rates: Sequence[float]) -> Told:
        came = np.asarray(rates)
        known = np.isfinite(came)
        if not known.any():
            return self
        error, constant, paper = (float(np.abs(np.asarray(said) - came)[known].sum()) for said in (made.mean, made.naive, made.paper))
        return replace(
            self,
            forecasts=self.forecasts + 1,
            load=self.load + float(came[known].sum()),
            error=self.error + error,
            constant_error=self.constant_error + constant,
            paper_error=self.paper_error + paper,
        )


def _rate_in(series: Series, number: int) -> float:
    """The mean rate of a bin, NaN without a sample."""
    place = number - series.first
    return series.sums[place] / series.counts[place] if 0 <= place < len(series.sums) and series.counts[place] else math.nan
