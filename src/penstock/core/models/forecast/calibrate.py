"""How far from the truth combined forecasts were, at each lead: where the quantiles come from."""

from __future__ import annotations

import numpy as np

from penstock.core.models.forecast.series import Floats

LEAD_SHARES = (1 / 90, 1 / 30, 1 / 10, 1 / 5, 1 / 3, 1 / 2, 2 / 3, 5 / 6, 1.0)
"""Leads, as a share of the horizon, at which errors are remembered; between them they are interpolated."""
SOON, LATE = 0.8, 2.8
"""In spreads: what four in five errors stay within at the first and at the last lead before any were seen, as first forecasts of the loads of the bench do."""
BORROWED = 15
"""How many errors that is worth: those of one horizon."""
CAUTION = 3.0
"""In horizons: the log-odds of a level are stretched by 1 + CAUTION / (horizons seen + CAUTION), for weights and errors come from one past, and it overlaps.
What is borrowed does not, so the stretch is in proportion to what was found."""
RECENT = 60
"""Steps over which the noise of the history is measured."""


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
    noise = np.abs(np.diff(windows[:, -RECENT - 1 :], axis=1)).mean(axis=1, keepdims=True)
    return np.asarray(np.sqrt(np.einsum("c,ckh->kh", weights, np.square(paths - mean))) + noise)


def borrowed(history_horizons: float) -> Floats:
    """Scaled errors (rows x leads) to begin with: logistic, larger at later leads, and after less than half a horizon, which has not shown what may come.

    >>> np.quantile(borrowed(4.0), 0.9, axis=0).round(1).tolist()
    [0.7, 0.8, 0.9, 1.1, 1.3, 1.6, 1.9, 2.2, 2.5]
    """
    share = (np.arange(BORROWED) + 0.5) / BORROWED
    within = SOON + (LATE - SOON) * np.array(LEAD_SHARES)
    return np.asarray(np.outer(np.log(share / (1 - share)) / np.log(9.0), within) * max(1.0, 0.5 / history_horizons))


def tails(errors: Floats, levels: tuple[float, ...], horizons_seen: float, history_horizons: float) -> Floats:
    """The quantiles of scaled errors (origins x leads, NaN where unknown) and of those borrowed at each lead, a row a level.

    >>> tails(np.zeros((0, len(LEAD_SHARES))), (0.1, 0.5, 0.9), 0.0, 4.0).round(1)[:, 0].tolist()
    [-0.7, 0.0, 0.7]
    """
    found = len(errors) / (len(errors) + BORROWED)
    odds = np.log(levels) - np.log1p(-np.asarray(levels))
    moved = 1 / (1 + np.exp(-odds * (1 + found * CAUTION / (horizons_seen + CAUTION))))
    return np.asarray(np.nanquantile(np.concatenate([errors, borrowed(history_horizons)]), moved, axis=0))
