"""Forms of latency over interval and rate that a regression chooses from: a queue with pauses, and micro-batches."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from penstock.core.models.arrays import Flags, Floats
from penstock.core.models.surrogate.correction import Corrected
from penstock.core.models.surrogate.linear import LogLinear, Plane
from penstock.core.models.surrogate.parts import Axis, Prior, fit_parts
from penstock.core.models.surrogate.points import Form, Points

Measure = Literal["mean", "tail"]

HEADROOM = Axis(lowest=math.log(0.03), highest=math.log(10.0), values=6, width=2.0)
"""The logarithm of (capacity / largest load seen - 1)."""
PRIORS: dict[Measure, tuple[Prior, ...]] = {"mean": (Prior(), Prior(), Prior(share=0.1)), "tail": (Prior(), Prior(), Prior())}
"""A priori, pauses add at most about a tenth to the mean: an interval shorter than those seen multiplies their effect."""
FULL = 0.98
"""Highest utilisation that a form evaluates: beyond it latency has no steady value."""
FEWEST = 4
"""Rows to fit micro-batches to: three parts, and one to show their error."""
SURE = 1.5
"""A batch that just fills its interval has a mean latency of this many intervals, so any with less fitted its interval."""
ROUNDS = 3
"""Most alternations between fitting the model and asking it which batches fitted their interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pauses:
    """l = base + queue * u/(1-u) + pause term, u = TR/mu: a queue that stands still at every checkpoint.

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
        columns = _pause_columns(points, self.measure, self.capacity_rows_per_s, self.knee_s)
        return np.asarray(columns @ np.array([self.base_s, self.queue_s, self.pause]), dtype=float).clip(1e-9)

    @property
    def parameters(self) -> Mapping[str, float]:
        names = ("base_s", "queue_s", "pause", "capacity_rows_per_s", *(("knee_s",) if self.measure == "tail" else ()))
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True, kw_only=True)
class PausesForm:
    """Fits base, queue and pause, none negative, and the headroom of the capacity."""

    name: str
    measure: Measure

    def fit(self, points: Points, seen: Floats) -> Pauses:
        knee_s, hardest = 2.0 * float(points.interval_s.max()), max(float(points.load.max()), 1e-9)
        shape, amounts = fit_parts(
            lambda shapes: _pause_columns(points, self.measure, hardest * (1.0 + np.exp(shapes)), knee_s), seen, PRIORS[self.measure], (HEADROOM,)
        )
        base, queue, pause = (float(amount) for amount in amounts)
        capacity = hardest * (1.0 + math.exp(shape[0]))
        return Pauses(measure=self.measure, base_s=base, queue_s=queue, pause=pause, capacity_rows_per_s=capacity, knee_s=knee_s)


def _pause_columns(points: Points, measure: Measure, capacity: float | Floats, knee_s: float) -> Floats:
    spare = np.maximum(1.0 - points.load / capacity, 1.0 - FULL)
    slowed = 1.0 / (points.interval_s * spare) if measure == "mean" else np.maximum(knee_s - points.interval_s * spare, 0.0)
    return np.stack([np.ones_like(spare), (1.0 - spare) / spare, slowed], axis=-1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerLatency:
    """L = w*max(i,T) + T: a share w of the cycle, and the time T = a + b*n of a batch of n = W*max(i,T) rows (PAPER-NOTES "Micro-batch capacity").

    While a batch fits the interval i that is w*i + a + b*W*i; one that does not settles at T = a/(1 - b*W) as long as there is capacity, b*W < 1.
    W is the rate per executor where their number is known.

    >>> job = TriggerLatency(wait_share=0.5, overhead_s=1.0, row_s=0.001)
    >>> job.at(Points(interval_s=np.array([4.0, 2.0]), rate=np.array([500.0, 750.0]))).tolist()
    [5.0, 6.0]
    """

    wait_share: float
    overhead_s: float
    row_s: float

    def at(self, points: Points) -> Floats:
        spare = np.maximum(1.0 - self.row_s * points.load, 1.0 - FULL)
        batch_s = np.where(self.in_time(points), self._batch_s(points), np.maximum(points.interval_s, self.overhead_s / spare))
        return np.asarray(self.wait_share * np.maximum(points.interval_s, batch_s) + batch_s, dtype=float).clip(1e-9)

    def in_time(self, points: Points) -> Flags:
        """Return whether a batch fits its interval, at each point."""
        return np.asarray(self._batch_s(points) <= points.interval_s)

    def _batch_s(self, points: Points) -> Floats:
        """Return T of a batch with the rows of one interval."""
        return np.asarray(self.overhead_s + self.row_s * points.load * points.interval_s)

    @property
    def parameters(self) -> Mapping[str, float]:
        return {"wait_share": self.wait_share, "overhead_s": self.overhead_s, "row_s": self.row_s}


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerWait:
    """Fits wait, overhead and cost of a row, none negative, to the batches that fit their interval, or to all where these are too few.

    The wait is half an interval on average, 0.95 of it at p95.

    >>> rows = Points(interval_s=np.array([1.0, 2.0, 4.0, 8.0]), rate=np.array([100.0, 300.0, 200.0, 400.0]))
    >>> seen = 0.5 * rows.interval_s + 0.3 + 0.001 * rows.rate * rows.interval_s
    >>> {name: round(value, 6) for name, value in TriggerWait().fit(rows, seen).parameters.items()}
    {'wait_share': 0.5, 'overhead_s': 0.3, 'row_s': 0.001}
    """

    name: str = "micro-batches"

    def fit(self, points: Points, seen: Floats) -> TriggerLatency:
        rows = np.asarray(seen <= SURE * points.interval_s)
        for _ in range(ROUNDS):
            known = rows if rows.sum() >= FEWEST else np.ones(len(points), dtype=bool)
            fitted = _all_in_time(points.where(known), seen[known])
            rows = fitted.in_time(points)
            if np.array_equal(rows, known):
                break
        return fitted


def _all_in_time(points: Points, seen: Floats) -> TriggerLatency:
    """Fit as if all batches fitted their interval: a sum of parts."""
    columns = np.column_stack([points.interval_s, np.ones(len(points)), points.load * points.interval_s])
    wait_share, overhead_s, row_s = (float(amount) for amount in fit_parts(lambda _: columns[None], seen, (Prior(),) * 3)[1])
    return TriggerLatency(wait_share=wait_share, overhead_s=overhead_s, row_s=row_s)


MEAN_PAUSES = PausesForm(name="pauses, mean", measure="mean")
TAIL_PAUSES = PausesForm(name="pauses, tail", measure="tail")
EXPONENTIAL = LogLinear(name="exponential", scale="plain", interaction=False)
MICRO_BATCHES = TriggerWait()

FORMS: tuple[Form, ...] = (
    Plane(),
    EXPONENTIAL,
    LogLinear(name="log interaction", scale="log"),
    LogLinear(name="exponential interaction", scale="plain"),
    MEAN_PAUSES,
    TAIL_PAUSES,
    MICRO_BATCHES,
    Corrected(base=MICRO_BATCHES),
    Corrected(base=EXPONENTIAL),
    Corrected(base=MEAN_PAUSES),
    Corrected(base=TAIL_PAUSES),
)
"""The plane of the paper first, then improvements on it."""
