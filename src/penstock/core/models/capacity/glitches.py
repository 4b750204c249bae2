"""Readings that do not belong: a glitch of the measurement, a pause, a start-up."""

from __future__ import annotations

import numpy as np

from penstock.core.models.arrays import Flags, Floats

WINDOW = 9
"""A reading is judged among this many: itself and those around it; what lasts for more than half of them is no glitch."""

TOLERATED_SHARE = 0.25
"""A throughput this far from what its utilisation suggests is never a glitch, however quiet the others are."""

TOLERATED_SIGMA = 5.0
"""Nor is one within this many standard deviations of the others, told robustly."""

_SIGMA_PER_MAD = 1.4826


def glitches(utilization: Floats, throughput: Floats) -> Flags:
    """Which moments of a window are glitches of at least one worker (Hampel's filter on throughput given utilisation); rows are moments.

    A worker's rows per second of utilisation has a median m over the window; a throughput y belongs if it lies among the m * u of the window, or near
    them: where the load rises or falls steeply, utilisation, an average, comes later than throughput. How near is told from the median |y - m * u|.

    >>> steady = np.full((9, 1), 0.5)
    >>> rates = np.full((9, 1), 1000.0)
    >>> rates[4, 0] = 0.0
    >>> np.flatnonzero(glitches(steady, rates)).tolist()
    [4]
    """
    return np.asarray(_off(throughput[:, :, None], utilization.T[None], throughput.T[None]).any(axis=1))


def leading_glitches(utilization: Floats, throughput: Floats, window: int = WINDOW) -> Flags:
    """For every moment that has a whole window of moments from itself on, whether it is a glitch among them."""
    view = np.lib.stride_tricks.sliding_window_view
    moments = len(utilization) - window + 1
    around = view(utilization, window, axis=0), view(throughput, window, axis=0)
    return np.asarray(_off(throughput[:moments, :, None], *around).any(axis=1))


def _off(y: Floats, around_u: Floats, around_y: Floats) -> Flags:
    """Axes: moment, worker, and the window (of one element in y)."""
    ratio = np.divide(around_y, around_u, out=np.zeros(around_u.shape), where=around_u > 0.0)
    expected = np.median(ratio, axis=2, keepdims=True) * around_u
    scale = np.median(np.abs(around_y - expected), axis=2, keepdims=True) * _SIGMA_PER_MAD
    low, high = expected.min(axis=2, keepdims=True), expected.max(axis=2, keepdims=True)
    nearest = np.clip(y, low, high)
    return np.asarray((np.abs(y - nearest) > np.maximum(TOLERATED_SHARE * nearest, TOLERATED_SIGMA * scale))[:, :, 0])
