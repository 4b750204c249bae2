"""How far from the truth combined forecasts were, at each lead: where the quantiles come from."""

from __future__ import annotations

import numpy as np

from penstock.core.models.forecast.series import Floats

LEAD_SHARES = (1 / 90, 1 / 30, 1 / 10, 1 / 5, 1 / 3, 1 / 2, 2 / 3, 5 / 6, 1.0)
"""Leads, as a share of the horizon, at which errors are remembered; between them they are interpolated."""
CAUTION = 3.0
"""In horizons: the log-odds of a level are stretched by 1 + CAUTION / (horizons seen + CAUTION), for weights and errors come from one past, and it overlaps."""
FEW = 5
"""Errors at a lead that say nothing of their tails."""
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


def tails(errors: Floats, levels: tuple[float, ...], horizons_seen: float) -> Floats:
    """The quantiles of scaled errors (origins x leads, NaN where unknown) at each lead, a row a level.

    A lead seen FEW times or less borrows an error of one spread each way.

    >>> tails(np.array([[0.0], [0.0], [0.0]]), (0.125, 0.5, 0.875), 1e9).round(3).tolist()
    [[-0.5], [0.0], [0.5]]
    """
    borrowed = np.where(np.isfinite(errors).sum(axis=0) <= FEW, 1.0, np.nan)[None, :]
    odds = np.log(levels) - np.log1p(-np.asarray(levels))
    moved = 1 / (1 + np.exp(-odds * (1 + CAUTION / (horizons_seen + CAUTION))))
    return np.asarray(np.nanquantile(np.concatenate([errors, -borrowed, borrowed]), moved, axis=0))
