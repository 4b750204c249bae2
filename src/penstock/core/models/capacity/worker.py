"""Capacity of one worker: its throughput regressed on its utilisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from penstock.core.models.capacity.line import CapacityLine, square_around, summed
from penstock.core.models.capacity.readings import WorkerReading
from penstock.core.models.capacity.samples import Foretell, Sample, newest_of_each, sample_of, score_busiest
from penstock.core.models.capacity.utilization_law import IDLE_SPREAD, OVERLAP, utilization_line
from penstock.core.models.estimate import Estimate, NotReady
from penstock.core.models.moments import NOTHING, PairedMoments
from penstock.core.models.score import Score

MIN_READINGS = 3
"""Two points always lie on a line; from three on, their scatter tells how good the line is."""

MIN_SPREAD = 0.01
"""Readings whose utilisation scatters by less than one point tell nothing about a slope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerCapacity:
    """What one worker showed: moments of x = utilisation and y = throughput (Daedalus sec. 3.1).

    Bounds are those of the regression's mean, with Student's t. Neighbouring readings share most of their averaging window, so `overlap` of them count
    as one: that makes the bounds twice as wide as those of independent readings, on purpose. A few readings are kept as `samples`, for the score.

    >>> readings = [WorkerReading(worker="1", utilization=u, throughput_rows_per_s=1000.0 * u - 20.0) for u in (0.2, 0.3, 0.4)]
    >>> round(WorkerCapacity().learn(readings).predict(1.0).value, 6)
    980.0
    """

    moments: PairedMoments = NOTHING
    idle_spread: float = IDLE_SPREAD
    overlap: float = OVERLAP
    samples: tuple[Sample, ...] = ()

    def learn(self, seen: Sequence[WorkerReading]) -> Self:
        sane = [reading for reading in seen if reading.is_sane]
        batch = PairedMoments.of([reading.utilization for reading in sane], [reading.throughput_rows_per_s for reading in sane])
        samples = newest_of_each((*self.samples, *(sample_of([reading]) for reading in sane)))
        return replace(self, moments=self.moments.merged(batch), samples=samples)

    def predict(self, at_utilization: float = 1.0) -> Estimate | NotReady:
        """Rows/s at this utilisation, as the paper has it."""
        line = regression_line(self.moments, idle_spread=self.idle_spread, overlap=self.overlap)
        return line.at(at_utilization) if line else _not_ready(self.moments)

    def predict_by_utilization_law(self, at_utilization: float = 1.0) -> Estimate | NotReady:
        """Rows/s at this utilisation, better than the paper where utilisation is the noisier of the two: see `utilization_line`."""
        line = worker_law_line(self.moments, idle_spread=self.idle_spread, overlap=self.overlap)
        return line.at(at_utilization) if line else _not_ready(self.moments)

    def score(self) -> Score | NotReady:
        """How wrong the utilisation law is about the busiest third of the readings kept, learnt from the rest; beside it the regression of the paper."""
        return score_busiest([self.samples], self._foretellers)

    def _foretellers(self, samples: Sequence[Sample]) -> tuple[Foretell, Foretell] | None:
        moments = PairedMoments.of([each.mean_utilization for each in samples], [each.total_rows_per_s for each in samples])
        law = worker_law_line(moments, idle_spread=self.idle_spread, overlap=self.overlap)
        paper = regression_line(moments, idle_spread=self.idle_spread, overlap=self.overlap)
        if law is None or paper is None:
            return None
        return lambda sample: law.value_at(sample.mean_utilization), lambda sample: paper.value_at(sample.mean_utilization)


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


def worker_law_line(moments: PairedMoments, *, idle_spread: float = IDLE_SPREAD, overlap: float = OVERLAP) -> CapacityLine | None:
    """The utilisation law for one worker by itself: its own throughput is the load; None before there is enough."""
    if round(moments.count) < MIN_READINGS:
        return None
    return utilization_line(moments.swapped, moments.mean_x, mean_utilization_variance(moments, overlap=overlap), idle_spread=idle_spread, overlap=overlap)


def mean_utilization_variance(moments: PairedMoments, *, overlap: float = OVERLAP) -> float:
    """How well a worker's mean utilisation at its mean throughput is known, from the scatter of utilisation (x) around throughput (y)."""
    return overlap * moments.swapped.unexplained_y() / moments.count


def _not_ready(moments: PairedMoments) -> NotReady:
    if round(moments.count) < MIN_READINGS:
        return NotReady(why=f"{moments.count:.0f} readings of utilisation and throughput, at least {MIN_READINGS} are needed")
    return NotReady(why="the worker was idle in all readings")
