"""Capacity measured with some number of executors, now or earlier, and what it implies for others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from penstock.core.models.arrays import Floats, Ints
from penstock.core.models.capacity.executor_lines import CapacityLine
from penstock.core.models.estimate import Estimates, student_estimates
from penstock.core.models.moments import Number

MODEL_SPREAD = 0.03
"""Relative standard deviation of capacity around any line: the cost of rows drifts over a quarter of an hour, which scatter does not show."""
EXTRAPOLATION_SPREAD = 0.03
"""Relative standard deviation added at twice the highest utilisation seen: no line is straight for ever."""
UNSEEN_SPREAD = 0.1
"""Relative standard deviation of the average per executor with twice or half the executors, where the data is split in another way."""
REVISIT_SPREAD = 0.05
"""Relative standard deviation between two stays with equally many executors, for the same reason."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Beliefs:
    """Rates with the variances of their errors and the degrees of freedom behind them, one array element a rate."""

    value: Floats
    variance: Floats
    freedom: Floats

    def doubted(self, relative_spread: float | Floats) -> Beliefs:
        """Return the beliefs with one more independent relative error."""
        return replace(self, variance=self.variance + (relative_spread * self.value) ** 2)

    def at(self, places: Sequence[int]) -> Beliefs:
        chosen = list(places)
        return Beliefs(value=self.value[chosen], variance=self.variance[chosen], freedom=self.freedom[chosen])

    def replaced(self, places: Sequence[int], others: Beliefs) -> Beliefs:
        """Return these beliefs with others at some places."""
        columns = np.array([self.value, self.variance, self.freedom])
        columns[:, list(places)] = others.value, others.variance, others.freedom
        value, variance, freedom = columns
        return Beliefs(value=value, variance=variance, freedom=freedom)

    def estimates(self) -> Estimates:
        return student_estimates(self.value, self.variance, self.freedom)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """The line of capacity over utilisation with one number of executors, from `readings` readings, the newest of them at `at_s`."""

    executors: int
    at_s: float
    readings: float
    line: CapacityLine
    highest_utilization: float
    carried_rows_per_s: float = 0.0
    """Mean throughput."""

    def doubt(self, at_utilization: Number) -> Number:
        """Return the relative standard deviation that any line has beyond its scatter."""
        spread: Number = np.hypot(MODEL_SPREAD, EXTRAPOLATION_SPREAD * np.maximum(0.0, at_utilization / self.highest_utilization - 1.0))
        return spread

    def joined(self, newer: Remembered, half_life_s: float) -> Remembered:
        """Return this stay and a newer one with as many executors as one, each weighted by its readings, the old ones decayed."""
        old = self.readings * math.exp2(-max(0.0, newer.at_s - self.at_s) / half_life_s)
        share = newer.readings / (old + newer.readings)

        def mixed(before: float, after: float) -> float:
            return before + (after - before) * share

        (b0, b1, b2), (a0, a1, a2) = self.line.variance, newer.line.variance
        line = CapacityLine(
            intercept=mixed(self.line.intercept, newer.line.intercept),
            slope=mixed(self.line.slope, newer.line.slope),
            variance=(mixed(b0, a0), mixed(b1, a1), mixed(b2, a2)),
            freedom=mixed(self.line.freedom, newer.line.freedom),
        )
        return Remembered(
            executors=self.executors,
            at_s=newer.at_s,
            readings=old + newer.readings,
            line=line,
            highest_utilization=max(self.highest_utilization, newer.highest_utilization),
            carried_rows_per_s=mixed(self.carried_rows_per_s, newer.carried_rows_per_s),
        )


def measured(known: Sequence[Remembered], at_utilization: Floats) -> Beliefs:
    """Return each capacity when its busiest executor is at its utilisation; the variance is that of the scatter of its readings."""
    asked = list(zip([each.line for each in known], at_utilization.tolist(), strict=True))
    return Beliefs(
        value=np.array([line.value_at(at) for line, at in asked]),
        variance=np.array([line.variance_at(at) for line, at in asked]),
        freedom=np.array([line.freedom for line, _ in asked]),
    )


def beliefs_elsewhere(known: Remembered, at_utilization: Floats, executor_counts: Ints) -> Beliefs:
    """Return the capacity with other executors: the average of one times their number (Daedalus sec. 3.1), each at its utilisation of the busiest executor.

    >>> line = CapacityLine(intercept=0.0, slope=400.0, variance=(0.0, 0.0, 0.0), freedom=8.0)
    >>> known = Remembered(executors=4, at_s=0.0, readings=10.0, line=line, highest_utilization=0.9)
    >>> beliefs_elsewhere(known, np.array([0.9, 0.5]), np.array([2, 8])).value.tolist()
    [180.0, 400.0]
    """
    value, times = known.line.value_at(at_utilization), executor_counts / known.executors
    carried, spread = value * times, UNSEEN_SPREAD * np.abs(np.log2(times))
    variance = (known.line.variance_at(at_utilization) + (known.doubt(at_utilization) * value) ** 2) * times * times + (spread * carried) ** 2
    return Beliefs(value=carried, variance=variance, freedom=np.full(len(carried), known.line.freedom))


def weighed(first: Beliefs, second: Beliefs) -> Beliefs:
    """Return two independent beliefs as one, weighted by the inverse of their variances; a certain one wins.

    >>> one, other = (Beliefs(value=np.array([v]), variance=np.array([s]), freedom=np.array([f])) for v, s, f in ((100.0, 1.0, 5.0), (110.0, 4.0, 3.0)))
    >>> both = weighed(one, other)
    >>> both.value.tolist(), both.variance.tolist(), both.freedom.tolist()
    ([102.0], [0.8], [5.0])
    """
    total = first.variance + second.variance
    share = np.divide(first.variance, total, out=np.zeros(len(total)), where=total > 0.0)
    return Beliefs(
        value=first.value + share * (second.value - first.value),
        variance=first.variance * (1.0 - share),
        freedom=np.where(total > 0.0, np.maximum(first.freedom, second.freedom), first.freedom),
    )


def mixture(first: Beliefs, second: Beliefs, share_of_first: Floats) -> Beliefs:
    """Return the mixture of two beliefs of which the first is right with this probability; its variance includes their distance.

    >>> one, other = (Beliefs(value=np.array([value]), variance=np.zeros(1), freedom=np.array([5.0])) for value in (100.0, 120.0))
    >>> both = mixture(one, other, np.array([0.5]))
    >>> both.value.tolist(), both.variance.tolist()
    ([110.0], [100.0])
    """
    value = share_of_first * first.value + (1.0 - share_of_first) * second.value
    variance = share_of_first * (first.variance + (first.value - value) ** 2) + (1.0 - share_of_first) * (second.variance + (second.value - value) ** 2)
    return Beliefs(value=value, variance=variance, freedom=np.minimum(first.freedom, second.freedom))
