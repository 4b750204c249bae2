"""How far from the truth combined forecasts were, at each lead: where the quantiles come from."""

from __future__ import annotations

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.estimate import COVERAGE
from penstock.core.models.forecast.refit import ROUNDING

LEAD_SHARES = (1 / 90, 1 / 30, 1 / 10, 1 / 5, 1 / 3, 1 / 2, 2 / 3, 5 / 6, 1.0)
"""Leads, as a share of the horizon, at which errors are remembered; between them they are interpolated."""
SOON, LATE = 0.8, 2.8
"""Spreads within which four in five errors are taken to stay before any were seen, at the first and at the last lead."""
BORROWED = 15
"""How many errors that is worth: those of one horizon."""
TRUSTED = 5
"""After this many errors, borrowed ones are half of the way (in logarithms) to their size."""
LEAST = 1e-3
"""Errors found count as at least this share of the borrowed ones."""
CAUTION = 3.0
"""In horizons: the log-odds of a level are stretched by 1 + CAUTION / (horizons seen + CAUTION), for weights and errors come from one past, and it overlaps.
What is borrowed does not, so the stretch is in proportion to what was found."""
MISSES = 0.15
"""The share of errors that may come outside of their bounds where these promise one in five: they are of fits that know what came."""
SLOWNESS = 25.0
"""After this many origins the stretch is a seventh smaller if all errors were within their bounds, and 2.3 times as large if all were outside."""
NARROWEST, WIDEST = 0.5, 1.25
"""The limits of the stretch. Little is needed upwards, as CAUTION has been there before, and the largest of a hundred errors are no measure."""
RECENT = 60
"""Steps over which the noise of the history is measured."""
JUMPS = 0.5
"""Noise is at least this share of the root mean square of the window's steps, so that a load which jumps is not taken for calm between two jumps."""
FURTHEST = 10.0
"""No error is remembered as more than this many spreads. After the first jump of a calm load the spread is large, and a hundred of those are many jumps."""


def leads(horizon: int) -> tuple[int, ...]:
    """The leads remembered, counted from 0.

    >>> leads(90)
    (0, 2, 8, 17, 29, 44, 59, 74, 89)
    """
    return tuple(max(0, round(share * horizon) - 1) for share in LEAD_SHARES)


def spread(paths: Floats, weights: Floats, mean: Floats, windows: Floats) -> Floats:
    """The scale of an error that can be told beforehand, by row and lead: how much the candidates disagree, plus the noise of the history.

    >>> spread(np.array([[[1.0]], [[3.0]]]), np.array([0.5, 0.5]), np.array([[2.0]]), np.array([[4.0, 5.0]])).tolist()
    [[2.0]]
    """
    steps = np.abs(np.diff(windows, axis=1))
    recent, jumps = steps[:, -RECENT:].mean(axis=1), JUMPS * np.sqrt(np.square(steps).mean(axis=1))
    noise = np.maximum(np.maximum(recent, jumps), ROUNDING * windows.mean(axis=1))
    return np.asarray(np.sqrt(np.einsum("c,ckh->kh", weights, np.square(paths - mean))) + noise[:, None])


def borrowed(errors: Floats, history_horizons: float) -> Floats:
    """Scaled errors (rows x leads) to begin with: logistic, larger at later leads, and after less than half a horizon, which has not shown what may come.

    The errors found soon say how large they are: a load that is foretold to the last row would else have bounds as wide as its spread for hours.

    >>> np.quantile(borrowed(np.zeros((0, len(LEAD_SHARES))), 4.0), 0.9, axis=0).round(1).tolist()
    [0.7, 0.8, 0.9, 1.1, 1.3, 1.6, 1.9, 2.2, 2.5]
    """
    share = (np.arange(BORROWED) + 0.5) / BORROWED
    within = (SOON + (LATE - SOON) * np.array(LEAD_SHARES)) * max(1.0, 0.5 / history_horizons)
    known, sizes = np.isfinite(errors).sum(axis=0), np.vstack([np.ones(len(within)), np.abs(errors) / within])
    within = within * np.maximum(np.nanquantile(sizes, COVERAGE, axis=0), LEAST) ** (known / (known + TRUSTED))
    return np.outer(np.log(share / (1 - share)) / np.log(9.0), within)


def tails(errors: Floats, levels: tuple[float, ...], horizons_seen: float, history_horizons: float, stretch: float = 1.0) -> Floats:
    """The quantiles of scaled errors (origins x leads, NaN where unknown) and of those borrowed at each lead, a row a level.

    >>> tails(np.zeros((0, len(LEAD_SHARES))), (0.1, 0.5, 0.9), 0.0, 4.0).round(1)[:, 0].tolist()
    [-0.7, 0.0, 0.7]
    """
    found = len(errors) / (len(errors) + BORROWED)
    odds = np.log(levels) - np.log1p(-np.asarray(levels))
    moved = 1 / (1 + np.exp(-odds * (1 + found * CAUTION / (horizons_seen + CAUTION)) * stretch))
    return np.asarray(np.nanquantile(np.concatenate([errors, borrowed(errors, history_horizons)]), moved, axis=0))


def stretched(stretch: float, bounds: Floats, errors: Floats) -> float:
    """The stretch of the log-odds after these errors (origins x leads), which came when their bounds (a row each for the lower and upper) were known.

    Where fewer than MISSES miss it shrinks, where more do it grows (adaptive conformal inference, Gibbs and Candes 2021): however large errors are, in the
    long run bounds hold as often as they promise.

    >>> bounds = np.array([[-1.0] * len(LEAD_SHARES), [1.0] * len(LEAD_SHARES)])
    >>> [round(stretched(0.8, bounds, np.full((10, len(LEAD_SHARES)), error)), 2) for error in (0.5, 2.0)]
    [0.75, 1.12]
    """
    missed = np.mean((errors < bounds[0]) | (errors > bounds[1]), axis=1)
    return float(np.clip(stretch * np.exp(np.sum(missed - MISSES) / SLOWNESS), NARROWEST, WIDEST))
