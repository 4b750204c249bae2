"""Scale-outs that give the same capacity: the smallest of them is enough."""

from __future__ import annotations

import math
from collections.abc import Sequence

from penstock.core.models.capacity.curve import Point

TIE_NOISE = 0.03
"""Relative standard deviation of a measured capacity, where repetitions do not tell it."""

TIE_SIGMAS = 2.5
"""Capacities more than this many standard deviations apart are not one: six equal ones, compared one after the other, stay together in nine cases of ten."""


def measured_ties(points: Sequence[Point], *, noise: float = TIE_NOISE) -> tuple[tuple[int, ...], ...]:
    """Neighbours whose capacity is no more than noise away from the mean of the group so far; every scale-out is in one group.

    Two means of the same capacity, of n and of m measurements, differ by noise * sqrt(1/n + 1/m), one standard deviation.

    >>> rates = {2: 1000.0, 3: 1010.0, 4: 2000.0, 5: 2500.0}
    >>> measured_ties([Point(scaleout=s, throughput_rows_per_s=rate, measurements=1.0) for s, rate in rates.items()])
    ((2, 3), (4,), (5,))
    """
    groups: list[list[int]] = []
    count = total = 0.0
    for point in sorted(points, key=lambda each: each.scaleout):
        if not groups or not _alike(total / count, count, point, noise):
            groups.append([])
            count = total = 0.0
        groups[-1].append(point.scaleout)
        count += point.measurements
        total += point.measurements * point.throughput_rows_per_s
    return tuple(map(tuple, groups))


def _alike(mean: float, count: float, point: Point, noise: float) -> bool:
    return abs(point.throughput_rows_per_s / mean - 1.0) <= TIE_SIGMAS * noise * math.sqrt(1.0 / count + 1.0 / point.measurements)
