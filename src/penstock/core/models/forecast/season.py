"""Whether a history repeats itself."""

from __future__ import annotations

import numpy as np

from penstock.core.models.arrays import Floats

SHORTEST = 6
"""The shortest season in steps: what repeats faster is noise to a forecast of minutes."""
PERIODS_SEEN = 2
CORRELATION = 0.5
"""A season explains at least half of what is left when the line through the history is taken away."""


def season_of(values: Floats) -> int | None:
    """The period in steps, or None without one that was seen at least twice.

    The smallest lag at which the autocorrelation of the detrended history peaks at almost its highest: twice a period correlates as well as once.

    >>> season_of(np.sin(np.arange(200) * 2 * np.pi / 40))
    40
    >>> season_of(np.arange(200.0)) is None
    True
    """
    longest = len(values) // PERIODS_SEEN
    if longest <= SHORTEST:
        return None
    time = np.arange(len(values)) - (len(values) - 1) / 2
    rest = values - values.mean() - time * (time @ values) / (time @ time)
    if np.abs(rest).max() <= 1e-9 * np.abs(values).max():
        return None
    correlation = _autocorrelation(rest, longest + 1)
    inner = correlation[1:-1]
    peaks = 1 + np.flatnonzero((inner >= correlation[:-2]) & (inner >= correlation[2:]))
    valley = int(np.argmax(correlation < 0)) or longest
    peaks = peaks[(peaks >= SHORTEST) & (peaks > valley)]
    if not len(peaks) or correlation[peaks].max() < CORRELATION:
        return None
    return int(peaks[correlation[peaks] >= 0.9 * correlation[peaks].max()][0])


def _autocorrelation(rest: Floats, lags: int) -> Floats:
    """Correlation of the series with itself `lag` steps later, each over the overlap alone."""
    size = len(rest)
    return np.array([_correlation(rest[: size - lag], rest[lag:]) for lag in range(lags + 1)])


def _correlation(first: Floats, second: Floats) -> float:
    scale = float(np.sqrt((first @ first) * (second @ second)))
    return float(first @ second) / scale if scale > 0 else 0.0
