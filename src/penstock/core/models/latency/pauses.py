"""Latency from a queue that stands still at every checkpoint: rising as the rate nears the capacity, falling with the interval."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.surrogate.parts import Axis, Prior, fit_parts
from penstock.core.models.surrogate.points import Points

Measure = Literal["mean", "tail"]

HEADROOM = Axis(lowest=math.log(0.03), highest=math.log(10.0), values=6, width=2.0)
"""The logarithm of capacity over the largest load seen, less one: about one before anything is known."""

PRIORS: dict[Measure, tuple[Prior, ...]] = {"mean": (Prior(), Prior(), Prior(share=0.1)), "tail": (Prior(), Prior(), Prior())}
"""Unless the data say otherwise, pauses add about a tenth to the mean where they add most, or less: an interval shorter than those seen multiplies it."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class PausesForm:
    """Base, queue and pause, none negative, and the headroom of the capacity."""

    name: str
    measure: Measure

    def fit(self, points: Points, seen: Floats) -> Pauses:
        knee_s, hardest = 2.0 * float(points.interval_s.max()), max(float(points.load.max()), 1e-9)
        shape, amounts = fit_parts(
            lambda shapes: _columns(points, self.measure, hardest * (1.0 + np.exp(shapes)), knee_s), seen, PRIORS[self.measure], (HEADROOM,)
        )
        base, queue, pause = (float(amount) for amount in amounts)
        capacity = hardest * (1.0 + math.exp(shape[0]))
        return Pauses(measure=self.measure, base_s=base, queue_s=queue, pause=pause, capacity_rows_per_s=capacity, knee_s=knee_s)


def _columns(points: Points, measure: Measure, capacity: float | Floats, knee_s: float) -> Floats:
    spare = np.maximum(1.0 - points.load / capacity, 1.0 - FULL)
    slowed = 1.0 / (points.interval_s * spare) if measure == "mean" else np.maximum(knee_s - points.interval_s * spare, 0.0)
    return np.stack([np.ones_like(spare), (1.0 - spare) / spare, slowed], axis=-1)
