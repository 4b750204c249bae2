"""A plateau: from some scale-out on capacity grows no more."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.core.models.capacity.curve import Point, rates
from penstock.core.models.capacity.in_logarithms import NOISE_FREEDOM, log_scaleouts, regressed
from penstock.core.models.capacity.ties import measured_ties

PLATEAU_SIGMAS = 3.0
"""Growth has ended where two slopes are further apart than so many standard errors: at those of a tie twice as many lines and power laws had a plateau."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plateau:
    """The capacity at `first` workers and beyond, from `measurements` with `noise` each, whose logarithms of scale-outs have this mean and sum of squares."""

    first: int
    rows_per_s: float
    noise: float
    freedom: float
    measurements: float
    mean_x: float
    m2_x: float

    def relative_spread_at(self, scaleout: int) -> float:
        """Standard deviation of one more measurement there: a slope that noise hides in the tie shows the more, the further away."""
        x = math.log(max(scaleout, self.first))
        return self.noise * math.sqrt(1.0 + 1.0 / self.measurements + (x - self.mean_x) ** 2 / self.m2_x)

    def rising(self, points: Sequence[Point]) -> list[Point]:
        """The measured points below the plateau, to which the curve is fitted; if there are fewer than two, the first two points."""
        below = [point for point in points if point.scaleout < self.first]
        return below if len(below) > 1 else list(points[:2])

    def capped(self, rows_per_s: float, scaleout: int) -> float:
        """What a curve says there, which holds below the plateau and never exceeds it."""
        return self.rows_per_s if scaleout >= self.first else min(rows_per_s, self.rows_per_s)


def plateau_of(points: Sequence[Point], noise: float) -> Plateau | None:
    """The plateau of points in the order of their scale-outs: the largest are tied, and growth ends there. In logarithms the slope up to the first of them
    is above that beyond it, by more than noise; scale-outs so close that they could not differ by more are a tie and no plateau.

    >>> points = [Point(scaleout=s, throughput_rows_per_s=rate, measurements=1.0) for s, rate in ((1, 10.0), (2, 20.0), (4, 39.0), (8, 41.0))]
    >>> plateau = plateau_of(points, noise=0.03)
    >>> plateau.first, plateau.rows_per_s
    (4, 40.0)
    >>> plateau_of(points[:3], noise=0.03)
    """
    tied = measured_ties(points, noise=noise)[-1] if points else ()
    if len(tied) < 2 or len(tied) == len(points):
        return None
    x, knee = log_scaleouts(points), math.log(tied[0])
    fit = regressed([x**0, np.minimum(x, knee), np.maximum(x - knee, 0.0)], np.log(rates(points)).tolist(), points, noise)
    before, beyond = fit.coefficients[1:]
    if before - beyond <= PLATEAU_SIGMAS * math.sqrt(fit.variance_of((0.0, 1.0, -1.0))):
        return None
    return _level([point for point in points if point.scaleout >= tied[0]], noise)


def _level(points: Sequence[Point], noise: float) -> Plateau:
    x, y, weights = log_scaleouts(points), np.array(rates(points)), np.array([point.measurements for point in points])
    mean_x, mean_y, freedom = float(np.average(x, weights=weights)), float(np.average(y, weights=weights)), NOISE_FREEDOM + len(points) - 1
    scatter = float((weights * (y / mean_y - 1.0) ** 2).sum())
    return Plateau(
        first=points[0].scaleout,
        rows_per_s=mean_y,
        noise=math.sqrt((NOISE_FREEDOM * noise**2 + scatter) / freedom),
        freedom=freedom,
        measurements=float(weights.sum()),
        mean_x=mean_x,
        m2_x=float((weights * (x - mean_x) ** 2).sum()),
    )
