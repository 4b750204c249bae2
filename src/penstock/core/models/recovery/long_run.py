"""The level at which arrivals are taken to go on beyond their last point."""

from __future__ import annotations

import numpy as np

from penstock.core.shapes.chance import FloatArray

BLOCKS = 16
"""A stretch is looked at in so many blocks; fewer points do not tell noise from movement."""
SIGMAS = 3.0
"""Halves of a stretch whose means are further apart than so many standard errors are not one level."""
MOST_RELATED = 8
"""Noise may last for so many points (a metric is an average over a while): in blocks of that size it is noise at the latest."""


def long_run_level(time_s: FloatArray, rate: FloatArray) -> float:
    """The mean of the longest stretch at the end that noise alone explains; the last rate where there is none.

    Stretches of 16, 32, 64, ... points are taken while the means of their halves agree. The noise of a block is what it is off the line between its
    neighbours (Gasser, Sroka and Jennen-Steinmetz 1986), to which a trend adds nothing. So a smooth forecast goes on at its last level, as in Phoebe
    sec. III-B, and a single reading of a noisy trace does not decide whether a job ever recovers.

    >>> steps = np.arange(16.0)
    >>> long_run_level(steps, 100.0 + steps), long_run_level(steps, 100.0 + 10.0 * (-1.0) ** steps)
    (115.0, 100.0)
    """
    level, size = float(rate[-1]), BLOCKS
    while size <= len(rate):
        stretch = rate[-size:]
        if _is_level(time_s[-size:].reshape(BLOCKS, -1).mean(axis=1), stretch.reshape(BLOCKS, -1).mean(axis=1)):
            level = float(np.clip(stretch.mean(), stretch.min(), stretch.max()))
        elif size >= MOST_RELATED * BLOCKS:
            break
        size *= 2
    return level


def _is_level(time_s: FloatArray, rate: FloatArray) -> bool:
    """Whether the later half is where the earlier was, but for the noise."""
    share = (time_s[1:-1] - time_s[:-2]) / (time_s[2:] - time_s[:-2])
    off = rate[1:-1] - (1 - share) * rate[:-2] - share * rate[2:]
    variance = float(np.mean(off**2 / (1 + share**2 + (1 - share) ** 2)))
    moved = float(rate[BLOCKS // 2 :].mean() - rate[: BLOCKS // 2].mean())
    return bool(abs(moved) <= SIGMAS * np.sqrt(variance * 4 / BLOCKS))
