"""Daedalus's detector: a reading is anomalous when workload minus throughput is a standard deviation from its running mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import sqrt

from penstock.core.models.anomaly.flow import FlowSeen
from penstock.core.models.estimate import NORMAL_REACH, Estimate, NotReady

SIGMAS = 1.0
"""Daedalus sec. 3.5. A third of healthy, normally distributed readings lie outside: alone it does not tell when a job has recovered."""
FEWEST = 2
"""A variance needs two values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """Mean and variance of values that come one by one (Welford).

    >>> Running().with_value(1.0).with_value(3.0)
    Running(count=2, mean=2.0, squares=2.0)
    """

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def with_value(self, value: float) -> Running:
        count = self.count + 1
        mean = self.mean + (value - self.mean) / count
        return Running(count=count, mean=mean, squares=self.squares + (value - self.mean) * (value - mean))

    @property
    def deviation(self) -> float | None:
        """The standard deviation; None before there are two values."""
        return sqrt(self.squares / (self.count - 1)) if self.count >= FEWEST else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningDifference:
    """Workload minus throughput as it usually is, and what deviates from it (Daedalus sec. 3.5)."""

    differences: Running = field(default_factory=Running)
    sigmas: float = SIGMAS

    def learn(self, seen: Sequence[FlowSeen]) -> RunningDifference:
        """Every reading counts, those of a disturbance too: the paper does not leave them out."""
        differences = self.differences
        for reading in seen:
            if reading.difference_rows_per_s is not None:
                differences = differences.with_value(reading.difference_rows_per_s)
        return replace(self, differences=differences)

    def predict(self) -> Estimate | NotReady:
        """The next difference in rows/s, as if differences were normal and independent."""
        deviation = self.differences.deviation
        if deviation is None:
            return NotReady(why=f"{self.differences.count} of at least {FEWEST} readings with workload and throughput")
        width = NORMAL_REACH * deviation * sqrt(1 + 1 / self.differences.count)
        return Estimate(value=self.differences.mean, low=self.differences.mean - width, high=self.differences.mean + width)

    def anomalous(self, seen: FlowSeen) -> bool | None:
        """Whether a reading lies outside; None where it or the model does not know.

        >>> flows = [FlowSeen(at_s=0.0, workload_rows_per_s=rate, throughput_rows_per_s=100.0) for rate in (99.0, 101.0, 130.0)]
        >>> RunningDifference().learn(flows[:2]).anomalous(flows[2])
        True
        """
        difference, deviation = seen.difference_rows_per_s, self.differences.deviation
        if difference is None or deviation is None:
            return None
        return abs(difference - self.differences.mean) > self.sigmas * deviation
