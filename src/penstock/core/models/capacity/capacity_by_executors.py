"""Capacity over the number of executors, from those that were measured."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from penstock.core.models.capacity.beliefs import EXTRAPOLATION_SPREAD
from penstock.core.models.capacity.capacity_curve import (
    TIE_NOISE,
    Curve,
    Form,
    Plateau,
    Point,
    bend_of,
    chosen,
    fitted,
    left_out_error,
    measured_ties,
    plateau_of,
    rates,
)
from penstock.core.models.estimate import Estimate, NotReady, student_estimate_by_ratio
from penstock.core.models.moments import PairedMoments
from penstock.core.models.score import Score, mape

NEARBY_SPREAD = 0.05
"""Relative standard deviation of a capacity next to one that was measured, where fewer than three numbers of executors were."""

DOUBLING_SPREAD = 0.15
"""What every doubling or halving of the number of executors beyond those measured adds to it."""


MOST_PARTS = 50
"""Up to this many numbers of executors are left out one by one; more are divided into this many parts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityMeasured:
    """The capacity found with some number of executors, by one experiment."""

    executors: int
    throughput_rows_per_s: float

    def __post_init__(self) -> None:
        if self.executors < 1 or not 0.0 < self.throughput_rows_per_s < math.inf:
            raise ValueError(f"a capacity of {self.throughput_rows_per_s} rows/s with {self.executors} executors")


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityMoments:
    """All measurements with one number of executors; `m2` is the sum of squared deviations from their mean."""

    executors: int
    count: int
    mean: float
    m2: float

    def with_more(self, throughputs_rows_per_s: Sequence[float]) -> CapacityMoments:
        """Return the moments with more measurements, exact in any batching."""
        new = PairedMoments.of(throughputs_rows_per_s, throughputs_rows_per_s)
        both = PairedMoments(count=float(self.count), mean_x=self.mean, m2_x=self.m2).merged(new)
        return CapacityMoments(executors=self.executors, count=round(both.count), mean=both.mean_x, m2=both.m2_x)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityByExecutors:
    """Phoebe's T_max over executors (sec. III-D): a line or a power law, by leave-one-out, up to a plateau if one was measured.

    >>> measured = [CapacityMeasured(executors=s, throughput_rows_per_s=1000.0 * s + 500.0) for s in (2, 4, 8)]
    >>> model = CapacityByExecutors().learn(measured)
    >>> model.form, round(model.predict(6).value, 6)
    ('line', 6500.0)
    """

    seen: tuple[CapacityMoments, ...] = ()

    def learn(self, seen: Sequence[CapacityMeasured]) -> Self:
        known = {each.executors: each for each in self.seen}
        rates_of: dict[int, list[float]] = defaultdict(list)
        for measured in seen:
            rates_of[measured.executors].append(measured.throughput_rows_per_s)
        for executors, new in rates_of.items():
            known[executors] = known.get(executors, CapacityMoments(executors=executors, count=0, mean=0.0, m2=0.0)).with_more(new)
        return replace(self, seen=tuple(known[executors] for executors in sorted(known)))

    @property
    def form(self) -> Form | None:
        curve = self._curve()
        return curve.form if curve else None

    @property
    def parameters(self) -> dict[str, float]:
        curve = self._curve()
        return curve.parameters if curve else {}

    @property
    def plateau(self) -> Plateau | None:
        """Where capacity ceases to grow, if the largest numbers of executors are tied and show it; form and parameters are those of the others."""
        return plateau_of(self._points(), self._noise())

    def predict(self, executors: int) -> Estimate | NotReady:
        """Return T_max with a number of executors; on a plateau its level, below it at most that.

        The bounds include the scatter around the curve, half the distance to the other form, weighted by its fit, and more for every doubling beyond what
        was measured. The lower one also includes the bend of capacity below the curve. Where a line falls below zero, the power law answers.
        """
        points, noise = self._points(), self._noise()
        if not points:
            return NotReady(why="no capacity was measured yet")
        plateau = plateau_of(points, noise)
        if plateau is None:
            return _by_curve(points, executors, noise)
        spread = math.hypot(plateau.relative_spread_at(executors), EXTRAPOLATION_SPREAD * _doublings_beyond(points, executors))
        level = student_estimate_by_ratio(plateau.rows_per_s, spread, plateau.freedom)
        if executors >= plateau.first:
            return level
        rising = _by_curve(plateau.rising(points), executors, noise)
        return Estimate(value=min(rising.value, level.value), low=min(rising.low, level.low), high=min(rising.high, level.high))

    def score(self) -> Score | NotReady:
        """Return errors with numbers of executors left out one by one, with form and plateau found without them; the paper's plain regression is the line.

        Two points that are left of three do not determine a form: they are fitted by the form of all three.
        """
        points, form = self._points(), self.form or "power"
        if len(points) < 3:
            return NotReady(why=f"{len(points)} numbers of executors were measured, at least 3 are needed to leave one out")
        noise, parts = self._noise(), [points[start::MOST_PARTS] for start in range(min(len(points), MOST_PARTS))]
        answered: list[tuple[Point, float, float]] = []
        for start, part in enumerate(parts):
            rest = [point for number, point in enumerate(points) if number % MOST_PARTS != start]
            values, mean = _values(rest, [point.executors for point in part], noise, form), sum(rates(rest)) / len(rest)
            answered += [(point, value, mean) for point, value in zip(part, values, strict=True)]
        actual = rates([point for point, _, _ in answered])
        return Score(
            mape=mape([value for _, value, _ in answered], actual),
            constant_mape=mape([mean for _, _, mean in answered], actual),
            paper_mape=left_out_error("line", points),
            held_out=len(points),
        )

    def ties(self) -> tuple[tuple[int, ...], ...]:
        """Return groups of neighbouring numbers of executors whose capacities do not differ by more than noise; take the smallest of each."""
        return measured_ties(self._points(), noise=self._noise())

    def _points(self) -> list[Point]:
        return [Point(executors=each.executors, throughput_rows_per_s=each.mean, measurements=float(each.count)) for each in self.seen]

    def _curve(self) -> Curve | None:
        points, plateau = self._points(), self.plateau
        return chosen(plateau.rising(points) if plateau else points) if points else None

    def _noise(self) -> float:
        """Relative standard deviation of one measurement, from repetitions where there are enough of them."""
        freedom = sum(each.count - 1 for each in self.seen)
        return math.sqrt(sum(each.m2 / each.mean**2 for each in self.seen) / freedom) if freedom >= 3 else TIE_NOISE


def _by_curve(points: Sequence[Point], executors: int, noise: float) -> Estimate:
    """Return the prediction of the line or the power law through these points."""
    curve = _above_zero(chosen(points), points, executors)
    value = curve.value_at(executors)
    if len(points) < 3:
        return student_estimate_by_ratio(value, _distant_spread(points, executors), 4.0)
    beyond = EXTRAPOLATION_SPREAD * _doublings_beyond(points, executors)
    spread = math.hypot(curve.relative_spread_at(executors), 0.5 * _other_form(curve, points, executors), beyond)
    straight, bend = student_estimate_by_ratio(value, spread, len(points) - 2.0), bend_of(curve, points, noise)
    return replace(straight, low=straight.low * math.exp(-bend.depth_at(executors))) if bend else straight


def _values(points: Sequence[Point], executor_counts: Sequence[int], noise: float, of_two: Form) -> list[float]:
    """Predictions without bounds."""
    plateau = plateau_of(points, noise)
    rising = plateau.rising(points) if plateau else points
    curve = chosen(rising, of_two=of_two)
    values = [_above_zero(curve, rising, executors).value_at(executors) for executors in executor_counts]
    return [plateau.capped(value, executors) for value, executors in zip(values, executor_counts, strict=True)] if plateau else values


def _above_zero(curve: Curve, points: Sequence[Point], executors: int) -> Curve:
    """Return the curve, or the power law through its points where the curve is not above zero."""
    return curve if curve.value_at(executors) > 0.0 else fitted("power", points)


def _other_form(curve: Curve, points: Sequence[Point], executors: int) -> float:
    """Return the relative distance to the form not chosen, reduced by the ratio of their leave-one-out errors."""
    other = fitted("line" if curve.form == "power" else "power", points)
    errors = left_out_error(curve.form, points), left_out_error(other.form, points)
    return (other.value_at(executors) / curve.value_at(executors) - 1.0) * (min(1.0, errors[0] / errors[1]) if errors[1] > 0.0 else 1.0)


def _doublings_beyond(points: Sequence[Point], executors: int) -> float:
    """Doublings or halvings from the measured range to this number of executors; 0 within it."""
    return max(0.0, math.log2(executors / points[-1].executors), math.log2(points[0].executors / executors))


def _distant_spread(points: Sequence[Point], executors: int) -> float:
    doublings = min(abs(math.log2(executors / point.executors)) for point in points)
    return math.hypot(NEARBY_SPREAD, DOUBLING_SPREAD * doublings)
