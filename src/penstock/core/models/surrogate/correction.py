"""Data correcting a form: what it leaves over is smoothed over the rates and intervals, and shrunk to nothing where no rows are near."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penstock.core.models.surrogate.candidate import Fitted, Form
from penstock.core.models.surrogate.points import Floats, Mask, Points

REACHES = ((0.05, np.inf), (0.25, np.inf), (0.25, 0.5))
"""How far a leftover reaches, as shares of the seen range of rates and of log intervals; infinite: all intervals share it."""

STRENGTHS = np.array([0.0, 0.1, 0.3, 1.0, 3.0])
"""Variance of the smooth leftover over that of the noise, to choose from; zero leaves the form as it is."""

LEAST_ROWS, MOST_ROWS = 8, 150
"""Fewer rows show no shape; of more, so many spread over the intervals and rates do, at a bounded cost."""

CLIP = 2.5
"""Leftovers beyond so many robust standard deviations are taken for outliers and pulled in."""


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
    """The form times the exponential of the smooth leftover of its logarithm."""

    base: Fitted
    smooth: Smooth | None

    def at(self, points: Points) -> Floats:
        return self.base.at(points) * (1.0 if self.smooth is None else np.exp(self.smooth.at(points)))

    @property
    def parameters(self) -> Mapping[str, float]:
        return self.base.parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected:
    """A form as the prior, corrected by data: an improvement on the papers, which have one or the other."""

    base: Form

    @property
    def name(self) -> str:
        return f"{self.base.name}, corrected"

    def fit(self, points: Points, seen: Floats) -> CorrectedFit:
        return self.derive(self.base.fit(points, seen), points, seen)

    def derive(self, base: Fitted, points: Points, seen: Floats) -> CorrectedFit:
        return CorrectedFit(base=base, smooth=smooth_leftover(points, np.log(seen) - np.log(base.at(points))))


def smooth_leftover(points: Points, leftover: Floats) -> Smooth | None:
    """The smooth part of what a form left over, by the reach and strength under which the leftovers are likeliest; None if noise explains them as well.

    With a kernel K = U diag(l) U' and strength v, the posterior mean at the rows is U diag(v*l / (1 + v*l)) U' e; the noise is profiled out of the likelihood.
    """
    kept = np.isfinite(leftover)
    if kept.sum() < LEAST_ROWS:
        return None
    kept &= _spread_over(points, MOST_ROWS)
    rows, errors = points.where(kept), _pulled_in(leftover[kept])
    log_interval = np.log(rows.interval_s)
    best, best_likelihood = None, -np.inf
    for share_rate, share_interval in REACHES:
        reach_rate, reach_interval = share_rate * float(np.ptp(rows.rate)), share_interval * max(float(np.ptp(log_interval)), 1e-9)
        values, vectors = np.linalg.eigh(_kernel(rows.rate, log_interval, rows.rate, log_interval, reach_rate, reach_interval))
        turned, inflation = vectors.T @ errors, 1.0 + STRENGTHS[:, None] * np.maximum(values, 0.0)
        variance = np.mean(turned**2 / inflation, axis=1) + 1e-12
        likelihoods = -0.5 * (len(errors) * np.log(variance) + np.log(inflation).sum(axis=1))
        index = int(np.argmax(likelihoods))
        if likelihoods[index] > best_likelihood:
            best_likelihood = likelihoods[index]
            weights = vectors @ (STRENGTHS[index] / inflation[index] * turned)
            best = Smooth(rates=rows.rate, log_intervals=log_interval, reach_rate=reach_rate, reach_interval=reach_interval, weights=weights)
    return best if best is not None and np.any(best.weights) else None


def _spread_over(points: Points, most: int) -> Mask:
    """At most so many rows, evenly through their order by interval and rate."""
    kept = np.zeros(len(points), dtype=bool)
    kept[np.lexsort((points.rate, points.interval_s))[:: -(-len(points) // most)]] = True
    return kept


def _pulled_in(errors: Floats) -> Floats:
    middle = float(np.median(errors))
    most = CLIP * 1.4826 * float(np.median(np.abs(errors - middle)))
    return np.clip(errors, middle - most, middle + most)


def _kernel(rate: Floats, log_interval: Floats, rates: Floats, log_intervals: Floats, reach_rate: float, reach_interval: float) -> Floats:
    far = ((rate[:, None] - rates) / max(reach_rate, 1e-9)) ** 2 + ((log_interval[:, None] - log_intervals) / reach_interval) ** 2
    return np.exp(-0.5 * far)
