"""Backtests: the even series of a load, the origins at which forecasts of it are tested, and the candidates' errors there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from penstock.core.models.arrays import Flags, Floats
from penstock.core.models.forecast.candidates import Candidate, Parameters

ORIGINS_A_HORIZON = 15
SLACK_SHARE = 2 / 3
"""Share of the horizon by which a test may be late before origins are lost from the window."""
SOON_SHARE = 1 / 9
"""An origin is tested once this share of its horizon has come."""


def testing(horizon: int) -> int:
    """Steps that must follow a window for forecasts from it to be tested in time."""
    return horizon + round(SLACK_SHARE * horizon)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """An even series that ends before the bin `end`; in steps, the horizon on which forecasts of it are tested and how far back a forecast looks.

    `sampled` says which values have samples of their own; None for all. The others lie on the line to the sample that came after them.
    """

    values: Floats
    end: int
    horizon: int
    reach: int
    sampled: Flags | None = None

    @property
    def latest(self) -> Floats:
        """What the next forecast sees."""
        return self.values[-self.reach :]

    @property
    def window(self) -> int:
        """What every tested forecast sees: as much as the next one where the series is long enough, and no less than half of it."""
        size = len(self.values)
        return min(self.reach, max(size // 2, size - testing(self.horizon)))

    @property
    def stride(self) -> int:
        return max(1, self.horizon // ORIGINS_A_HORIZON)

    @property
    def apart(self) -> float:
        """Steps between two origins: the stride, or the usual distance of samples where that is longer."""
        return self.stride if self.sampled is None else max(self.stride, len(self.values) / max(1, int(self.sampled.sum())))

    @property
    def soon(self) -> int:
        """Steps after an origin from which on it is tested."""
        return max(1, math.ceil(SOON_SHARE * self.horizon))

    def origins(self, after: int | None, ahead: int) -> list[int]:
        """Numbers of the bins, every `stride`, that can be tested on `ahead` steps at least; later than `after`.

        Where the bin before has no sample, the one after the newest sample is taken instead: before the next one came nobody knew more.

        >>> History(values=np.arange(6.0), end=6, horizon=1, reach=1, sampled=np.array([1, 0, 0, 1, 0, 1], dtype=bool)).origins(None, 1)
        [1, 4]
        """
        first = self.end - len(self.values) + self.window
        first = first if after is None else max(first, after + 1)
        wanted = range(-(-first // self.stride) * self.stride, self.end - ahead + 1, self.stride)
        if self.sampled is None:
            return list(wanted)
        known = self.end - len(self.values) + np.flatnonzero(self.sampled) + 1
        newest = np.unique(known[np.searchsorted(known, wanted, side="right") - 1])
        return [int(origin) for origin in newest if origin >= first]

    def places(self, origins: Sequence[int]) -> list[int]:
        """Where in `values` these bins are."""
        return [origin - self.end + len(self.values) for origin in origins]

    def windows(self, origins: Sequence[int]) -> Floats:
        """What a forecast sees at each of these bins, a row each."""
        return np.stack([self.values[place - self.window : place] for place in self.places(origins)])

    def truths(self, origins: Sequence[int], ahead: int) -> Floats:
        """What came from each of these bins on, a row each; NaN where it is still to come."""
        padded = np.append(self.values, np.full(ahead, np.nan))
        return np.stack([padded[place : place + ahead] for place in self.places(origins)])


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

    >>> from penstock.core.models.forecast.candidates import Level
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
