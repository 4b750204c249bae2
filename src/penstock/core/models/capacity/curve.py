"""Forms of capacity over the scale-out: a line, a power law, or proportion where one point is all there is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from penstock.core.models.capacity.moments import PairedMoments
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
        """Standard deviation of one more measurement there, as a share of the value; it grows away from what was measured."""
        x = scaleout if self.form == "line" else math.log(scaleout)
        leverage = 1.0 + 1.0 / self.moments.count + (x - self.moments.mean_x) ** 2 / self.moments.m2_x
        spread = math.sqrt(self.moments.unexplained_y() * leverage)
        return spread if self.form == "power" else spread / self.value_at(scaleout) if self.value_at(scaleout) > 0.0 else math.inf

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
    mean = sum(point.measurements for point in points) / len(points)
    weights = [point.measurements / mean for point in points]
    scale = math.log if form == "power" else float
    return Curve(
        form=form,
        moments=PairedMoments.of([scale(point.scaleout) for point in points], [scale(point.throughput_rows_per_s) for point in points], weights),
    )


def chosen(points: Sequence[Point]) -> Curve:
    """The line or the power law, whichever errs less when a scale-out is left out (Phoebe sec. III-D).

    Below three scale-outs leaving one out leaves no curve: two give the power law through them, one gives proportion.
    """
    if len(points) == 1:
        return fitted("proportional", points)
    if len(points) == 2:
        return fitted("power", points)
    errors: dict[Form, float] = {form: left_out_error(form, points) for form in ("line", "power")}
    return fitted(min(errors, key=lambda form: errors[form]), points)


def left_out_error(form: Form, points: Sequence[Point]) -> float:
    """Mean absolute percentage error at each scale-out of a fit to the others."""
    others = [[other for other in points if other is not point] for point in points]
    return mape([fitted(form, rest).value_at(point.scaleout) for point, rest in zip(points, others, strict=True)], rates(points))


def rates(points: Sequence[Point]) -> list[float]:
    return [point.throughput_rows_per_s for point in points]
