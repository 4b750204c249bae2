"""Calibration of the quantiles of a forecast by the errors of past forecasts at each lead."""

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.estimate import COVERAGE
from penstock.core.models.forecast.refit import ROUNDING

LEAD_SHARES = (1 / 90, 1 / 30, 1 / 10, 1 / 5, 1 / 3, 1 / 2, 2 / 3, 5 / 6, 1.0)
"""Leads, as a share of the horizon, at which errors are remembered; between them they are interpolated."""
SOON, LATE = 0.8, 2.8
"""Prior: four in five errors stay within this many spreads at the first and at the last lead."""
PRIOR_COUNT = 15
"""How many measured errors the prior is worth: those of one horizon."""
PRIOR_HALVED_AFTER = 5
"""After this many measured errors, the scale of the prior has moved half of the way (in logarithms) to theirs."""
LEAST = 1e-3
"""Measured errors count as at least this share of the prior ones."""
CAUTION = 3.0
"""In horizons. The log-odds of a level are stretched by 1 + CAUTION / (horizons seen + CAUTION), as weights and errors come from the same, overlapping past.
The prior does not, so the stretch is in proportion to the share of measured errors."""
MISSES = 0.15
"""Target share of errors outside of 80 % bounds. It is below 20 % because backtests use fits that have seen the truth."""
SLOWNESS = 25.0
"""After this many origins the stretch is a seventh smaller if all errors were within their bounds, and 2.3 times as large if all were outside."""
NARROWEST, WIDEST = 0.5, 1.25
"""Limits of the stretch. The upper one is small, as CAUTION already widens bounds and the largest of a hundred errors are an unreliable estimate."""
RECENT = 60
"""Steps over which the noise of the history is measured."""
JUMPS = 0.5
"""Noise is at least this share of the root mean square of the window's steps, so that a load which jumps does not count as calm between two jumps."""
FURTHEST = 10.0
"""Errors are clipped to this many spreads, as the error at the first jump of a calm load is huge in units of its small spread."""


def leads(horizon: int) -> tuple[int, ...]:
    """Return the leads whose errors are remembered, counted from 0.

    >>> leads(90)
    (0, 2, 8, 17, 29, 44, 59, 74, 89)
    """
    return tuple(max(0, round(share * horizon) - 1) for share in LEAD_SHARES)


def spread(paths: Floats, weights: Floats, mean: Floats, windows: Floats) -> Floats:
    """Return the expected scale of an error by row and lead: how much the candidates disagree, plus the noise of the history.

    >>> spread(np.array([[[1.0]], [[3.0]]]), np.array([0.5, 0.5]), np.array([[2.0]]), np.array([[4.0, 5.0]])).tolist()
    [[2.0]]
    """
    steps = np.abs(np.diff(windows, axis=1))
    recent, jumps = steps[:, -RECENT:].mean(axis=1), JUMPS * np.sqrt(np.square(steps).mean(axis=1))
    noise = np.maximum(np.maximum(recent, jumps), ROUNDING * windows.mean(axis=1))
    return np.asarray(np.sqrt(np.einsum("c,ckh->kh", weights, np.square(paths - mean))) + noise[:, None])


def prior_errors(errors: Floats, history_horizons: float) -> Floats:
    """Return prior scaled errors (rows x leads): logistic, larger at later leads and after a history of less than half a horizon.

    Their scale follows the measured errors soon: else a load that is predicted exactly would have bounds as wide as its spread for hours.

    >>> np.quantile(prior_errors(np.zeros((0, len(LEAD_SHARES))), 4.0), 0.9, axis=0).round(1).tolist()
    [0.7, 0.8, 0.9, 1.1, 1.3, 1.6, 1.9, 2.2, 2.5]
    """
    share = (np.arange(PRIOR_COUNT) + 0.5) / PRIOR_COUNT
    within = (SOON + (LATE - SOON) * np.array(LEAD_SHARES)) * max(1.0, 0.5 / history_horizons)
    known, sizes = np.isfinite(errors).sum(axis=0), np.vstack([np.ones(len(within)), np.abs(errors) / within])
    within = within * np.maximum(np.nanquantile(sizes, COVERAGE, axis=0), LEAST) ** (known / (known + PRIOR_HALVED_AFTER))
    return np.outer(np.log(share / (1 - share)) / np.log(9.0), within)


def tails(errors: Floats, levels: tuple[float, ...], horizons_seen: float, history_horizons: float, stretch: float = 1.0) -> Floats:
    """Return the quantiles at each lead of measured scaled errors (origins x leads, NaN where unknown) and prior ones together, a row for each level.

    >>> tails(np.zeros((0, len(LEAD_SHARES))), (0.1, 0.5, 0.9), 0.0, 4.0).round(1)[:, 0].tolist()
    [-0.7, 0.0, 0.7]
    """
    measured = len(errors) / (len(errors) + PRIOR_COUNT)
    odds = np.log(levels) - np.log1p(-np.asarray(levels))
    moved = 1 / (1 + np.exp(-odds * (1 + measured * CAUTION / (horizons_seen + CAUTION)) * stretch))
    return np.asarray(np.nanquantile(np.concatenate([errors, prior_errors(errors, history_horizons)]), moved, axis=0))


def stretched(stretch: float, bounds: Floats, errors: Floats) -> float:
    """Return the stretch of the log-odds after these errors (origins x leads), given the lower and upper bounds that were predicted before them.

    It shrinks where fewer than MISSES of the errors are outside of their bounds and grows where more are (adaptive conformal inference, Gibbs and Candes 2021),
    so that in the long run bounds hold as often as they promise.

    >>> bounds = np.array([[-1.0] * len(LEAD_SHARES), [1.0] * len(LEAD_SHARES)])
    >>> [round(stretched(0.8, bounds, np.full((10, len(LEAD_SHARES)), error)), 2) for error in (0.5, 2.0)]
    [0.75, 1.12]
    """
    missed = np.mean((errors < bounds[0]) | (errors > bounds[1]), axis=1)
    return float(np.clip(stretch * np.exp(np.sum(missed - MISSES) / SLOWNESS), NARROWEST, WIDEST))
