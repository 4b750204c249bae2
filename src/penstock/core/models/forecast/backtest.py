"""Backtests: the even series of a load, the origins at which forecasts of it are tested, and the candidates' errors there."""

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
    """Return the steps that must follow a window for forecasts from it to be tested in time."""
    return horizon + round(SLACK_SHARE * horizon)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """An even series that ends before the bin `end`. `horizon` is how far forecasts are tested, `reach` how far back a forecast looks, both in steps.

    `sampled` marks the values with samples of their own (None: all). The others are interpolated up to the next sample.
    """

    values: Floats
    end: int
    horizon: int
    reach: int
    sampled: Flags | None = None

    @property
    def latest(self) -> Floats:
        """The values that the next forecast is made from."""
        return self.values[-self.reach :]

    @property
    def window(self) -> int:
        """How many values a tested forecast is made from: as many as the next one if the series is long enough, and at least half of the series."""
        size = len(self.values)
        return min(self.reach, max(size // 2, size - testing(self.horizon)))

    @property
    def stride(self) -> int:
        return max(1, self.horizon // ORIGINS_A_HORIZON)

    @property
    def apart(self) -> float:
        """Steps between two origins: the stride, or the mean distance of samples if that is longer."""
        return self.stride if self.sampled is None else max(self.stride, len(self.values) / max(1, int(self.sampled.sum())))

    @property
    def soon(self) -> int:
        """Steps after which an origin is tested."""
        return max(1, math.ceil(SOON_SHARE * self.horizon))

    def origins(self, after: int | None, ahead: int) -> list[int]:
        """Return the numbers of the bins, every `stride`, later than `after`, that can be tested on at least `ahead` steps.

        An origin without a sample just before it moves back to the end of the newest sample: until the next one nothing more was known.

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

    def windows(self, origins: Sequence[int]) -> Floats:
        """Return the values that a forecast is made from at each of these bins, a row each."""
        return np.stack([self.values[place - self.window : place] for place in self._indices(origins)])

    def truths(self, origins: Sequence[int], ahead: int) -> Floats:
        """Return the values from each of these bins on, a row each; NaN where they are not known yet."""
        padded = np.append(self.values, np.full(ahead, np.nan))
        return np.stack([padded[place : place + ahead] for place in self._indices(origins)])

    def _indices(self, origins: Sequence[int]) -> list[int]:
        """Return the indices of these bins in `values`."""
        return [origin - self.end + len(self.values) for origin in origins]


@dataclass(frozen=True, slots=True, kw_only=True)
class Backtest:
    """The window before each origin, the paths by candidate, origin and lead, and the truth by origin and lead (NaN where not known yet)."""

    windows: Floats
    paths: Floats
    truth: Floats

    def losses(self) -> Floats:
        """Return the sum of absolute errors over the known leads, by candidate and origin (the numerator of WAPE)."""
        return np.asarray(np.nansum(np.abs(self.paths - self.truth), axis=2))

    def load(self) -> Floats:
        """Return the sum of the truth over the known leads, by origin (the denominator of WAPE)."""
        return np.asarray(np.nansum(self.truth, axis=1))


def backtest(candidates: Sequence[Candidate], fitted: Mapping[str, Parameters], history: History, origins: Sequence[int]) -> Backtest:
    """Return what each candidate forecasts from the window before each origin.

    >>> from penstock.core.models.forecast.candidates import Level
    >>> history = History(values=np.array([1.0, 2.0, 4.0]), end=3, horizon=2, reach=1)
    >>> backtest([Level()], {"naive": {}}, history, [1, 2]).losses().tolist()
    [[4.0, 2.0]]
    """
    windows = history.windows(origins)
    return Backtest(windows=windows, paths=continued(candidates, fitted, windows, history.horizon), truth=history.truths(origins, history.horizon))


def continued(candidates: Sequence[Candidate], fitted: Mapping[str, Parameters], windows: Floats, horizon: int) -> Floats:
    """Return the paths of all candidates after all windows; one that needs longer windows or is not fitted forecasts like the first candidate."""
    paths = [
        each.paths(fitted[each.name], windows, horizon) if each.name in fitted and each.needs <= windows.shape[1] else candidates[0].paths({}, windows, horizon)
        for each in candidates
    ]
    finite = [np.where(np.isfinite(path), path, windows[:, -1:]) for path in paths]
    return np.stack([plausible(path, windows) for path in finite])


def plausible(paths: Floats, windows: Floats) -> Floats:
    """Clip paths (a row for each window) to zero and to one range of the window beyond its least and greatest value.

    >>> plausible(np.array([[-5.0, 4.0, 90.0]]), np.array([[2.0, 5.0]])).tolist()
    [[0.0, 4.0, 8.0]]
    """
    low, high = windows.min(axis=1), windows.max(axis=1)
    return np.clip(paths, np.maximum(0.0, 2 * low - high)[:, None], (2 * high - low)[:, None])
