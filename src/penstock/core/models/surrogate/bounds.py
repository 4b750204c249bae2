"""Bounds of an answer, from how far off answers of the same kind were when the truth was held out."""

from __future__ import annotations

import math

import numpy as np

from penstock.core.models.estimate import COVERAGE, Estimate
from penstock.core.models.surrogate.points import Floats

LEAST_RANKED = 9
"""With fewer errors than this, none of them bounds four in five of the next ones: Student's distribution does."""


def spread(log_errors: Floats) -> tuple[float, float]:
    """The log errors (truth over answer) between which the next one lies in four of five cases.

    >>> [round(error, 3) for error in spread(np.linspace(-0.9, 0.9, 19))]
    [-0.8, 0.8]
    """
    count = len(log_errors)
    tail = (1.0 - COVERAGE) / 2
    if count < LEAST_RANKED:
        from scipy.special import stdtrit

        reach = float(stdtrit(count, 1 - tail)) * math.sqrt(float(np.mean(log_errors**2)))
        return -reach, reach
    ranks, ranked = np.arange(1.0, count + 1), np.sort(log_errors)
    low, high = np.interp([tail * (count + 1), (1 - tail) * (count + 1)], ranks, ranked)
    return float(low), float(high)


def bounded(value: float, log_errors: Floats) -> Estimate:
    """A value with the bounds that these held-out log errors give it.

    >>> bounded(100.0, np.log([0.8, 0.9, 0.9, 1.0, 1.0, 1.0, 1.1, 1.1, 1.25])).high.__round__(6)
    125.0
    """
    if not len(log_errors):
        return Estimate(value=value, low=0.0, high=math.inf)
    low, high = spread(log_errors)
    return Estimate(value=value, low=value * math.exp(min(low, 0.0)), high=value * math.exp(max(high, 0.0)))
