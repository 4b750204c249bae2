"""What each candidate would have forecast at earlier moments, beside what came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from penstock.core.models.forecast.candidate import Candidate, Parameters
from penstock.core.models.forecast.series import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Backtest:
    """Paths by candidate, origin and lead, and the truth by origin and lead, NaN where it is still to come."""

    names: tuple[str, ...]
    paths: Floats
    truth: Floats

    def losses(self) -> Floats:
        """Sum of absolute errors over the leads known, by candidate and origin: what WAPE adds up."""
        return np.asarray(np.nansum(np.abs(self.paths - self.truth), axis=2))


def backtest(candidates: Sequence[Candidate], fitted: Mapping[str, Parameters], values: Floats, origins: Sequence[int], window: int, horizon: int) -> Backtest:
    """Forecasts from the `window` values before each origin; a candidate that needs more, or was not fitted, forecasts like the first one.

    >>> from penstock.core.models.forecast.level import Level
    >>> backtest([Level()], {"naive": {}}, np.array([1.0, 2.0, 4.0]), [1, 2], 1, 2).losses().tolist()
    [[4.0, 2.0]]
    """
    windows = np.stack([values[origin - window : origin] for origin in origins])
    unknown = np.append(values, np.full(horizon, np.nan))
    truth = np.stack([unknown[origin : origin + horizon] for origin in origins])
    return Backtest(names=tuple(each.name for each in candidates), paths=continued(candidates, fitted, windows, horizon), truth=truth)


def continued(candidates: Sequence[Candidate], fitted: Mapping[str, Parameters], windows: Floats, horizon: int) -> Floats:
    """The paths of all candidates after all windows, kept in a plausible range: never negative, and no further beyond the window than the window is wide."""
    low, high = windows.min(axis=1), windows.max(axis=1)
    floor, ceiling = np.maximum(0.0, 2 * low - high)[:, None], (2 * high - low)[:, None]
    paths = [
        each.paths(fitted[each.name], windows, horizon) if each.name in fitted and each.needs <= windows.shape[1] else candidates[0].paths({}, windows, horizon)
        for each in candidates
    ]
    finite = [np.where(np.isfinite(path), path, windows[:, -1:]) for path in paths]
    return np.stack([np.clip(path, floor, ceiling) for path in finite])
