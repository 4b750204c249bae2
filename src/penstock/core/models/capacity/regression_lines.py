"""The regressions of many workers at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.core.models.arrays import Flags, Floats
from penstock.core.models.capacity.line import SHARED, CapacityLine
from penstock.core.models.capacity.utilization_law import IDLE_SPREAD, OVERLAP
from penstock.core.models.capacity.worker import MIN_READINGS, MIN_SPREAD
from penstock.core.models.moments import MomentColumns


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
