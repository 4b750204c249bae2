"""A physical latency stretched to what was measured: a bias and a scale of its logarithm, both shrunk to none, which keep its order."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.estimate import NORMAL_REACH, Estimate

BIAS = 0.3
"""Before any measurement the physical form may be off by a factor of e^0.3 either way (one standard deviation)."""
SCALE = 0.2
"""Before any measurement its logarithm may stretch or shrink by a fifth."""
NOISE = 0.1
"""Relative noise of a measurement, as believed before any."""
NOISE_WEIGHT = 2.0
"""The belief in `NOISE` counts as much as this many measurements."""
HUBER = 1.345
"""Residuals beyond so many standard deviations pull no harder."""
ROUNDS = 10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stretch:
    """log y = log x + bias + scale*(log x - centre): x the physical latency, y what is measured; `covariance` is that of (bias, scale).

    `noise` is by how much one measurement differs from that, as a standard deviation of its logarithm.
    """

    bias: float = 0.0
    scale: float = 0.0
    centre: float = 0.0
    noise: float = NOISE
    covariance: Floats

    def at(self, physical_s: Floats) -> Floats:
        """The stretched latencies; they never fall where the physical ones rise.

        >>> Stretch(bias=math.log(2), covariance=np.zeros((2, 2))).at(np.array([3.0, np.inf])).round(9).tolist()
        [6.0, inf]
        """
        return np.asarray(np.exp(self.centre + self.bias + max(1.0 + self.scale, 0.01) * (np.log(physical_s) - self.centre)))

    def estimate(self, physical_s: Estimate, *, of_one: bool = False) -> Estimate:
        """The stretched estimate: what is open in the physical one and in the stretch, together; `of_one` measurement to come, its noise too."""
        value, below, above = (float(each) for each in self.at(np.maximum([physical_s.value, physical_s.low, physical_s.high], 1e-9)))
        if value == math.inf:
            return Estimate(value=value, low=below, high=value)
        direction = np.array([1.0, math.log(max(physical_s.value, 1e-9)) - self.centre])
        own = NORMAL_REACH * math.sqrt(max(float(direction @ self.covariance @ direction), 0.0) + (self.noise**2 if of_one else 0.0))
        high = value * math.exp(math.hypot(own, math.log(above / value))) if above < math.inf else math.inf
        return Estimate(value=value, low=value * math.exp(-math.hypot(own, math.log(value / below))), high=high)


def stretch(physical_s: Floats, measured_s: Floats) -> Stretch:
    """The stretch after these pairs; none at all leaves the physical form as it is, with what is open about it.

    >>> stretch(np.array([]), np.array([])).at(np.array([7.0])).round(9).tolist()
    [7.0]
    >>> stretch(np.full(1000, 2.0), np.full(1000, 3.0)).at(np.array([2.0])).round(3).tolist()
    [3.0]
    """
    prior = np.array([BIAS, SCALE])
    if not len(physical_s):
        return Stretch(covariance=np.diag([BIAS**2, 0.0]))
    logs, gaps = np.log(physical_s), np.log(measured_s / physical_s)
    centre = float(logs.mean())
    columns = np.column_stack([np.ones(len(logs)), logs - centre])
    weights, noise = np.ones(len(logs)), NOISE
    for _ in range(ROUNDS):
        covariance = np.linalg.inv(np.diag(prior**-2) + columns.T @ (columns * weights[:, None]) / noise**2)
        found = covariance @ (columns.T @ (weights * gaps)) / noise**2
        off = gaps - columns @ found
        noise = math.sqrt((NOISE_WEIGHT * NOISE**2 + float(weights @ off**2)) / (NOISE_WEIGHT + float(weights.sum())))
        weights = np.minimum(1.0, HUBER * noise / np.maximum(np.abs(off), 1e-12))
    return Stretch(bias=float(found[0]), scale=float(found[1]), centre=centre, noise=noise, covariance=np.asarray(covariance, dtype=float))
