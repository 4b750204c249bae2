"""The answer of a model: a number with its bounds, or that it is not ready."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from penstock.core.models.arrays import Floats, Ints

COVERAGE = 0.8
"""The truth lies between `low` and `high` in four of five cases."""
LOW_LEVEL, HIGH_LEVEL = round((1 - COVERAGE) / 2, 9), round((1 + COVERAGE) / 2, 9)
"""The quantiles that `low` and `high` are."""
NORMAL_REACH = NormalDist().inv_cdf(HIGH_LEVEL)
"""Standard deviations from a value to either bound, where errors are normal and their spread is known."""
SIGMA_PER_MAD = 1.4826
"""From a median deviation to a standard deviation, for normal noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A prediction; `value` may be infinite (a job that never recovers), never NaN.

    >>> Estimate(value=3.0, low=2.5, high=4.0)
    Estimate(value=3.0, low=2.5, high=4.0)
    """

    value: float
    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.value <= self.high:
            raise ValueError(f"an estimate of {self.value} outside of its own bounds, {self.low} to {self.high}")

    @staticmethod
    def exactly(value: float) -> Estimate:
        """Return an estimate without uncertainty.

        >>> Estimate.exactly(3.0)
        Estimate(value=3.0, low=3.0, high=3.0)
        """
        return Estimate(value=value, low=value, high=value)

    def at_least(self, least: float) -> Estimate:
        """Raise the value and the bounds to what is known to be reached.

        >>> Estimate(value=3.0, low=2.0, high=4.0).at_least(3.5)
        Estimate(value=3.5, low=3.5, high=4.0)
        """
        return Estimate(value=max(self.value, least), low=max(self.low, least), high=max(self.high, least))

    def times(self, factor: float) -> Estimate:
        """Multiply the value and the bounds.

        >>> Estimate(value=3.0, low=2.0, high=4.0).times(0.5)
        Estimate(value=1.5, low=1.0, high=2.0)
        """
        return Estimate(value=factor * self.value, low=factor * self.low, high=factor * self.high)

    def at_most(self, other: Estimate) -> Estimate:
        """Return the smaller of two quantities, of each bound too.

        >>> Estimate(value=3.0, low=2.0, high=9.0).at_most(Estimate(value=4.0, low=1.0, high=5.0))
        Estimate(value=3.0, low=1.0, high=5.0)
        """
        return Estimate(value=min(self.value, other.value), low=min(self.low, other.low), high=min(self.high, other.high))


@dataclass(frozen=True, slots=True, kw_only=True)
class NotReady:
    """No prediction yet; `why` says what is missing, in words for people.

    >>> NotReady(why="no readings yet").why
    'no readings yet'
    """

    why: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Estimates:
    """Many estimates, one array element each: a thousand cost little more than one.

    >>> Estimates(value=np.array([3.0, 5.0]), low=np.array([2.5, 5.0]), high=np.array([4.0, 5.0])).each()[0]
    Estimate(value=3.0, low=2.5, high=4.0)
    """

    value: Floats
    low: Floats
    high: Floats

    def each(self) -> list[Estimate]:
        columns = zip(self.value.tolist(), self.low.tolist(), self.high.tolist(), strict=True)
        return [Estimate(value=value, low=low, high=high) for value, low, high in columns]

    def at(self, places: Ints) -> Estimates:
        """Return the estimates at these places, each as often as it is named."""
        return Estimates(value=self.value[places], low=self.low[places], high=self.high[places])


LARGEST_EXPONENT = 700.0
"""Beyond this a ratio is larger than any float."""


def student_estimate(value: float, variance: float, freedom: float) -> Estimate:
    """Return a rate that cannot be negative with its bounds by Student's t.

    >>> estimate = student_estimate(100.0, 25.0, 1e9)
    >>> round(estimate.low, 2), round(estimate.high, 2)
    (93.59, 106.41)
    """
    return student_estimates(np.array([value]), np.array([variance]), np.array([freedom])).each()[0]


def student_estimates(value: Floats, variance: Floats, freedom: Floats) -> Estimates:
    """Return `student_estimate` of each of many rates."""
    half = np.array([_reach(each) for each in freedom.tolist()]) * np.sqrt(variance)
    value = np.maximum(0.0, value)
    return Estimates(value=value, low=np.maximum(0.0, value - half), high=value + half)


def student_estimate_by_ratio(value: float, relative_spread: float, freedom: float) -> Estimate:
    """Return a value with bounds by Student's t in ratios: twice the value is as far away as half of it.

    >>> estimate = student_estimate_by_ratio(100.0, 0.1, 1e9)
    >>> round(estimate.low * estimate.high, 6)
    10000.0
    """
    half = _reach(freedom) * relative_spread
    if half >= LARGEST_EXPONENT:
        return Estimate(value=value, low=0.0, high=math.inf)
    return Estimate(value=value, low=value * math.exp(-half), high=value * math.exp(half))


@lru_cache(maxsize=256)
def _reach(freedom: float) -> float:
    """Standard deviations from the value to each bound, for at least one degree of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(max(1.0, freedom), HIGH_LEVEL))


def combined(value: float, *causes: tuple[float, float]) -> Estimate:
    """Return a value above 0 with the bounds of independent causes: on each side, the root of the sum of squares of their distances.

    >>> combined(100.0, (70.0, 103.0), (60.0, 104.0))
    Estimate(value=100.0, low=50.0, high=105.0)
    """
    if value == math.inf:
        return Estimate(value=value, low=min(low for low, _ in causes), high=math.inf)
    below = math.hypot(*(max(0.0, value - low) for low, _ in causes))
    above = math.hypot(*(max(0.0, high - value) for _, high in causes))
    return Estimate(value=value, low=max(0.0, value - below), high=value + above)
