"""Regressions that are linear in their coefficients: the paper's plane, and robust ones of the logarithm."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.surrogate.points import Points

NOISE = 0.1
"""The ordinary log error: rows beyond it count less."""

SLOPE_PRIOR = 0.5
"""Prior standard deviation of the coefficient of a standardised feature."""

ROUNDS = 8
FLOOR = 0.05
"""Predictions are at least this share of the least value seen: a plane may cross zero, a time may not."""

Scale = Literal["log", "plain"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Axes:
    """Interval, rate and (where it varies) number of executors of a point, plain or as logarithms, standardised by the rows of a fit."""

    scale: Scale
    with_executors: bool
    least_rate: float
    centre: Floats
    spread: Floats

    @classmethod
    def of(cls, points: Points, scale: Scale) -> Self:
        least_rate = max(1e-3 * float(points.rate.max()), 1e-9)
        raw = _raw(points, scale, points.executors_vary, least_rate)
        spread = raw.std(axis=0)
        moves = spread > 1e-9 * np.abs(raw).max(axis=0)
        return cls(scale=scale, with_executors=points.executors_vary, least_rate=least_rate, centre=raw.mean(axis=0), spread=np.where(moves, spread, np.inf))

    def design(self, points: Points, interaction: bool) -> Floats:
        """Return a column of ones, the standardised axes (zero for a constant one), and the product of interval and rate."""
        standard = (_raw(points, self.scale, self.with_executors, self.least_rate) - self.centre) / self.spread
        product = standard[:, :1] * standard[:, 1:2]
        return np.column_stack([np.ones(len(points)), standard, *([product] if interaction else [])])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinearFit:
    """Coefficients over the standardised axes."""

    axes: Axes
    interaction: bool
    of_log: bool
    coefficients: Floats
    floor: float

    def at(self, points: Points) -> Floats:
        value = self.axes.design(points, self.interaction) @ self.coefficients
        return np.maximum(np.exp(np.minimum(value, 700.0)) if self.of_log else value, self.floor)

    @property
    def parameters(self) -> Mapping[str, float]:
        """Coefficients of the features before standardisation."""
        centre, spread = self.axes.centre, self.axes.spread
        product = self.coefficients[-1] / (spread[0] * spread[1]) if self.interaction else 0.0
        slopes = self.coefficients[1 : 1 + len(centre)] / spread
        constant = self.coefficients[0] - slopes @ centre + product * centre[0] * centre[1]
        slopes[0] -= product * centre[1]
        slopes[1] -= product * centre[0]
        named = dict(zip(("interval", "rate", "scaleout"), slopes, strict=False))
        return {name: float(value) for name, value in ({"constant": constant} | named | ({"interval_rate": product} if self.interaction else {})).items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    """The paper's multiple regression: least squares of the value itself on interval and rate (Khaos sec. III-D).

    >>> rows = Points(interval_s=np.array([10.0, 20.0, 10.0, 20.0]), rate=np.array([1.0, 1.0, 2.0, 2.0]))
    >>> {name: round(value, 9) for name, value in Plane().fit(rows, 5 + rows.interval_s + 3 * rows.rate).parameters.items()}
    {'constant': 5.0, 'interval': 1.0, 'rate': 3.0}
    """

    name: str = "plane"

    def fit(self, points: Points, seen: Floats) -> LinearFit:
        axes = Axes.of(points, "plain")
        coefficients = np.asarray(np.linalg.lstsq(axes.design(points, False), seen, rcond=None)[0], dtype=float)
        return LinearFit(axes=axes, interaction=False, of_log=False, coefficients=coefficients, floor=FLOOR * float(seen.min()))


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLinear:
    """The logarithm regressed on interval, rate and their product, each plain or as a logarithm; Huber's loss, slopes shrunk slightly to zero.

    >>> rows = Points(interval_s=np.tile([10.0, 20.0, 40.0], 4), rate=np.repeat([1.0, 2.0, 4.0, 8.0], 3))
    >>> fit = LogLinear(name="power law", scale="log", interaction=False).fit(rows, 3 * rows.interval_s**0.5 * rows.rate)
    >>> [round(fit.parameters[name], 1) for name in ("interval", "rate")]
    [0.5, 1.0]
    """

    name: str
    scale: Scale
    interaction: bool = True

    def fit(self, points: Points, seen: Floats) -> LinearFit:
        axes = Axes.of(points, self.scale)
        coefficients = huber(axes.design(points, self.interaction), np.log(seen))
        return LinearFit(axes=axes, interaction=self.interaction, of_log=True, coefficients=coefficients, floor=FLOOR * float(seen.min()))


def huber(design: Floats, target: Floats) -> Floats:
    """Return least-squares coefficients where errors beyond the ordinary count linearly; all but the first are shrunk by a prior.

    >>> ones = np.ones((5, 1))
    >>> round(float(huber(ones, np.array([0.0, 0.0, 0.0, 0.0, 100.0]))[0]), 3)
    0.025
    """
    penalty = np.eye(design.shape[1]) * (NOISE / SLOPE_PRIOR) ** 2
    penalty[0, 0] = 0.0
    errors = target - np.median(target)
    coefficients: Floats = np.zeros(design.shape[1])
    for _ in range(ROUNDS):
        weights = NOISE / np.maximum(np.abs(errors), NOISE)
        weighted = design * weights[:, None]
        coefficients = np.asarray(np.linalg.solve(weighted.T @ design + penalty, weighted.T @ target), dtype=float)
        errors = target - design @ coefficients
    return coefficients


def _raw(points: Points, scale: Scale, with_executors: bool, least_rate: float) -> Floats:
    columns = [points.interval_s, np.maximum(points.rate, least_rate) if scale == "log" else points.rate]
    if with_executors:
        columns.append(np.ones(len(points)) if points.executors is None else points.executors)
    return np.log(np.column_stack(columns)) if scale == "log" else np.column_stack(columns)
