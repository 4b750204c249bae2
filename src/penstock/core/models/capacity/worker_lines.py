"""Capacity as a line over utilisation, with the variance of its mean at every point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.core.models.arrays import Flags, Floats
from penstock.core.models.estimate import Estimate, student_estimate
from penstock.core.models.moments import MomentColumns, PairedMoments


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityLine:
    """Rows/s = intercept + slope * u at utilisation u; its variance there is v0 + v1 * u + v2 * u^2, judged with `freedom` degrees of freedom.

    >>> CapacityLine(intercept=10.0, slope=100.0, variance=(0.0, 0.0, 0.0), freedom=5.0).at(0.5)
    Estimate(value=60.0, low=60.0, high=60.0)
    """

    intercept: float
    slope: float
    variance: tuple[float, float, float]
    freedom: float

    def value_at(self, utilization: float) -> float:
        return max(0.0, self.intercept + self.slope * utilization)

    def variance_at(self, utilization: float) -> float:
        v0, v1, v2 = self.variance
        return max(0.0, v0 + utilization * (v1 + utilization * v2))

    def values_at(self, utilizations: Floats) -> Floats:
        """The same of each."""
        return np.maximum(0.0, self.intercept + self.slope * utilizations)

    def variances_at(self, utilizations: Floats) -> Floats:
        v0, v1, v2 = self.variance
        return np.maximum(0.0, v0 + utilizations * (v1 + utilizations * v2))

    def at(self, utilization: float) -> Estimate:
        return student_estimate(self.value_at(utilization), self.variance_at(utilization), self.freedom)

    def along(self, proportion: float) -> CapacityLine:
        """The same line over the utilisation of the busiest worker, when this one is always at `proportion` of it."""
        v0, v1, v2 = self.variance
        return CapacityLine(
            intercept=self.intercept, slope=self.slope * proportion, variance=(v0, v1 * proportion, v2 * proportion * proportion), freedom=self.freedom
        )


SHARED = 0.5
"""How much of the error of one worker is that of all: they see the same rows, and rows do not always cost the same."""


def together(lines: Sequence[CapacityLine], *, shared: float = SHARED) -> CapacityLine:
    """The sum of the lines of several workers; the variance is between that of independent errors (`shared` = 0) and of equal ones (1)."""
    factor = 1.0 + shared * (len(lines) - 1)
    v0, v1, v2 = summed(*(line.variance for line in lines))
    return CapacityLine(
        intercept=sum(line.intercept for line in lines),
        slope=sum(line.slope for line in lines),
        variance=(v0 * factor, v1 * factor, v2 * factor),
        freedom=min(line.freedom for line in lines),
    )


def square_around(center: float, factor: float) -> tuple[float, float, float]:
    """factor * (u - center)^2 as coefficients of 1, u and u^2.

    >>> square_around(0.5, 4.0)
    (1.0, -4.0, 4.0)
    """
    return factor * center * center, -2.0 * factor * center, factor


def summed(*variances: tuple[float, float, float]) -> tuple[float, float, float]:
    """The coefficients of a sum of variances."""
    v0, v1, v2 = map(sum, zip(*variances, strict=True))
    return v0, v1, v2


IDLE_SPREAD = 0.05
"""How far from zero the utilisation of a worker without any load may be, one standard deviation, before anything was seen."""

AVERAGING_S = 60.0
"""Utilisation is an average over this long (Daedalus sec. 3.1): readings closer together than that share most of what they tell."""

OVERLAP = 4.0
"""How many readings make one independent one, where nothing tells when they were taken: averages of a minute, read every 15 s."""

MIN_LOAD_SPREAD = 0.01
"""Loads that scatter by less than this share of their mean tell nothing about a worker without load."""


def idle_utilization(load: PairedMoments, *, idle_spread: float = IDLE_SPREAD, overlap: float = OVERLAP) -> tuple[float, float]:
    """Utilisation at no load, and its variance, from moments of x = load z and y = mean utilisation u.

    Least squares of u on z gives a = mean(u) - k * mean(z), unless the load is noisy too; that of z on u gives another a, and the truth lies between
    the two, so how far they are apart is doubt as well as the scatter is. The belief that a is near zero (`idle_spread`) is weighed against it by
    variance: readings over a range of loads decide alone, readings at one level leave the ratio u/z.

    >>> idle, variance = idle_utilization(PairedMoments.of([100.0, 200.0, 300.0], [0.15, 0.25, 0.35]))
    >>> round(idle, 9), round(variance, 9)
    (0.05, 0.0)
    >>> idle_utilization(PairedMoments.of([100.0, 100.0, 100.0], [0.2, 0.2, 0.2]), idle_spread=0.5)
    (0.0, 0.25)
    """
    prior = idle_spread * idle_spread
    if not tells_idle(load):
        return 0.0, prior
    idle, other = load.mean_y - load.c_xy / load.m2_x * load.mean_x, load.mean_y - load.m2_y / load.c_xy * load.mean_x
    scatter = overlap * load.unexplained_y() * (1.0 / load.count + load.mean_x * load.mean_x / load.m2_x)
    variance = scatter + (idle - other) ** 2
    weight = prior / (prior + variance)
    return idle * weight, variance * weight


def tells_idle(load: PairedMoments) -> bool:
    """Whether the loads that were seen differ enough to tell anything about a worker without load."""
    return load.count > 2.0 and load.c_xy > 0.0 and load.spread_x >= MIN_LOAD_SPREAD * load.mean_x


def utilization_line(
    load: PairedMoments, busiest: float, busiest_variance: float, *, idle_spread: float = IDLE_SPREAD, overlap: float = OVERLAP
) -> CapacityLine | None:
    """Total throughput over the utilisation of the busiest worker, z(u) = mean(z) * (u - a) / (b - a); None without load or utilisation.

    The utilisation law (service demand x throughput) with an idle share: every worker's utilisation is a + k_w * z, the load z decides and the
    utilisation answers. `load` has moments of x = z and y = mean utilisation of all workers, a is `idle_utilization`, b is the mean utilisation of the
    busiest worker (`busiest`, known with `busiest_variance`). Noise of utilisation, which is most of the noise, flattens the paper's regression of
    throughput on utilisation (errors in x) and leaves this one as it is. Three errors make the variance: that of a, that of b, and the scatter of the
    load at the same utilisation, as rows do not always cost the same.

    >>> line = utilization_line(PairedMoments.of([100.0, 200.0, 300.0], [0.15, 0.25, 0.35]), 0.45, 0.0)
    >>> round(line.value_at(1.0), 6)
    475.0
    """
    idle, idle_variance = idle_utilization(load, idle_spread=idle_spread, overlap=overlap)
    if load.mean_x <= 0.0 or busiest <= idle:
        return None
    return line_above_idle(load, busiest, busiest_variance, idle, idle_variance, overlap=overlap)


def line_above_idle(
    load: PairedMoments, busiest: float, busiest_variance: float, idle: float, idle_variance: float, *, overlap: float = OVERLAP
) -> CapacityLine:
    """The same where the utilisation of the busiest worker without load is known, with a variance of its own."""
    slope = load.mean_x / (busiest - idle)
    unit = (slope / (busiest - idle)) ** 2
    load_scatter = overlap * load.swapped.unexplained_y() / load.count
    return CapacityLine(
        intercept=-slope * idle,
        slope=slope,
        variance=summed(
            square_around(busiest, unit * idle_variance),
            square_around(idle, unit * busiest_variance),
            square_around(idle, load_scatter / (busiest - idle) ** 2),
        ),
        freedom=load.count / overlap - 2.0,
    )


MIN_READINGS = 3
"""Two points always lie on a line; from three on, their scatter tells how good the line is."""

MIN_SPREAD = 0.01
"""Readings whose utilisation scatters by less than one point tell nothing about a slope."""


def regression_line(moments: PairedMoments, *, idle_spread: float = IDLE_SPREAD, overlap: float = OVERLAP) -> CapacityLine | None:
    """Ordinary least squares of throughput (y) on utilisation (x), y = mean(y) + cov(x,y)/var(x) * (u - mean(x)); None before there is enough.

    Daedalus sec. 3.1. Where utilisation did not vary, the ratio mean(y)/mean(x), with the bounds of `ratio_line`.
    """
    if round(moments.count) < MIN_READINGS or moments.mean_x <= 0.0:
        return None
    if moments.spread_x < MIN_SPREAD:
        return ratio_line(moments, idle_spread=idle_spread, overlap=overlap)
    slope = moments.c_xy / moments.m2_x
    scatter = overlap * moments.unexplained_y()
    return CapacityLine(
        intercept=moments.mean_y - slope * moments.mean_x,
        slope=slope,
        variance=summed((scatter / moments.count, 0.0, 0.0), square_around(moments.mean_x, scatter / moments.m2_x)),
        freedom=moments.count / overlap - 2.0,
    )


def ratio_line(moments: PairedMoments, *, idle_spread: float = IDLE_SPREAD, overlap: float = OVERLAP) -> CapacityLine:
    """Throughput over utilisation, which is good near the utilisation that was seen and worse the further one asks from it.

    If a worker without load is at utilisation a, the ratio is off by mean(y) * a * (u - mean(x)) / mean(x)^2 at u; a is taken as 0 +- `idle_spread`.

    >>> line = ratio_line(PairedMoments.of([0.75, 0.75, 0.75], [300.0, 300.0, 300.0]))
    >>> line.value_at(1.0), line.variance_at(0.75) < 1e-9 < line.variance_at(1.0)
    (400.0, True)
    """
    scatter = overlap * moments.unexplained_y() / moments.count
    tilt = (moments.mean_y * idle_spread / moments.mean_x**2) ** 2
    return CapacityLine(
        intercept=0.0,
        slope=moments.mean_y / moments.mean_x,
        variance=summed((0.0, 0.0, scatter / moments.mean_x**2), square_around(moments.mean_x, tilt)),
        freedom=moments.count / overlap - 2.0,
    )


def mean_utilization_variance(moments: PairedMoments, *, overlap: float = OVERLAP) -> float:
    """How well a worker's mean utilisation at its mean throughput is known, from the scatter of utilisation (x) around throughput (y)."""
    return overlap * moments.swapped.unexplained_y() / moments.count


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LineColumns:
    """Column by column what `CapacityLine` is."""

    intercept: Floats
    slope: Floats
    variance: tuple[Floats, Floats, Floats]
    freedom: Floats

    def along(self, proportion: Floats) -> LineColumns:
        """What `CapacityLine.along` says, each at its own proportion."""
        v0, v1, v2 = self.variance
        return LineColumns(
            intercept=self.intercept, slope=self.slope * proportion, variance=(v0, v1 * proportion, v2 * proportion * proportion), freedom=self.freedom
        )

    def together(self, *, shared: float = SHARED) -> CapacityLine:
        """What `together` says of all of them; there must be one."""
        factor = 1.0 + shared * (len(self.slope) - 1)
        v0, v1, v2 = (sum(column.tolist()) * factor for column in self.variance)
        return CapacityLine(intercept=sum(self.intercept.tolist()), slope=sum(self.slope.tolist()), variance=(v0, v1, v2), freedom=float(self.freedom.min()))


def have_lines(moments: MomentColumns) -> Flags:
    """Of which there is a `regression_line`."""
    return np.asarray((np.round(moments.count) >= MIN_READINGS) & (moments.mean_x > 0.0))


def regression_lines(moments: MomentColumns, *, idle_spread: float = IDLE_SPREAD, overlap: float = OVERLAP) -> LineColumns:
    """What `regression_line` says of each that has one: least squares, or the ratio where utilisation did not vary.

    >>> from penstock.core.models.moments import PairedMoments
    >>> varied, steady = PairedMoments.of([0.2, 0.4, 0.6], [100.0, 200.0, 300.0]), PairedMoments.of([0.75] * 3, [300.0] * 3)
    >>> regression_lines(MomentColumns.of([varied, steady])).slope.round(9).tolist()
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
