"""A physical prediction corrected by what was measured: a bias and a scale in the logarithm, shrunk to none."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from penstock.core.models.capacity.batch_fit import Floats
from penstock.core.models.estimate import COVERAGE, Estimate

BIAS = 0.3
"""Before any measurement the physical form may be off by a factor of e^0.3 either way (one standard deviation)."""
SCALE = 0.2
"""Before any measurement its logarithm may stretch or shrink by a fifth."""
NOISE = 0.1
"""Relative noise of a measurement, as believed before any."""
NOISE_WEIGHT = 2.0
"""That belief counts as much as so many measurements."""
HUBER = 1.345
"""Residuals beyond so many standard deviations pull no harder."""
ROUNDS = 30
REACH = NormalDist().inv_cdf((1.0 + COVERAGE) / 2)
"""Standard deviations to either bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """log y = log x + bias + stretch*(log x - centre): x the physical prediction, y what is measured; `spread` is the covariance of (bias, stretch)."""

    bias: float
    stretch: float
    centre: float
    spread: tuple[tuple[float, float], tuple[float, float]]

    def value(self, physical: float) -> float:
        """The corrected prediction; it never falls where the physical one rises.

        >>> round(Correction(bias=math.log(2), stretch=0.0, centre=0.0, spread=((0.0, 0.0), (0.0, 0.0))).value(3.0), 9)
        6.0
        """
        if physical <= 0 or physical == math.inf:
            return physical
        away = math.log(physical) - self.centre
        return math.exp(self.centre + self.bias + max(1.0 + self.stretch, 0.0) * away)

    def apply(self, physical: Estimate) -> Estimate:
        """The corrected estimate: what is open in the physical one and in the correction, together."""
        value = self.value(physical.value)
        if physical.value <= 0 or value == math.inf:
            return Estimate(value=value, low=min(value, self.value(physical.low)), high=max(value, self.value(physical.high)))
        at = np.array([1.0, math.log(physical.value) - self.centre])
        own = REACH * math.sqrt(max(float(at @ np.array(self.spread) @ at), 0.0))
        below = math.log(physical.value / physical.low) if physical.low > 0 else math.inf
        above = math.log(physical.high / physical.value) if physical.high < math.inf else math.inf
        high = value * math.exp(math.hypot(own, above)) if above < math.inf else math.inf
        return Estimate(value=value, low=value * math.exp(-math.hypot(own, below)), high=high)


def correct(physical: Floats, measured: Floats) -> Correction:
    """The correction after these pairs; none at all leaves the physical form as it is, with what is open about it.

    >>> round(correct(np.array([]), np.array([])).value(7.0), 9)
    7.0
    >>> round(correct(np.full(1000, 2.0), np.full(1000, 3.0)).value(2.0), 3)
    3.0
    """
    prior = np.array([BIAS**-2, SCALE**-2])
    if not len(physical):
        return Correction(bias=0.0, stretch=0.0, centre=0.0, spread=((BIAS**2, 0.0), (0.0, 0.0)))
    logs, gaps = np.log(physical), np.log(measured / physical)
    centre = float(logs.mean())
    x = np.column_stack([np.ones(len(logs)), logs - centre])
    found, weights, noise = np.zeros(2), np.ones(len(logs)), NOISE
    for _ in range(ROUNDS):
        before = found
        covariance = np.linalg.inv(np.diag(prior) + x.T @ (x * weights[:, None]) / noise**2)
        found = covariance @ (x.T @ (weights * gaps)) / noise**2
        off = gaps - x @ found
        noise = math.sqrt((NOISE_WEIGHT * NOISE**2 + float(weights @ off**2)) / (NOISE_WEIGHT + float(weights.sum())))
        weights = np.minimum(1.0, HUBER * noise / np.maximum(np.abs(off), 1e-12))
        if np.allclose(before, found, rtol=1e-9, atol=1e-12):
            break
    (a, b), (c, d) = covariance.tolist()
    return Correction(bias=float(found[0]), stretch=float(found[1]), centre=centre, spread=((a, b), (c, d)))
