"""Latency from a queue that stands still at every checkpoint: rising as the rate nears the capacity, falling with the interval."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from penstock.core.models.surrogate.points import Floats, Points

Measure = Literal["mean", "tail"]

NOISE = 0.1
"""A relative error that is ordinary; larger ones count linearly."""

HEADROOMS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Capacity over the largest load seen, less one, to choose from."""

HEADROOM_PRIOR = 2.0
"""Spread of the logarithm of the headroom, around a headroom of one."""

PAUSE_PRIOR: dict[Measure, float] = {"mean": 0.1, "tail": math.inf}
"""Unless the data say otherwise, pauses add about this share to the mean where they add most, or less: an interval shorter than those seen multiplies it."""

ROUNDS = 5
FULL = 0.98
"""Beyond this utilisation the queue is not steady and its latency a matter of time: the form answers as if it were this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pauses:
    """l = base + queue * u/(1-u) + pause term, u = TR/mu.

    A fluid queue that stands still for P every CI seconds delays its rows by P^2 / (2*CI*(1-u)) on average (`mean`: k / (CI*(1-u)));
    of the slowest share x of rows the fastest waits P - x*CI*(1-u) (`tail`: k * (knee - CI*(1-u)), nothing beyond the knee).

    >>> job = Pauses(measure="mean", base_s=0.5, queue_s=0.1, pause=2.0, capacity_rows_per_s=1000)
    >>> rows = Points(interval_s=np.array([10.0, 100.0]), rate=np.array([500.0, 500.0]))
    >>> job.at(rows).tolist()
    [1.0, 0.64]
    """

    measure: Measure
    base_s: float
    queue_s: float
    pause: float
    capacity_rows_per_s: float
    knee_s: float = 0.0

    def at(self, points: Points) -> Floats:
        columns = _columns(points, self.measure, self.capacity_rows_per_s, self.knee_s)
        return np.asarray(columns @ np.array([self.base_s, self.queue_s, self.pause]), dtype=float).clip(1e-9)

    @property
    def parameters(self) -> Mapping[str, float]:
        names = ("base_s", "queue_s", "pause", "capacity_rows_per_s", *(("knee_s",) if self.measure == "tail" else ()))
        return {name: getattr(self, name) for name in names}


def fit_pauses(points: Points, latency_s: Floats, measure: Measure) -> Pauses:
    """Base, queue and pause, none negative, by robust least squares of the relative error, for the likeliest of a few headrooms."""
    knee_s = 2.0 * float(points.interval_s.max())
    hardest = max(float(_load(points).max()), 1e-9)
    best, least = None, math.inf
    for headroom in HEADROOMS:
        capacity = (1.0 + headroom) * hardest
        values, cost = _fit_at(_columns(points, measure, capacity, knee_s), latency_s, PAUSE_PRIOR[measure])
        cost += (math.log(headroom) / HEADROOM_PRIOR) ** 2
        if cost < least:
            base, queue, pause = (float(value) for value in values)
            best, least = Pauses(measure=measure, base_s=base, queue_s=queue, pause=pause, capacity_rows_per_s=capacity, knee_s=knee_s), cost
    assert best is not None
    return best


def _fit_at(columns: Floats, latency_s: Floats, pause_prior: float) -> tuple[Floats, float]:
    from scipy.optimize import nnls

    doubt = NOISE / pause_prior * (columns[:, 2] / latency_s).max() * np.array([[0.0, 0.0, 1.0]])
    scaled, target = np.vstack([columns / latency_s[:, None], doubt]), np.append(np.ones(len(latency_s)), 0.0)
    weights, values, size = np.ones(len(target)), np.zeros(3), np.zeros(len(target))
    for _ in range(ROUNDS):
        values = nnls(scaled * weights[:, None], target * weights)[0]
        size = np.abs(scaled @ values - target)
        weights = np.sqrt(NOISE / np.maximum(size, NOISE))
    cost = np.where(size <= NOISE, size**2, NOISE * (2 * size - NOISE)).sum() / NOISE**2
    return values, float(cost)


def _load(points: Points) -> Floats:
    return points.rate if points.scaleout is None else points.rate / points.scaleout


def _columns(points: Points, measure: Measure, capacity: float, knee_s: float) -> Floats:
    spare = np.maximum(1.0 - _load(points) / capacity, 1.0 - FULL)
    slowed = 1.0 / (points.interval_s * spare) if measure == "mean" else np.maximum(knee_s - points.interval_s * spare, 0.0)
    return np.column_stack([np.ones(len(points)), (1.0 - spare) / spare, slowed])
