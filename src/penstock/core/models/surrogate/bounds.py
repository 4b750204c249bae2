"""Bounds of an answer, from how far off answers of the same kind were when the truth was held out."""

from __future__ import annotations

import math

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.estimate import HIGH_LEVEL, LOW_LEVEL, Estimate, student_estimate_by_ratio

LEAST_RANKED = 9
"""With fewer errors than this, none of them bounds four in five of the next ones: Student's distribution does."""


def within_errors(value: float, log_errors: Floats) -> Estimate:
    """A value with the bounds that these held-out log errors (truth over answer) give it: between two of them, by rank, the next lies in four of five cases.

    >>> within_errors(100.0, np.log([0.8, 0.9, 0.9, 1.0, 1.0, 1.0, 1.1, 1.1, 1.25])).high.__round__(6)
    125.0
    """
    count = len(log_errors)
    if not count:
        return Estimate(value=value, low=0.0, high=math.inf)
    if count < LEAST_RANKED:
        return student_estimate_by_ratio(value, math.sqrt(float(np.mean(log_errors**2))), count)
    low, high = np.interp([LOW_LEVEL * (count + 1), HIGH_LEVEL * (count + 1)], np.arange(1.0, count + 1), np.sort(log_errors))
    return Estimate(value=value, low=value * math.exp(min(low, 0.0)), high=value * math.exp(max(high, 0.0)))
