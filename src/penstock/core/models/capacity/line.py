"""Capacity as a line over utilisation, with the variance of its mean at every point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.estimate import Estimate
from penstock.core.models.student import student_estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityLine:
    """Rows/s = intercept + slope * u at utilisation u; its variance there is v0 + v1 * u + v2 * u^2, judged with `freedom` degrees of freedom.

    >>> CapacityLine(intercept=10.0, slope=100.0, variance=(0.0, 0.0, 0.0), freedom=5.0).at(0.5)
    Estimate(value=60.0, low=60.0, high=60.0)
    """

    intercept: float
    slope: float
    variance: tuple[float, float, float]
    freedom: float

    def value_at(self, utilization: float) -> float:
        return max(0.0, self.intercept + self.slope * utilization)

    def variance_at(self, utilization: float) -> float:
        v0, v1, v2 = self.variance
        return max(0.0, v0 + utilization * (v1 + utilization * v2))

    def values_at(self, utilizations: Floats) -> Floats:
        """The same of each."""
        return np.maximum(0.0, self.intercept + self.slope * utilizations)

    def variances_at(self, utilizations: Floats) -> Floats:
        v0, v1, v2 = self.variance
        return np.maximum(0.0, v0 + utilizations * (v1 + utilizations * v2))

    def at(self, utilization: float) -> Estimate:
        return student_estimate(self.value_at(utilization), self.variance_at(utilization), self.freedom)

    def along(self, proportion: float) -> CapacityLine:
        """The same line over the utilisation of the busiest worker, when this one is always at `proportion` of it."""
        v0, v1, v2 = self.variance
        return CapacityLine(
            intercept=self.intercept, slope=self.slope * proportion, variance=(v0, v1 * proportion, v2 * proportion * proportion), freedom=self.freedom
        )


SHARED = 0.5
"""How much of the error of one worker is that of all: they see the same rows, and rows do not always cost the same."""


def together(lines: Sequence[CapacityLine], *, shared: float = SHARED) -> CapacityLine:
    """The sum of the lines of several workers; the variance is between that of independent errors (`shared` = 0) and of equal ones (1)."""
    factor = 1.0 + shared * (len(lines) - 1)
    v0, v1, v2 = summed(*(line.variance for line in lines))
    return CapacityLine(
        intercept=sum(line.intercept for line in lines),
        slope=sum(line.slope for line in lines),
        variance=(v0 * factor, v1 * factor, v2 * factor),
        freedom=min(line.freedom for line in lines),
    )


def square_around(center: float, factor: float) -> tuple[float, float, float]:
    """factor * (u - center)^2 as coefficients of 1, u and u^2.

    >>> square_around(0.5, 4.0)
    (1.0, -4.0, 4.0)
    """
    return factor * center * center, -2.0 * factor * center, factor


def summed(*variances: tuple[float, float, float]) -> tuple[float, float, float]:
    """The coefficients of a sum of variances."""
    v0, v1, v2 = map(sum, zip(*variances, strict=True))
    return v0, v1, v2
