"""Workload minus throughput while a job keeps up."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Self

from penstock.core.models.estimate import NORMAL_REACH, Estimate, NotReady
from penstock.core.models.moments import PairedMoments


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowSeen:
    """One reading for the detectors; None is unknown. `lag_rows` is the whole lag or its excess over a healthy one, consistently."""

    at_s: float
    workload_rows_per_s: float | None
    throughput_rows_per_s: float | None
    lag_rows: float | None = None

    @property
    def difference_rows_per_s(self) -> float | None:
        """Workload minus throughput: above 0 while the job falls behind."""
        if self.workload_rows_per_s is None or self.throughput_rows_per_s is None:
            return None
        return self.workload_rows_per_s - self.throughput_rows_per_s


HALF_LIFE_S = 3600.0
"""Readings this old count half."""
SLOPE_WINDOW_S = 60.0
"""Window over which the slope of the workload is taken, the usual one of rate metrics."""
MOST_RECENT = 120
"""Most readings kept for the slope."""
USUAL_DELAY_S = 30.0
"""Prior standard deviation of the delay between two metrics that are averaged over different windows."""
FEWEST = 10
"""Healthy readings needed for a prediction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepingUp:
    """difference = mean + delay * slope of the workload: two metrics that are averaged over different windows differ whenever the load moves.

    Learn only readings of a job that keeps up, and `watch` the others: the slope of the workload is needed after a disturbance.
    `slope` is that of the workload over its `recent` readings, in rows/s per second.
    `moments` are those of slopes (x) and differences (y), older ones weighing less.
    """

    half_life_s: float = HALF_LIFE_S
    readings: int = 0
    moments: PairedMoments = field(default_factory=PairedMoments)
    learnt_s: float | None = None
    recent: tuple[tuple[float, float], ...] = ()
    slope: float = 0.0

    def learn(self, seen: Sequence[FlowSeen]) -> Self:
        model = self
        for reading in seen:
            model = model.watch(reading)
            difference = reading.difference_rows_per_s
            if difference is not None:
                model = model._with_difference(reading.at_s, model.slope, difference)
        return model

    def watch(self, seen: FlowSeen) -> Self:
        """Update the slope of the workload without learning from the reading."""
        if seen.workload_rows_per_s is None:
            return self
        if self.recent and self.recent[-1] == (seen.at_s, seen.workload_rows_per_s):
            return self
        kept = tuple(each for each in self.recent if seen.at_s - SLOPE_WINDOW_S <= each[0] < seen.at_s)
        recent = (*kept, (seen.at_s, seen.workload_rows_per_s))[-MOST_RECENT:]
        return replace(self, recent=recent, slope=slope_of(recent))

    def predict(self) -> Estimate | NotReady:
        """Predict the difference of a healthy job at the present slope, in rows/s."""
        if self.readings < FEWEST:
            return NotReady(why=f"{self.readings} of at least {FEWEST} readings of the job keeping up")
        value = self.moments.mean_y + self.delay_s * (self.slope - self.moments.mean_x)
        width = NORMAL_REACH * self.deviation
        return Estimate(value=value, low=value - width, high=value + width)

    def beyond(self, seen: FlowSeen) -> float | None:
        """Return a reading's difference minus the expected one, above 0 when throughput is short; None where it is unknown.

        >>> flows = [FlowSeen(at_s=float(t), workload_rows_per_s=100.0, throughput_rows_per_s=98.0) for t in range(20)]
        >>> KeepingUp().learn(flows).beyond(FlowSeen(at_s=20.0, workload_rows_per_s=100.0, throughput_rows_per_s=40.0))
        58.0
        """
        difference, expected = seen.difference_rows_per_s, self.watch(seen).predict()
        if difference is None:
            return None
        return difference if isinstance(expected, NotReady) else difference - expected.value

    @property
    def delay_s(self) -> float:
        """Seconds by which the throughput is measured later than the workload, negative if earlier; shrunk to 0."""
        return self.moments.c_xy / self._evidence if self._evidence > 0 else 0.0

    @property
    def deviation(self) -> float:
        """Standard deviation of the next healthy difference around the expected one; wide at slopes not seen in health."""
        weight = self.moments.count
        if weight <= 0:
            return 0.0
        left = self.moments.m2_y - 2 * self.delay_s * self.moments.c_xy + self.delay_s**2 * self.moments.m2_x
        variance = max(0.0, left) / max(weight - 1, weight / 2)
        off_centre = (self.slope - self.moments.mean_x) ** 2 / self._evidence if self._evidence > 0 else 0.0
        return sqrt(variance * (1 + 1 / weight + off_centre))

    @property
    def _evidence(self) -> float:
        """The sum of squared slopes, plus the prior weight of a delay of 0 within `USUAL_DELAY_S`."""
        return self.moments.m2_x + self.moments.m2_y / max(self.moments.count, 1.0) / USUAL_DELAY_S**2

    def _with_difference(self, at_s: float, slope: float, difference: float) -> Self:
        keep = 1.0 if self.learnt_s is None else 0.5 ** (max(0.0, at_s - self.learnt_s) / self.half_life_s)
        one = PairedMoments(count=1.0, mean_x=slope, mean_y=difference)
        return replace(self, readings=self.readings + 1, moments=self.moments.decayed(keep).merged(one), learnt_s=at_s)


def slope_of(points: Sequence[tuple[float, float]]) -> float:
    """Return the least-squares slope of (time, value); 0 for a single point.

    >>> slope_of([(0.0, 5.0), (1.0, 7.0), (2.0, 9.0)])
    2.0
    """
    if len(points) < 2:
        return 0.0
    middle = sum(at_s for at_s, _ in points) / len(points)
    return sum((at_s - middle) * value for at_s, value in points) / sum((at_s - middle) ** 2 for at_s, _ in points)
