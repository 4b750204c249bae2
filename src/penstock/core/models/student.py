"""Bounds by Student's t: as wide as the few measurements behind a value make them."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.estimate import HIGH_LEVEL, Estimate
from penstock.core.models.estimates import Estimates

LARGEST_EXPONENT = 700.0
"""Beyond this a ratio is larger than any float."""


def student_estimate(value: float, variance: float, freedom: float) -> Estimate:
    """The interval around a rate that cannot be negative.

    >>> estimate = student_estimate(100.0, 25.0, 1e9)
    >>> round(estimate.low, 2), round(estimate.high, 2)
    (93.59, 106.41)
    """
    half = _reach(freedom) * math.sqrt(variance)
    value = max(0.0, value)
    return Estimate(value=value, low=max(0.0, value - half), high=value + half)


def student_estimates(value: Floats, variance: Floats, freedom: Floats) -> Estimates:
    """The same for each of many rates."""
    half = np.array([_reach(each) for each in freedom.tolist()]) * np.sqrt(variance)
    value = np.maximum(0.0, value)
    return Estimates(value=value, low=np.maximum(0.0, value - half), high=value + half)


def student_estimate_by_ratio(value: float, relative_spread: float, freedom: float) -> Estimate:
    """The same in ratios: twice as much is as far away as half as much.

    >>> estimate = student_estimate_by_ratio(100.0, 0.1, 1e9)
    >>> round(estimate.low * estimate.high, 6)
    10000.0
    """
    half = _reach(freedom) * relative_spread
    if half >= LARGEST_EXPONENT:
        return Estimate(value=value, low=0.0, high=math.inf)
    return Estimate(value=value, low=value * math.exp(-half), high=value * math.exp(half))


@lru_cache(maxsize=256)
def _reach(freedom: float) -> float:
    """Standard deviations to each side that hold the truth as often as bounds promise; never with less than one degree of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(max(1.0, freedom), HIGH_LEVEL))
