"""Capacity as a line over utilisation: the paper's regression of each executor, and the utilisation law of all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.core.models.arrays import Flags, Floats
from penstock.core.models.moments import MomentColumns, Number, PairedMoments

AVERAGING_S = 60.0
"""Utilisation is an average over this long (Daedalus sec. 3.1): readings closer together than that share most of their information."""
IDLE_SPREAD = 0.05
"""Standard deviation around 0 of the utilisation of an executor without load, before anything was seen."""
MIN_READINGS = 3
"""Two points always lie on a line; from three on, their scatter shows how good the line is."""
MIN_SPREAD = 0.01
"""A smaller standard deviation of utilisation says nothing about a slope."""
MIN_LOAD_SPREAD = 0.01
"""A smaller standard deviation of the load, as a share of its mean, says nothing about an executor without load."""
SHARED = 0.5
"""Share of an executor's error that all executors have in common: they process the same rows, and rows do not always cost the same."""


class _Line:
    """The formula of one line and of many."""

    __slots__ = ()
    intercept: Any
    slope: Any

    def value_at(self, utilization: Any) -> Any:
        return np.maximum(0.0, self.intercept + self.slope * utilization)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityLine(_Line):
    """Rows/s = intercept + slope * u at utilisation u, with variance v0 + v1 * u + v2 * u^2 of its mean and `freedom` degrees of freedom.

    >>> line = CapacityLine(intercept=10.0, slope=100.0, variance=(1.0, 0.0, 4.0), freedom=5.0)
    >>> float(line.value_at(0.5)), line.variance_at(np.array([0.0, 0.5])).tolist()
    (60.0, [1.0, 2.0])
    """

    intercept: float
    slope: float
    variance: tuple[float, float, float]
    freedom: float

    def variance_at(self, utilization: Number) -> Number:
        v0, v1, v2 = self.variance
        variance: Number = np.maximum(0.0, v0 + utilization * (v1 + utilization * v2))
        return variance


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LineColumns(_Line):
    """The lines of several executors, one array element an executor."""

    intercept: Floats
    slope: Floats
    variance: tuple[Floats, Floats, Floats]
    freedom: Floats

    def along(self, proportion: Floats) -> LineColumns:
        """Return the lines over the utilisation of the busiest executor, where each executor is always at its `proportion` of it."""
        v0, v1, v2 = self.variance
        return LineColumns(
            intercept=self.intercept, slope=self.slope * proportion, variance=(v0, v1 * proportion, v2 * proportion * proportion), freedom=self.freedom
        )

    def together(self, *, shared: float = SHARED) -> CapacityLine:
        """Return the sum of at least one line; its variance is between that of independent errors (`shared` = 0) and of equal ones (1)."""
        factor = 1.0 + shared * (len(self.slope) - 1)
        v0, v1, v2 = (sum(column.tolist()) * factor for column in self.variance)
        return CapacityLine(intercept=sum(self.intercept.tolist()), slope=sum(self.slope.tolist()), variance=(v0, v1, v2), freedom=float(self.freedom.min()))


def have_lines(moments: MomentColumns) -> Flags:
    """Return which executors have enough readings for a regression, and were not idle in all of them."""
    return np.asarray((np.round(moments.count) >= MIN_READINGS) & (moments.mean_x > 0.0))


def regression_lines(moments: MomentColumns, *, idle_spread: float = IDLE_SPREAD, overlap: float) -> LineColumns:
    """Return the least-squares line of throughput (y) on utilisation (x) of each executor, y = mean(y) + cov(x,y)/var(x) * (u - mean(x)).

    Daedalus sec. 3.1. `overlap` readings count as one independent one. Where utilisation did not vary, the line is the ratio mean(y)/mean(x). If an executor
    without load is at utilisation a, the ratio is off by mean(y) * a * (u - mean(x)) / mean(x)^2 at u; a is taken as 0 +- `idle_spread`.

    >>> varied, steady = np.array([0.2, 0.4, 0.6]), np.array([0.75] * 3)
    >>> moments = MomentColumns.of(np.array([varied, steady]).T, np.array([500.0 * varied, 400.0 * steady]).T, np.ones(3))
    >>> regression_lines(moments, overlap=4.0).slope.round(9).tolist()
    [500.0, 400.0]
    """
    count, mean_x, mean_y, m2_x = moments.count, moments.mean_x, moments.mean_y, moments.m2_x
    with np.errstate(divide="ignore", invalid="ignore"):
        scatter = overlap * (np.maximum(0.0, moments.m2_y - np.where(m2_x > 0.0, moments.c_xy * moments.c_xy / m2_x, 0.0)) / (count - 2.0))
        by_ratio, least_squares = np.sqrt(m2_x / count) < MIN_SPREAD, moments.c_xy / m2_x
        tilt = np.where(by_ratio, (mean_y * idle_spread / mean_x**2) ** 2, scatter / m2_x)
    slope = np.where(by_ratio, mean_y / mean_x, least_squares)
    return LineColumns(
        intercept=np.where(by_ratio, 0.0, mean_y - slope * mean_x),
        slope=slope,
        variance=(
            np.where(by_ratio, 0.0, scatter / count) + tilt * mean_x * mean_x,
            -2.0 * tilt * mean_x,
            np.where(by_ratio, scatter / count / mean_x**2, 0.0) + tilt,
        ),
        freedom=count / overlap - 2.0,
    )


def idle_utilization(load: PairedMoments, *, idle_spread: float = IDLE_SPREAD, overlap: float) -> tuple[float, float]:
    """Return the utilisation at no load, and its variance, from moments of x = load z and y = mean utilisation u.

    Least squares of u on z gives a = mean(u) - k * mean(z), unless the load is noisy too; that of z on u gives another a. The truth lies between the two,
    so the variance holds their distance as well as the scatter. The prior that a is near zero (`idle_spread`) is weighed against it by variance: readings
    over a range of loads decide alone, readings at one load leave the ratio u/z.

    >>> idle, variance = idle_utilization(PairedMoments.of([100.0, 200.0, 300.0], [0.15, 0.25, 0.35]), overlap=4.0)
    >>> round(idle, 9), round(variance, 9)
    (0.05, 0.0)
    >>> idle_utilization(PairedMoments.of([100.0, 100.0, 100.0], [0.2, 0.2, 0.2]), idle_spread=0.5, overlap=4.0)
    (0.0, 0.25)
    """
    prior = idle_spread * idle_spread
    if not shows_idle(load):
        return 0.0, prior
    idle, other = load.mean_y - load.c_xy / load.m2_x * load.mean_x, load.mean_y - load.m2_y / load.c_xy * load.mean_x
    scatter = overlap * load.unexplained_y() * load.leverage(0.0)
    variance = scatter + (idle - other) ** 2
    weight = prior / (prior + variance)
    return idle * weight, variance * weight


def shows_idle(load: PairedMoments) -> bool:
    """Return whether the loads differ enough to estimate the utilisation without load."""
    return load.count > 2.0 and load.c_xy > 0.0 and load.spread_x >= MIN_LOAD_SPREAD * load.mean_x


def utilization_law_line(load: PairedMoments, busiest: PairedMoments, idle: float, idle_variance: float, *, overlap: float) -> CapacityLine:
    """Return total throughput over the utilisation of the busiest executor, z(u) = mean(z) * (u - a) / (b - a).

    The utilisation law (service demand x throughput) with an idle share: every executor's utilisation is a + k_w * z, where the load z is the cause. Not in
    the paper. Noise of utilisation, which is most of the noise, flattens the paper's regression of throughput on utilisation (errors in x) and not this
    one. `load` has moments of x = z and y = mean utilisation of all executors, `busiest` of x = utilisation (b is its mean) and y = throughput of the busiest
    executor, which is at `idle` (a) without load. The variance has three parts: of a, of b, and of the load at the same utilisation, as rows do not always
    cost the same.

    >>> load, busiest = PairedMoments.of([100.0, 200.0, 300.0], [0.15, 0.25, 0.35]), PairedMoments.of([0.25, 0.45, 0.65], [50.0, 100.0, 150.0])
    >>> round(float(utilization_law_line(load, busiest, 0.05, 0.0, overlap=1.0).value_at(1.0)), 6)
    475.0
    """
    b = busiest.mean_x
    slope = load.mean_x / (b - idle)
    unit = (slope / (b - idle)) ** 2
    b_variance = overlap * busiest.swapped.unexplained_y() / busiest.count
    load_scatter = overlap * load.swapped.unexplained_y() / load.count
    parts = _square(b, unit * idle_variance), _square(idle, unit * b_variance), _square(idle, load_scatter / (b - idle) ** 2)
    v0, v1, v2 = map(sum, zip(*parts, strict=True))
    return CapacityLine(intercept=-slope * idle, slope=slope, variance=(v0, v1, v2), freedom=load.count / overlap - 2.0)


def _square(center: float, factor: float) -> tuple[float, float, float]:
    """Return the coefficients of 1, u and u^2 in factor * (u - center)^2."""
    return factor * center * center, -2.0 * factor * center, factor
