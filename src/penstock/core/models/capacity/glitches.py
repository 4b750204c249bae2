"""Readings that do not belong: a glitch of the measurement, a pause, a start-up."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

WINDOW = 9
"""A reading is judged among this many: itself and those around it; what lasts for more than half of them is no glitch."""

TOLERATED_SHARE = 0.25
"""A throughput this far from what its utilisation suggests is never a glitch, however quiet the others are."""

TOLERATED_SIGMA = 5.0
"""Nor is one within this many standard deviations of the others, told robustly."""

_SIGMA_PER_MAD = 1.4826


def glitches(utilization: Floats, throughput: Floats) -> Flags:
    """Which moments of a window are glitches of at least one worker (Hampel's filter on throughput given utilisation); rows are moments.

    A worker's rows per second of utilisation has a median m over the window; the residual of a moment is y - m * u, its scale the median absolute one.

    >>> steady = np.full((9, 1), 0.5)
    >>> rates = np.full((9, 1), 1000.0)
    >>> rates[4, 0] = 0.0
    >>> np.flatnonzero(glitches(steady, rates)).tolist()
    [4]
    """
    return np.asarray(_off(utilization[:, :, None], throughput[:, :, None], utilization.T[None], throughput.T[None]).any(axis=1))


def leading_glitches(utilization: Floats, throughput: Floats, window: int = WINDOW) -> Flags:
    """For every moment that has a whole window of moments from itself on, whether it is a glitch among them."""
    view = np.lib.stride_tricks.sliding_window_view
    moments = len(utilization) - window + 1
    around = view(utilization, window, axis=0), view(throughput, window, axis=0)
    return np.asarray(_off(utilization[:moments, :, None], throughput[:moments, :, None], *around).any(axis=1))


def _off(u: Floats, y: Floats, around_u: Floats, around_y: Floats) -> Flags:
    """Axes: moment, worker, and the window (of one element in u and y)."""
    ratio = np.divide(around_y, around_u, out=np.zeros(np.broadcast_shapes(around_y.shape, around_u.shape)), where=around_u > 0.0)
    per_utilization = np.median(ratio, axis=2, keepdims=True)
    scale = np.median(np.abs(around_y - per_utilization * around_u), axis=2, keepdims=True) * _SIGMA_PER_MAD
    expected = per_utilization * u
    return np.asarray((np.abs(y - expected) > np.maximum(TOLERATED_SHARE * expected, TOLERATED_SIGMA * scale))[:, :, 0])
