"""What a model answers: a number with its bounds, or that it is not ready."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

COVERAGE = 0.8
"""The truth lies between `low` and `high` in four of five cases."""
LOW_LEVEL, HIGH_LEVEL = round((1 - COVERAGE) / 2, 9), round((1 + COVERAGE) / 2, 9)
"""The quantiles that `low` and `high` are."""
NORMAL_REACH = NormalDist().inv_cdf(HIGH_LEVEL)
"""Standard deviations from a value to either bound, where errors are normal and their spread is known."""


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
        """One without a doubt.

        >>> Estimate.exactly(3.0)
        Estimate(value=3.0, low=3.0, high=3.0)
        """
        return Estimate(value=value, low=value, high=value)

    def times(self, share: float) -> Estimate:
        """So large a share of it, bounds and all.

        >>> Estimate(value=3.0, low=2.0, high=4.0).times(0.5)
        Estimate(value=1.5, low=1.0, high=2.0)
        """
        return Estimate(value=share * self.value, low=share * self.low, high=share * self.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class NotReady:
    """No prediction yet; `why` says what is missing, in words for people.

    >>> NotReady(why="no readings yet").why
    'no readings yet'
    """

    why: str
