"""What each candidate would have forecast at earlier moments, beside what came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.forecast.candidate import Candidate, Parameters
from penstock.core.models.forecast.history import History


@dataclass(frozen=True, slots=True, kw_only=True)
class Backtest:
    """What was known before each origin, paths by candidate, origin and lead, and the truth by origin and lead, NaN where it is still to come."""

    windows: Floats
    paths: Floats
    truth: Floats

    def losses(self) -> Floats:
        """Sum of absolute errors over the leads known, by candidate and origin: what WAPE adds up."""
        return np.asarray(np.nansum(np.abs(self.paths - self.truth), axis=2))

    def load(self) -> Floats:
        """Sum of the truth over the leads known, by origin."""
        return np.asarray(np.nansum(self.truth, axis=1))


def backtest(candidates: Sequence[Candidate], fitted: Mapping[str, Parameters], history: History, origins: Sequence[int]) -> Backtest:
    """Forecasts from what was known before each origin.

    >>> from penstock.core.models.forecast.level import Level
    >>> history = History(values=np.array([1.0, 2.0, 4.0]), end=3, horizon=2, reach=1)
    >>> backtest([Level()], {"naive": {}}, history, [1, 2]).losses().tolist()
    [[4.0, 2.0]]
    """
    windows = history.windows(origins)
    return Backtest(windows=windows, paths=continued(candidates, fitted, windows, history.horizon), truth=history.truths(origins, history.horizon))


def continued(candidates: Sequence[Candidate], fitted: Mapping[str, Parameters], windows: Floats, horizon: int) -> Floats:
    """The paths of all candidates after all windows.

    A candidate that needs more, or was not fitted, forecasts like the first one.
    """
    paths = [
        each.paths(fitted[each.name], windows, horizon) if each.name in fitted and each.needs <= windows.shape[1] else candidates[0].paths({}, windows, horizon)
        for each in candidates
    ]
    finite = [np.where(np.isfinite(path), path, windows[:, -1:]) for path in paths]
    return np.stack([plausible(path, windows) for path in finite])


def plausible(paths: Floats, windows: Floats) -> Floats:
    """Paths, a row for each window, kept above zero and no further beyond their window than it is wide.

    >>> plausible(np.array([[-5.0, 4.0, 90.0]]), np.array([[2.0, 5.0]])).tolist()
    [[0.0, 4.0, 8.0]]
    """
    low, high = windows.min(axis=1), windows.max(axis=1)
    return np.clip(paths, np.maximum(0.0, 2 * low - high)[:, None], (2 * high - low)[:, None])
