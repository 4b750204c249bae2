"""Forms of capacity over the number of executors: a line, a power law, or proportion for a single point; with ties, a plateau and a bend."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.moments import PairedMoments
from penstock.core.models.score import mape

Form = Literal["proportional", "line", "power"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Mean capacity over the measurements with one number of executors, and how many there were."""

    executors: int
    throughput_rows_per_s: float
    measurements: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A form with its fit: moments of x = number of executors and y = capacity, both in logarithms for a power law."""

    form: Form
    moments: PairedMoments

    def value_at(self, executors: float) -> float:
        x, y = self.moments.mean_x, self.moments.mean_y
        if self.form == "proportional":
            return y / x * executors
        if self.form == "line":
            return max(0.0, y + self.slope * (executors - x))
        return math.exp(y + self.slope * (math.log(executors) - x))

    def relative_spread_at(self, executors: float) -> float:
        """Standard deviation of one more measurement there, as a share of the value, which is above zero; it grows away from what was measured."""
        x = executors if self.form == "line" else math.log(executors)
        spread = math.sqrt(self.moments.unexplained_y() * (1.0 + self.moments.leverage(x)))
        return spread if self.form == "power" else spread / self.value_at(executors)

    @property
    def slope(self) -> float:
        return self.moments.c_xy / self.moments.m2_x

    @property
    def parameters(self) -> dict[str, float]:
        """By name: `factor` and `exponent` of factor * s^exponent, or `intercept` and `slope`, or `factor` of factor * s."""
        if self.form == "proportional":
            return {"factor": self.moments.mean_y / self.moments.mean_x}
        constant = self.moments.mean_y - self.slope * self.moments.mean_x
        return {"factor": math.exp(constant), "exponent": self.slope} if self.form == "power" else {"intercept": constant, "slope": self.slope}


def fitted(form: Form, points: Sequence[Point]) -> Curve:
    """Least squares by form; a point counts by its measurements, all together as many as there are points.

    >>> curve = fitted("power", [Point(executors=s, throughput_rows_per_s=10.0 * s**0.5, measurements=1.0) for s in (1, 4, 16)])
    >>> {name: round(value, 6) for name, value in curve.parameters.items()}
    {'factor': 10.0, 'exponent': 0.5}
    """
    return Curve(form=form, moments=PairedMoments.of(*_columns(form, points)))


def chosen(points: Sequence[Point], *, of_two: Form = "power") -> Curve:
    """Return the line or the power law, whichever errs less when a point is left out (Phoebe sec. III-D).

    Below three points leaving one out leaves no curve: two give the power law through them, or the form `of_two`, one gives proportion.
    """
    if len(points) == 1:
        return fitted("proportional", points)
    if len(points) == 2:
        return fitted(of_two, points)
    errors: dict[Form, float] = {form: left_out_error(form, points) for form in ("line", "power")}
    return fitted(min(errors, key=lambda form: errors[form]), points)


def left_out_error(form: Form, points: Sequence[Point]) -> float:
    """Return mean absolute percentage error at each point of a fit to the others, for at least three of them.

    Least squares needs no second fit for it: without its point the residual e becomes e / (1 - h), where h is the leverage of the point.
    """
    x, y, weights = _columns(form, points)
    curve = Curve(form=form, moments=PairedMoments.of(x, y, weights))
    leverage = weights * curve.moments.leverage(x)
    without = y - (y - curve.moments.mean_y - curve.slope * (x - curve.moments.mean_x)) / (1.0 - leverage)
    return mape((np.exp(without) if form == "power" else np.maximum(without, 0.0)).tolist(), rates(points))


def _columns(form: Form, points: Sequence[Point]) -> tuple[Floats, Floats, Floats]:
    """Numbers of executors and capacities, in logarithms for a power law, and the weights of the points, 1 on average."""
    x, y = np.array([float(point.executors) for point in points]), np.array(rates(points))
    weights = np.array([point.measurements for point in points])
    return (np.log(x), np.log(y), weights / weights.mean()) if form == "power" else (x, y, weights / weights.mean())


def rates(points: Sequence[Point]) -> list[float]:
    return [point.throughput_rows_per_s for point in points]


TIE_NOISE = 0.03
"""Relative standard deviation of a measured capacity, without repetitions."""

TIE_SIGMAS = 2.5
"""Capacities more than this many standard deviations apart differ; six equal ones, compared one after the other, stay together in nine cases of ten."""


def measured_ties(points: Sequence[Point], *, noise: float = TIE_NOISE) -> tuple[tuple[int, ...], ...]:
    """Group neighbours whose capacity is no more than noise away from the mean of the group so far; every point is in one group.

    Two means of the same capacity, of n and of m measurements, differ by noise * sqrt(1/n + 1/m), one standard deviation.

    >>> rates = {2: 1000.0, 3: 1010.0, 4: 2000.0, 5: 2500.0}
    >>> measured_ties([Point(executors=s, throughput_rows_per_s=rate, measurements=1.0) for s, rate in rates.items()])
    ((2, 3), (4,), (5,))
    """
    groups: list[list[int]] = []
    count = total = 0.0
    for point in sorted(points, key=lambda each: each.executors):
        if not groups or not _alike(total / count, count, point, noise):
            groups.append([])
            count = total = 0.0
        groups[-1].append(point.executors)
        count += point.measurements
        total += point.measurements * point.throughput_rows_per_s
    return tuple(map(tuple, groups))


def _alike(mean: float, count: float, point: Point, noise: float) -> bool:
    return abs(point.throughput_rows_per_s / mean - 1.0) <= TIE_SIGMAS * noise * math.sqrt(1.0 / count + 1.0 / point.measurements)


NOISE_FREEDOM = 3.0
"""Degrees of freedom of a noise known beforehand, beside those of the scatter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Regressed:
    """Three coefficients over the logarithms of few numbers of executors, and their covariance."""

    coefficients: tuple[float, float, float]
    covariance: Floats

    def variance_of(self, sums: tuple[float, float, float]) -> float:
        """Variance of a weighted sum of the coefficients."""
        return float(np.array(sums) @ self.covariance @ np.array(sums))


def log_executors(points: Sequence[Point]) -> Floats:
    return np.log([float(point.executors) for point in points])


def regressed(columns: Sequence[Floats], values: Sequence[float], points: Sequence[Point], noise: float) -> Regressed:
    """Least squares by measurements; `noise` is the standard deviation of one, to which the scatter around the fit is added by its degrees of freedom."""
    x, y, weights = np.stack(columns, axis=1), np.array(values), np.array([point.measurements for point in points])
    root = np.sqrt(weights)
    inverse = np.linalg.pinv(x * root[:, None])
    first, second, third = inverse @ (y * root)
    scatter = float((weights * (y - x @ [first, second, third]) ** 2).sum())
    variance = (NOISE_FREEDOM * noise**2 + scatter) / (NOISE_FREEDOM + len(points) - 3)
    return Regressed(coefficients=(float(first), float(second), float(third)), covariance=variance * (inverse @ inverse.T))


PLATEAU_SIGMAS = 3.0
"""Growth has ended where two slopes differ by more than this many standard errors; with `TIE_SIGMAS` twice as many lines and power laws had a plateau."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plateau:
    """The capacity of `first` executors and more, from measurements with `noise` each; `moments` are of the logarithms of executors (x) and capacities (y)."""

    first: int
    noise: float
    freedom: float
    moments: PairedMoments

    @property
    def rows_per_s(self) -> float:
        return self.moments.mean_y

    def relative_spread_at(self, executors: int) -> float:
        """Return the standard deviation of one more measurement there; it grows with the distance, as noise may hide a slope."""
        x = math.log(max(executors, self.first))
        return self.noise * math.sqrt(1.0 + self.moments.leverage(x))

    def rising(self, points: Sequence[Point]) -> list[Point]:
        """Return the measured points below the plateau, to which the curve is fitted; if there are fewer than two, the first two points."""
        below = [point for point in points if point.executors < self.first]
        return below if len(below) > 1 else list(points[:2])

    def capped(self, rows_per_s: float, executors: int) -> float:
        """Return the value of a curve there, capped by the plateau."""
        return self.rows_per_s if executors >= self.first else min(rows_per_s, self.rows_per_s)


def plateau_of(points: Sequence[Point], noise: float) -> Plateau | None:
    """The plateau of points in the order of their executors: the largest are tied, and growth ends there. In logarithms the slope up to the first of them
    is above that beyond it, by more than noise; points so close that they could not differ by more are a tie and no plateau.

    >>> points = [Point(executors=s, throughput_rows_per_s=rate, measurements=1.0) for s, rate in ((1, 10.0), (2, 20.0), (4, 39.0), (8, 41.0))]
    >>> plateau = plateau_of(points, noise=0.03)
    >>> plateau.first, plateau.rows_per_s
    (4, 40.0)
    >>> plateau_of(points[:3], noise=0.03)
    """
    tied = measured_ties(points, noise=noise)[-1] if points else ()
    if len(tied) < 2 or len(tied) == len(points):
        return None
    x, knee = log_executors(points), math.log(tied[0])
    fit = regressed([x**0, np.minimum(x, knee), np.maximum(x - knee, 0.0)], np.log(rates(points)).tolist(), points, noise)
    before, beyond = fit.coefficients[1:]
    if before - beyond <= PLATEAU_SIGMAS * math.sqrt(fit.variance_of((0.0, 1.0, -1.0))):
        return None
    return _level([point for point in points if point.executors >= tied[0]], noise)


def _level(points: Sequence[Point], noise: float) -> Plateau:
    x, y, weights = log_executors(points), np.array(rates(points)), np.array([point.measurements for point in points])
    moments, freedom = PairedMoments.of(x, y, weights), NOISE_FREEDOM + len(points) - 1
    scatter = moments.m2_y / moments.mean_y**2
    return Plateau(first=points[0].executors, noise=math.sqrt((NOISE_FREEDOM * noise**2 + scatter) / freedom), freedom=freedom, moments=moments)


BENDS_ON = 2.0
"""Beyond the largest measured number of executors a bend grows this many times as fast: saturation bends faster than a parabola in logarithms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bend:
    """A parabola over the logarithm of the number of executors, fitted to the logarithms of capacity over `curve`; `largest` is the most executors measured.

    `evident` is the share of it that is not noise: t² / (1 + t²), where t is its curvature in standard errors.
    """

    curve: Curve
    parabola: tuple[float, float, float]
    evident: float
    largest: int

    def depth_at(self, executors: int) -> float:
        """Logarithm of the curve over what bends away from it, 0 where it bends upwards; beyond the largest point at most as deep as a capacity that
        grows no more."""
        depth, at_largest = self._depth(executors), self._depth(self.largest)
        if executors > self.largest:
            grown = math.log(self.curve.value_at(executors) / self.curve.value_at(self.largest))
            depth = at_largest + min(BENDS_ON * (depth - at_largest), grown)
        return self.evident * max(0.0, depth)

    def _depth(self, executors: int) -> float:
        (constant, slope, curvature), x = self.parabola, math.log(executors)
        return -(constant + x * (slope + x * curvature))


def bend_of(curve: Curve, points: Sequence[Point], noise: float) -> Bend | None:
    """Return the bend of at least three measured capacities, where one measurement has this relative noise; None if the curve is not above zero at all of them.

    >>> from penstock.core.models.capacity.capacity_curve import fitted
    >>> points = [Point(executors=s, throughput_rows_per_s=rate, measurements=1.0) for s, rate in ((1, 10.0), (2, 20.0), (4, 30.0))]
    >>> bend = bend_of(fitted("power", points), points, noise=0.03)
    >>> round(bend.evident, 2), [round(bend.depth_at(s), 2) for s in (2, 4, 8)]
    (0.94, [0.0, 0.05, 0.56])
    """
    values = [curve.value_at(point.executors) for point in points]
    if min(values) <= 0.0:
        return None
    x = log_executors(points)
    off = [math.log(point.throughput_rows_per_s / value) for point, value in zip(points, values, strict=True)]
    fit = regressed([x**0, x, x**2], off, points, noise)
    squared, variance = fit.coefficients[2] ** 2, fit.variance_of((0.0, 0.0, 1.0))
    return Bend(curve=curve, parabola=fit.coefficients, evident=squared / (squared + variance) if squared else 0.0, largest=points[-1].executors)
