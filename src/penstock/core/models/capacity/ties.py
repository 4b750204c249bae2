"""Scale-outs that give the same capacity: the smallest of them is enough."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.core.models.capacity.curve import Point

TIE_NOISE = 0.03
"""Relative standard deviation of a measured capacity, where repetitions do not tell it."""


def measured_ties(points: Sequence[Point], *, noise: float = TIE_NOISE) -> tuple[tuple[int, ...], ...]:
    """Neighbours whose capacity is no more than noise away from that of the smallest scale-out of the group; every scale-out is in one group.

    Two measurements of the same capacity differ by noise * sqrt(1/n + 1/m), one standard deviation, if they are means of n and m.

    >>> rates = {2: 1000.0, 3: 1010.0, 4: 2000.0, 5: 2500.0}
    >>> measured_ties([Point(scaleout=s, throughput_rows_per_s=rate, measurements=1.0) for s, rate in rates.items()])
    ((2, 3), (4,), (5,))
    """
    groups: list[list[Point]] = []
    for point in sorted(points, key=lambda each: each.scaleout):
        if groups and abs(point.throughput_rows_per_s / groups[-1][0].throughput_rows_per_s - 1.0) <= noise * _both(groups[-1][0], point):
            groups[-1].append(point)
        else:
            groups.append([point])
    return tuple(tuple(point.scaleout for point in group) for group in groups)


def _both(one: Point, other: Point) -> float:
    return float((1.0 / one.measurements + 1.0 / other.measurements) ** 0.5)
