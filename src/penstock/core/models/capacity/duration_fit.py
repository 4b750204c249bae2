"""Robust regression of durations: a sum of columns times coefficients of at least 0, with the uncertainty of the coefficients."""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.estimate import HIGH_LEVEL, NORMAL_REACH, SIGMA_PER_MAD

BISQUARE = 4.685
"""Residuals beyond this many standard deviations are left out (Tukey's bisquare): 95 % as efficient as least squares where all noise is normal."""
SMALLEST = 1e-6
"""Relative noise below which measurements count as exact."""
ROUNDS = 60
DRAWS = 64
MOST_CORRELATED = 0.9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DurationFit:
    """Coefficients, their uncertainty, and for each row the duration predicted from the other rows."""

    coefficients: Floats
    spread: Floats
    """A square root of their covariance, widened for few rows."""
    left_out_s: Floats
    scale: float
    """The relative standard deviation of one duration, without those that are left out."""

    def relative_error(self, durations_s: Floats) -> float:
        """Return the median leave-one-out error, which a few slow batches do not move."""
        return float(np.median(np.abs(self.left_out_s / durations_s - 1.0)))

    def draws(self) -> Floats:
        """Return coefficients that cover their uncertainty evenly, the same in each call."""
        normal = NormalDist()
        points = np.array([[normal.inv_cdf(each) for each in point] for point in evenly(DRAWS, len(self.coefficients)).tolist()])
        return np.asarray(np.maximum(self.coefficients + points @ self.spread.T, 0.0))


def fit_durations(columns: Floats, durations_s: Floats, prior: Floats | None = None) -> DurationFit:
    """Fit durations as a sum of columns times coefficients of at least 0, robustly and by relative residuals; `prior` weighs the rows.

    Noise of a batch grows with its duration, and relative residuals keep one huge first batch from deciding the slope.
    It starts from least absolute residuals, so that slow batches (warm-up, a retried task) do not set the scale by which batches are then left out.

    >>> rows = np.array([100.0, 200.0, 300.0, 400.0, 500.0, 600.0])
    >>> durations = 0.5 + 0.001 * rows
    >>> durations[0] *= 3
    >>> fit_durations(np.column_stack([np.ones(6), rows]), durations).coefficients.round(6).tolist()
    [0.5, 0.001]
    """
    unit = columns.max(axis=0)
    x, y, prior = columns / unit, durations_s, np.ones(len(durations_s)) if prior is None else prior
    found = _least_absolute(x, y, prior)
    fitted = _fitted(x, found, y)
    residuals = np.abs(y / fitted - 1.0)
    scale = max(SIGMA_PER_MAD * float(np.median(np.sort(residuals)[x.shape[1] :])), SMALLEST)
    for _ in range(ROUNDS):
        before, fitted = found, _fitted(x, found, y)
        found = _least_squares(x, y, prior * _bisquare((y / fitted - 1.0) / scale) / fitted**2)
        if _near(before, found, 1e-9):
            break
    spread, left_out_s = _uncertainty(x, y, found, scale, prior)
    return DurationFit(coefficients=found / unit, spread=spread / unit[:, None], left_out_s=left_out_s, scale=scale)


def evenly(count: int, dimensions: int) -> Floats:
    """Return points that fill the unit cube evenly, without chance: multiples of powers of the generalised golden ratio.

    >>> evenly(3, 1).round(3).tolist()
    [[0.118], [0.736], [0.354]]
    """
    ratio = 1.0
    for _ in range(ROUNDS):
        ratio = (1.0 + ratio) ** (1.0 / (dimensions + 1))
    steps = ratio ** -np.arange(1.0, dimensions + 1)
    return np.asarray((0.5 + np.arange(1, count + 1)[:, None] * steps) % 1.0)


def _least_absolute(x: Floats, y: Floats, prior: Floats) -> Floats:
    found = _least_squares(x, y, prior * y**-2.0)
    for _ in range(ROUNDS):
        before = found
        found = _least_squares(x, y, prior / (y * np.maximum(np.abs(y - x @ found), SMALLEST * y)))
        if _near(before, found, 1e-3):
            break
    return found


def _near(before: Floats, found: Floats, share: float) -> bool:
    return bool((np.abs(before - found) <= share * np.abs(found)).all())


def _least_squares(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Weighted least squares without negative coefficients; the plain solution, ten times faster, mostly has none."""
    weighted = (x * weights[:, None]).T
    try:
        plain = np.asarray(np.linalg.solve(weighted @ x, weighted @ y), dtype=np.float64)
    except np.linalg.LinAlgError:
        plain = np.full(x.shape[1], -1.0)
    return plain if (plain >= 0.0).all() else _least_squares_bounded(x, y, weights)


def _least_squares_bounded(x: Floats, y: Floats, weights: Floats) -> Floats:
    from scipy.optimize import nnls

    root = np.sqrt(weights)
    triangle, target = np.linalg.qr(x * root[:, None]), y * root
    return np.asarray(nnls(triangle.R, triangle.Q.T @ target)[0])


def _fitted(x: Floats, found: Floats, y: Floats) -> Floats:
    """Fitted durations, never so small that a residual relative to them overflows."""
    return np.asarray(np.maximum(x @ found, SMALLEST * y))


def _bisquare(u: Floats) -> Floats:
    return np.asarray(np.maximum(1.0 - (u / BISQUARE) ** 2, 0.0) ** 2)


def _uncertainty(x: Floats, y: Floats, found: Floats, scale: float, prior: Floats) -> tuple[Floats, Floats]:
    """Return a square root of the covariance (Huber's for M-estimates) and the leave-one-out predictions.

    Errors of neighbouring batches are correlated: the covariance grows by (1 + r)/(1 - r) with the correlation r of neighbours.
    Few rows make it wider, as Student's t is wider than the normal.
    """
    from scipy.special import stdtrit

    fitted = _fitted(x, found, y)
    relative = x / fitted[:, None]
    u = (y / fitted - 1.0) / scale
    kept, inside = _bisquare(u), np.minimum((u / BISQUARE) ** 2, 1.0)
    weights, pull = prior * kept, u * kept
    gain = max(float(np.mean((1.0 - inside) * (1.0 - 5.0 * inside))), 0.1)
    inverse = np.linalg.pinv(relative.T @ (relative * weights[:, None]), hermitian=True)
    degrees = max(float(weights.sum()) - x.shape[1], 1.0)
    variance = scale**2 * float(pull @ pull) / max(len(y) - x.shape[1], 1) / gain**2 * float(kept.mean() * (prior @ prior) / prior.sum())
    together = min(max(float(pull[1:] @ pull[:-1]) / max(float(pull @ pull), SMALLEST), 0.0), MOST_CORRELATED)
    wider = float(stdtrit(degrees, HIGH_LEVEL)) / NORMAL_REACH * math.sqrt((1.0 + together) / (1.0 - together))
    values, vectors = np.linalg.eigh(inverse)
    leverage = np.minimum(weights * np.einsum("ij,jk,ik->i", relative, inverse, relative), 0.99)
    return vectors * np.sqrt(np.maximum(values, 0.0) * variance) * wider, np.asarray(y - (y - x @ found) / (1.0 - leverage))
