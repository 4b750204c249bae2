"""Regressions with three coefficients over the logarithms of few scale-outs, judged by a noise that is known beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.capacity.curve import Point

NOISE_FREEDOM = 3.0
"""A noise known beforehand counts as so many degrees of freedom beside the scatter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Regressed:
    """Coefficients and their covariance."""

    coefficients: tuple[float, float, float]
    covariance: Floats

    def variance_of(self, sums: tuple[float, float, float]) -> float:
        """Variance of a weighted sum of the coefficients."""
        return float(np.array(sums) @ self.covariance @ np.array(sums))


def log_scaleouts(points: Sequence[Point]) -> Floats:
    return np.log([float(point.scaleout) for point in points])


def regressed(columns: Sequence[Floats], values: Sequence[float], points: Sequence[Point], noise: float) -> Regressed:
    """Least squares by measurements; `noise` is the standard deviation of one, and the scatter around the fit tells as much of it as there are points."""
    x, y, weights = np.stack(columns, axis=1), np.array(values), np.array([point.measurements for point in points])
    root = np.sqrt(weights)
    inverse = np.linalg.pinv(x * root[:, None])
    first, second, third = inverse @ (y * root)
    scatter = float((weights * (y - x @ [first, second, third]) ** 2).sum())
    variance = (NOISE_FREEDOM * noise**2 + scatter) / (NOISE_FREEDOM + len(points) - 3)
    return Regressed(coefficients=(float(first), float(second), float(third)), covariance=variance * (inverse @ inverse.T))
