"""Daedalus's forecast (sec. 3.3): AutoARIMA; the latest slope takes its place after a poor forecast, and many poor ones in a row ask for a new fit."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.forecast.backtest import History
from penstock.core.models.forecast.candidates import Line

POOR_WAPE = 0.25
"""A forecast is poor if its WAPE over what came since is above this (PAPER-NOTES; the paper has no number)."""
REFIT_AFTER = 15
"""Poor forecasts in a row."""
SLOPE = Line(window=6)
"""The line through the last minute, in bins of 10 s: what came since the decision before."""
KEPT = 60
"""Bins of a forecast that are kept to be compared: forecasts are minutes apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperForecast:
    """What AutoARIMA forecast last, for the bins from `first` on, and how many of its forecasts in a row were poor."""

    first: int | None = None
    made: tuple[float, ...] = ()
    poor_in_a_row: int = 0

    @property
    def is_poor(self) -> bool:
        return self.poor_in_a_row > 0

    def judged(self, history: History) -> Self:
        """Return it after a comparison of the last forecast with what came since.

        >>> last = PaperForecast(first=3, made=(10.0, 10.0))
        >>> [last.judged(History(values=np.array([9.0, each, each]), end=5, horizon=2, reach=3)).poor_in_a_row for each in (9.0, 16.0)]
        [0, 1]
        """
        wape = None if self.first is None else wape_of(self.made, self.first, history)
        return self if wape is None else replace(self, poor_in_a_row=self.poor_in_a_row + 1 if wape > POOR_WAPE else 0)

    def after(self, path: Floats, history: History) -> Self:
        """Return it with a new forecast by AutoARIMA from the end of the history on."""
        return replace(self, first=history.end, made=tuple(path[:KEPT].tolist()))

    def path(self, arima: Floats, history: History) -> Floats:
        """Return the forecast that is used."""
        if not self.is_poor:
            return arima
        return np.asarray(np.maximum(0.0, SLOPE.paths({}, history.latest[None, :], len(arima))[0]))


def wape_of(made: tuple[float, ...], first: int, history: History) -> float | None:
    """Return the WAPE of a forecast over the bins that came since; None without any, or if nothing arrived in them."""
    begin, end = max(first, history.end - len(history.values)), min(first + len(made), history.end)
    if end <= begin:
        return None
    offset = history.end - len(history.values)
    came, said = history.values[begin - offset : end - offset], np.array(made[begin - first : end - first])
    return float(np.abs(said - came).sum() / came.sum()) if came.sum() > 0 else None
