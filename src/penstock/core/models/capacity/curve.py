"""Forms of capacity over the scale-out: a line, a power law, or proportion where one point is all there is."""

from __future__ import annotations

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
    """Mean capacity over the measurements at one scale-out, and how many there were."""

    scaleout: int
    throughput_rows_per_s: float
    measurements: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A form with its fit: moments of x = scale-out and y = capacity, both in logarithms for a power law."""

    form: Form
    moments: PairedMoments

    def value_at(self, scaleout: float) -> float:
        x, y = self.moments.mean_x, self.moments.mean_y
        if self.form == "proportional":
            return y / x * scaleout
        if self.form == "line":
            return max(0.0, y + self.slope * (scaleout - x))
        return math.exp(y + self.slope * (math.log(scaleout) - x))

    def relative_spread_at(self, scaleout: float) -> float:
        """Standard deviation of one more measurement there, as a share of the value, which is above zero; it grows away from what was measured."""
        x = scaleout if self.form == "line" else math.log(scaleout)
        leverage = 1.0 + 1.0 / self.moments.count + (x - self.moments.mean_x) ** 2 / self.moments.m2_x
        spread = math.sqrt(self.moments.unexplained_y() * leverage)
        return spread if self.form == "power" else spread / self.value_at(scaleout)

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
    """Least squares by form; a scale-out counts by its measurements, all together as many as there are scale-outs.

    >>> curve = fitted("power", [Point(scaleout=s, throughput_rows_per_s=10.0 * s**0.5, measurements=1.0) for s in (1, 4, 16)])
    >>> {name: round(value, 6) for name, value in curve.parameters.items()}
    {'factor': 10.0, 'exponent': 0.5}
    """
    return Curve(form=form, moments=PairedMoments.of(*_columns(form, points)))


def chosen(points: Sequence[Point], *, of_two: Form = "power") -> Curve:
    """The line or the power law, whichever errs less when a scale-out is left out (Phoebe sec. III-D).

    Below three scale-outs leaving one out leaves no curve: two give the power law through them, or the form `of_two`, one gives proportion.
    """
    if len(points) == 1:
        return fitted("proportional", points)
    if len(points) == 2:
        return fitted(of_two, points)
    errors: dict[Form, float] = {form: left_out_error(form, points) for form in ("line", "power")}
    return fitted(min(errors, key=lambda form: errors[form]), points)


def left_out_error(form: Form, points: Sequence[Point]) -> float:
    """Mean absolute percentage error at each scale-out of a fit to the others, for at least three of them.

    Least squares needs no second fit for it: without its point the residual e becomes e / (1 - h), where h is the leverage of the point.
    """
    x, y, weights = _columns(form, points)
    curve = Curve(form=form, moments=PairedMoments.of(x, y, weights))
    leverage = weights * (1.0 / curve.moments.count + (x - curve.moments.mean_x) ** 2 / curve.moments.m2_x)
    without = y - (y - curve.moments.mean_y - curve.slope * (x - curve.moments.mean_x)) / (1.0 - leverage)
    return mape((np.exp(without) if form == "power" else np.maximum(without, 0.0)).tolist(), rates(points))


def _columns(form: Form, points: Sequence[Point]) -> tuple[Floats, Floats, Floats]:
    """Scale-outs and capacities, in logarithms for a power law, and the weights of the points, 1 on average."""
    x, y = np.array([float(point.scaleout) for point in points]), np.array(rates(points))
    weights = np.array([point.measurements for point in points])
    return (np.log(x), np.log(y), weights / weights.mean()) if form == "power" else (x, y, weights / weights.mean())


def rates(points: Sequence[Point]) -> list[float]:
    return [point.throughput_rows_per_s for point in points]
