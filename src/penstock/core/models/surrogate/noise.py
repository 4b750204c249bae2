"""How noisy rows are, by what a fit leaves over: it decides how much a belief weighs against them, and which of them are outliers."""

from __future__ import annotations

import math

import numpy as np

from penstock.core.models.arrays import Floats

NOISE = 0.1
"""The relative error that is ordinary, as believed before any row; more is never believed, so that outliers stay outliers."""
NOISE_WEIGHT = 2.0
"""That belief counts as much as so many rows more than there are parameters."""
LEAST_NOISE = 0.03
"""No measurement is taken to be better than this: no form is."""


def ordinary_error(errors: Floats, parameters: int) -> float:
    """The standard deviation of relative errors, by their median, which outliers do not move; a fit to as many parameters as rows tells nothing of it.

    >>> ordinary_error(np.zeros(4), parameters=4), ordinary_error(np.zeros(100), parameters=4)
    (0.1, 0.03)
    >>> round(ordinary_error(np.array([0.03, 0.04, 0.05, 3.0] * 100), parameters=3), 3)
    0.067
    """
    spare = max(len(errors) - parameters, 0)
    by_rows = 1.4826 * float(np.median(np.abs(errors))) * math.sqrt(len(errors) / max(spare, 1))
    return min(max(math.sqrt((NOISE_WEIGHT * NOISE**2 + spare * by_rows**2) / (NOISE_WEIGHT + spare)), LEAST_NOISE), NOISE)
