"""Correction of a form by data: its residuals, smoothed over rates and intervals and shrunk to zero away from the rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from penstock.core.models.arrays import Flags, Floats
from penstock.core.models.estimate import SIGMA_PER_MAD
from penstock.core.models.surrogate.crossvalidation import interval_groups
from penstock.core.models.surrogate.points import Derived, Fitted, Form, Points, spread_out

REACHES = ((0.05, np.inf), (0.25, np.inf), (0.25, 0.5))
"""Length scales of the residuals, as shares of the range of rates and of log intervals; infinite: the same for all intervals."""

STRENGTHS = np.array([0.0, 0.1, 0.3, 1.0, 3.0])
"""Candidate ratios of the variance of the smooth residual to that of the noise; zero leaves the form unchanged."""

FEWEST_SMOOTHED, MOST_SMOOTHED = 8, 150
"""Fewer rows show no shape; more are thinned, which bounds the cost."""

CLIP = 2.5
"""Residuals are clipped to this many robust standard deviations."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Smooth:
    """A smooth function of rate and interval with prior mean zero: the posterior mean of a Gaussian process."""

    rates: Floats
    log_intervals: Floats
    reach_rate: float
    reach_interval: float
    weights: Floats

    def at(self, points: Points) -> Floats:
        return _kernel(points.rate, np.log(points.interval_s), self.rates, self.log_intervals, self.reach_rate, self.reach_interval) @ self.weights


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CorrectedFit:
    """The form times the exponential of the smooth residual of its logarithm."""

    base: Fitted
    smooth: Smooth | None

    def at(self, points: Points) -> Floats:
        return self.base.at(points) * (1.0 if self.smooth is None else np.exp(self.smooth.at(points)))

    @property
    def parameters(self) -> Mapping[str, float]:
        return self.base.parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected(Derived):
    """A form as the prior, corrected by data: an improvement on the papers, which have one or the other.

    The residual may take any shape, as these regressions need not be monotonic; `Stretch` in `latency/batch_latency.py` is for forms that are.
    """

    base: Form

    @property
    def name(self) -> str:
        return f"{self.base.name}, corrected"

    def derive(self, base: Fitted, points: Points, seen: Floats) -> CorrectedFit:
        return CorrectedFit(base=base, smooth=smooth_residual(points, np.log(seen) - np.log(base.at(points))))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Basis:
    """A kernel over some rows, K = U diag(l) U'."""

    reach_rate: float
    reach_interval: float
    values: Floats
    vectors: Floats


def smooth_residual(points: Points, residuals: Floats) -> Smooth | None:
    """Return the smooth part of the residuals, with the reach and strength of the greatest likelihood; None if noise explains them as well.

    With a kernel K = U diag(l) U' and strength v, the posterior mean at the rows is U diag(v*l / (1 + v*l)) U' e; the noise is profiled out of the likelihood.
    """
    if len(points) < FEWEST_SMOOTHED:
        return None
    kept, rows, bases = _bases(points)
    errors = _pulled_in(np.where(np.isfinite(residuals), residuals, 0.0)[kept])
    best, most_likely = None, -np.inf
    for basis in bases:
        turned, inflation = basis.vectors.T @ errors, 1.0 + STRENGTHS[:, None] * basis.values
        variance = np.mean(turned**2 / inflation, axis=1) + 1e-12
        likelihoods = -0.5 * (len(errors) * np.log(variance) + np.log(inflation).sum(axis=1))
        index = int(np.argmax(likelihoods))
        if likelihoods[index] > most_likely:
            best, most_likely = (basis, STRENGTHS[index] / inflation[index] * turned), likelihoods[index]
    if best is None or not np.any(best[1]):
        return None
    basis, turned = best
    weights = np.asarray(basis.vectors @ turned)
    return Smooth(rates=rows.rate, log_intervals=np.log(rows.interval_s), reach_rate=basis.reach_rate, reach_interval=basis.reach_interval, weights=weights)


@lru_cache(maxsize=16)
def _bases(points: Points) -> tuple[Flags, Points, tuple[Basis, ...]]:
    """Return the rows that are smoothed and their kernels, which all forms fitted to these points share."""
    kept = spread_out(interval_groups(points.interval_s, most=MOST_SMOOTHED), points.rate, MOST_SMOOTHED)
    rows = points.where(kept)
    log_interval = np.log(rows.interval_s)
    bases = []
    for share_rate, share_interval in REACHES:
        reach_rate, reach_interval = share_rate * float(np.ptp(rows.rate)), share_interval * max(float(np.ptp(log_interval)), 1e-9)
        values, vectors = np.linalg.eigh(_kernel(rows.rate, log_interval, rows.rate, log_interval, reach_rate, reach_interval))
        bases.append(Basis(reach_rate=reach_rate, reach_interval=reach_interval, values=np.maximum(values, 0.0), vectors=vectors))
    return kept, rows, tuple(bases)


def _pulled_in(errors: Floats) -> Floats:
    middle = float(np.median(errors))
    most = CLIP * SIGMA_PER_MAD * float(np.median(np.abs(errors - middle)))
    return np.clip(errors, middle - most, middle + most)


def _kernel(rate: Floats, log_interval: Floats, rates: Floats, log_intervals: Floats, reach_rate: float, reach_interval: float) -> Floats:
    far = ((rate[:, None] - rates) / max(reach_rate, 1e-9)) ** 2 + ((log_interval[:, None] - log_intervals) / reach_interval) ** 2
    return np.exp(-0.5 * far)
