"""How far capacity over scale-outs bends down from the curve that was fitted to it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.core.models.capacity.curve import Curve, Point
from penstock.core.models.capacity.in_logarithms import log_scaleouts, regressed

BENDS_ON = 2.0
"""Beyond the largest measured scale-out a bend grows this many times as fast: what saturates bends faster than a parabola in logarithms does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bend:
    """A parabola over the logarithm of the scale-out, fitted to the logarithms of capacity over `curve`; `largest` is the largest scale-out measured.

    `evident` is the share of it that is no noise: t² / (1 + t²), where t is its curvature in standard errors.
    """

    curve: Curve
    parabola: tuple[float, float, float]
    evident: float
    largest: int

    def depth_at(self, scaleout: int) -> float:
        """Logarithm of the curve over what bends away from it, 0 where it bends upwards; beyond the largest scale-out at most as deep as a capacity that
        grows no more."""
        depth, at_largest = self._depth(scaleout), self._depth(self.largest)
        if scaleout > self.largest:
            grown = math.log(self.curve.value_at(scaleout) / self.curve.value_at(self.largest))
            depth = at_largest + min(BENDS_ON * (depth - at_largest), grown)
        return self.evident * max(0.0, depth)

    def _depth(self, scaleout: int) -> float:
        (constant, slope, curvature), x = self.parabola, math.log(scaleout)
        return -(constant + x * (slope + x * curvature))


def bend_of(curve: Curve, points: Sequence[Point], noise: float) -> Bend | None:
    """The bend of at least three measured capacities, where one measurement has this relative noise; None if the curve is not above zero at all of them.

    >>> from penstock.core.models.capacity.curve import fitted
    >>> points = [Point(scaleout=s, throughput_rows_per_s=rate, measurements=1.0) for s, rate in ((1, 10.0), (2, 20.0), (4, 30.0))]
    >>> bend = bend_of(fitted("power", points), points, noise=0.03)
    >>> round(bend.evident, 2), [round(bend.depth_at(s), 2) for s in (2, 4, 8)]
    (0.94, [0.0, 0.05, 0.56])
    """
    values = [curve.value_at(point.scaleout) for point in points]
    if min(values) <= 0.0:
        return None
    x = log_scaleouts(points)
    off = [math.log(point.throughput_rows_per_s / value) for point, value in zip(points, values, strict=True)]
    fit = regressed([x**0, x, x**2], off, points, noise)
    squared, variance = fit.coefficients[2] ** 2, fit.variance_of((0.0, 0.0, 1.0))
    return Bend(curve=curve, parabola=fit.coefficients, evident=squared / (squared + variance) if squared else 0.0, largest=points[-1].scaleout)
