"""Capacity over scale-outs, from scale-outs that were measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from penstock.core.models.capacity.curve import Curve, Form, Point, chosen, fitted, left_out_error, rates
from penstock.core.models.capacity.ties import measured_ties
from penstock.core.models.estimate import COVERAGE, Estimate, NotReady
from penstock.core.models.score import Score, mape

NEARBY_SPREAD = 0.05
"""Relative standard deviation of a capacity next to one that was measured, where fewer than three scale-outs were."""

DOUBLING_SPREAD = 0.15
"""What every doubling or halving of the scale-out away from those measured adds to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleoutMeasured:
    """The capacity found at one scale-out, by one experiment."""

    scaleout: int
    throughput_rows_per_s: float

    def __post_init__(self) -> None:
        if self.scaleout < 1 or not 0.0 < self.throughput_rows_per_s < math.inf:
            raise ValueError(f"a capacity of {self.throughput_rows_per_s} rows/s at a scale-out of {self.scaleout}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleoutSeen:
    """All measurements at one scale-out; `m2` is the sum of squared deviations from their mean."""

    scaleout: int
    count: int
    mean: float
    m2: float

    def with_one_more(self, throughput_rows_per_s: float) -> ScaleoutSeen:
        """Welford's update."""
        off = throughput_rows_per_s - self.mean
        mean = self.mean + off / (self.count + 1)
        return ScaleoutSeen(scaleout=self.scaleout, count=self.count + 1, mean=mean, m2=self.m2 + off * (throughput_rows_per_s - mean))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleoutCapacity:
    """Phoebe's T_max over scale-outs (sec. III-D): a line or a power law, by leave-one-out.

    >>> measured = [ScaleoutMeasured(scaleout=s, throughput_rows_per_s=1000.0 * s + 500.0) for s in (2, 4, 8)]
    >>> model = ScaleoutCapacity().learn(measured)
    >>> model.form, round(model.predict(6).value, 6)
    ('line', 6500.0)
    """

    seen: tuple[ScaleoutSeen, ...] = ()

    def learn(self, seen: Sequence[ScaleoutMeasured]) -> Self:
        known = {each.scaleout: each for each in self.seen}
        for measured in seen:
            before = known.get(measured.scaleout, ScaleoutSeen(scaleout=measured.scaleout, count=0, mean=0.0, m2=0.0))
            known[measured.scaleout] = before.with_one_more(measured.throughput_rows_per_s)
        return replace(self, seen=tuple(known[scaleout] for scaleout in sorted(known)))

    @property
    def form(self) -> Form | None:
        curve = self._curve()
        return curve.form if curve else None

    @property
    def parameters(self) -> dict[str, float]:
        curve = self._curve()
        return curve.parameters if curve else {}

    def predict(self, scaleout: int) -> Estimate | NotReady:
        """T_max at a scale-out; the bounds hold the scatter around the curve, and half of what the form not chosen would have said instead."""
        curve = self._curve()
        if curve is None:
            return NotReady(why="no scale-out was measured yet")
        value, spread, freedom = curve.value_at(scaleout), self._distant_spread(scaleout), 4.0
        if len(self.seen) > 2:
            spread, freedom = curve.relative_spread_at(scaleout), len(self.seen) - 2.0
            other = fitted("line" if curve.form == "power" else "power", self._points()).value_at(scaleout)
            spread = math.hypot(spread, 0.5 * (other / value - 1.0)) if value > 0.0 else math.inf
        return around(value, spread, freedom)

    def score(self) -> Score | NotReady:
        """Errors at scale-outs left out, the form chosen without them too; the paper's plain regression is the line."""
        points = self._points()
        if len(points) < 3:
            return NotReady(why=f"{len(points)} scale-outs were measured, at least 3 are needed to leave one out")
        others = [[other for other in points if other is not point] for point in points]
        return Score(
            mape=mape([chosen(rest).value_at(point.scaleout) for point, rest in zip(points, others, strict=True)], rates(points)),
            constant_mape=mape([sum(rates(rest)) / len(rest) for rest in others], rates(points)),
            paper_mape=left_out_error("line", points),
            held_out=len(points),
        )

    def ties(self) -> tuple[tuple[int, ...], ...]:
        """Groups of neighbouring scale-outs whose capacities do not differ by more than noise; take the smallest of each."""
        noise = self._noise()
        return measured_ties(self._points()) if noise is None else measured_ties(self._points(), noise=noise)

    def _points(self) -> list[Point]:
        return [Point(scaleout=each.scaleout, throughput_rows_per_s=each.mean, measurements=float(each.count)) for each in self.seen]

    def _curve(self) -> Curve | None:
        return chosen(self._points()) if self.seen else None

    def _noise(self) -> float | None:
        """Relative standard deviation of one measurement, from repetitions; None without enough of them."""
        freedom = sum(each.count - 1 for each in self.seen)
        return math.sqrt(sum(each.m2 / each.mean**2 for each in self.seen) / freedom) if freedom >= 3 else None

    def _distant_spread(self, scaleout: int) -> float:
        doublings = min(abs(math.log2(scaleout / each.scaleout)) for each in self.seen)
        return math.hypot(NEARBY_SPREAD, DOUBLING_SPREAD * doublings)


def around(value: float, relative_spread: float, freedom: float) -> Estimate:
    """Bounds by Student's t in ratios: twice as much is as far away as half as much."""
    from scipy.special import stdtrit

    half = float(stdtrit(freedom, (1.0 + COVERAGE) / 2.0)) * relative_spread
    return Estimate(value=value, low=value * math.exp(-half), high=value * math.exp(half)) if half < 700.0 else Estimate(value=value, low=0.0, high=math.inf)
