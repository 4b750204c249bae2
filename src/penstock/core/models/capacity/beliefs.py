"""Capacity measured at a scale-out, now or earlier."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penstock.core.models.arrays import Floats, Ints
from penstock.core.models.capacity.worker_lines import CapacityLine
from penstock.core.models.estimate import Estimates, student_estimates

MODEL_SPREAD = 0.03
"""Relative standard deviation of capacity around any line: rows cost more in one quarter of an hour than in the next, and scatter does not show it."""

EXTRAPOLATION_SPREAD = 0.03
"""Relative standard deviation that asking for twice the highest utilisation seen adds: no line is straight for ever."""

UNSEEN_SPREAD = 0.1
"""Relative standard deviation of the average per worker carried to twice or half the scale-out: the data will be split in another way."""

REVISIT_SPREAD = 0.05
"""Relative standard deviation between two stays at the same scale-out, for the same reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """A rate with the variance of its error, and the degrees of freedom behind it."""

    value: float
    variance: float
    freedom: float

    def doubted(self, relative_spread: float) -> Belief:
        """The belief with one more independent relative error."""
        return Belief(value=self.value, variance=self.variance + (relative_spread * self.value) ** 2, freedom=self.freedom)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """The line of capacity over utilisation at one scale-out, from `readings` readings, the newest of them at `at_s`."""

    scaleout: int
    at_s: float
    readings: float
    line: CapacityLine
    highest_utilization: float
    carried_rows_per_s: float = 0.0
    """What it processed, on average; 0 in a memory that was stored before this was kept."""

    def measured(self, at_utilization: float) -> Belief:
        """Capacity when the busiest worker is at this utilisation, as sure as the scatter of the readings makes it."""
        return Belief(value=self.line.value_at(at_utilization), variance=self.line.variance_at(at_utilization), freedom=self.line.freedom)

    def doubt(self, at_utilization: float) -> float:
        """Relative standard deviation that any line has beyond its scatter."""
        return math.hypot(MODEL_SPREAD, EXTRAPOLATION_SPREAD * max(0.0, at_utilization / self.highest_utilization - 1.0))

    def belief(self, at_utilization: float) -> Belief:
        """What was measured, and the doubt about it, together."""
        return self.measured(at_utilization).doubted(self.doubt(at_utilization))

    def joined(self, newer: Remembered, half_life_s: float) -> Remembered:
        """This stay and a newer one at the same scale-out, each by its readings, the old ones decayed."""
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
        highest = max(self.highest_utilization, newer.highest_utilization)
        return Remembered(
            scaleout=self.scaleout,
            at_s=newer.at_s,
            readings=old + newer.readings,
            line=line,
            highest_utilization=highest,
            carried_rows_per_s=mixed(self.carried_rows_per_s, newer.carried_rows_per_s),
        )


def weighed(first: Belief, second: Belief) -> Belief:
    """Two independent beliefs in one, each by the inverse of its variance; a certain one wins.

    >>> weighed(Belief(value=100.0, variance=1.0, freedom=5.0), Belief(value=110.0, variance=4.0, freedom=3.0))
    Belief(value=102.0, variance=0.8, freedom=5.0)
    """
    if first.variance + second.variance <= 0.0:
        return first
    share = first.variance / (first.variance + second.variance)
    return Belief(value=first.value + share * (second.value - first.value), variance=first.variance * (1.0 - share), freedom=max(first.freedom, second.freedom))


def mixture(first: Belief, second: Belief, share_of_first: float) -> Belief:
    """One of two is right, the first with this probability: the mean of both, and a variance that knows how far they are apart.

    >>> mixture(Belief(value=100.0, variance=0.0, freedom=5.0), Belief(value=120.0, variance=0.0, freedom=5.0), 0.5)
    Belief(value=110.0, variance=100.0, freedom=5.0)
    """
    value = share_of_first * first.value + (1.0 - share_of_first) * second.value
    variance = share_of_first * (first.variance + (first.value - value) ** 2) + (1.0 - share_of_first) * (second.variance + (second.value - value) ** 2)
    return Belief(value=value, variance=variance, freedom=min(first.freedom, second.freedom))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Beliefs:
    """Column by column what `Belief` is."""

    value: Floats
    variance: Floats
    freedom: Floats

    def at(self, place: int) -> Belief:
        return Belief(value=float(self.value[place]), variance=float(self.variance[place]), freedom=float(self.freedom[place]))

    def with_those(self, others: Mapping[int, Belief]) -> Beliefs:
        """These, but others at some places."""
        if not others:
            return self
        columns = np.array([self.value, self.variance, self.freedom])
        columns[:, list(others)] = np.array([(each.value, each.variance, each.freedom) for each in others.values()]).T
        value, variance, freedom = columns
        return Beliefs(value=value, variance=variance, freedom=freedom)

    def estimates(self) -> Estimates:
        return student_estimates(self.value, self.variance, self.freedom)


def beliefs_elsewhere(known: Remembered, at_utilization: Floats, scaleouts: Ints) -> Beliefs:
    """Capacity at other scale-outs: the average per worker times the scale-out (Daedalus sec. 3.1), each at its utilisation of the busiest worker.

    >>> from penstock.core.models.capacity.worker_lines import CapacityLine
    >>> line = CapacityLine(intercept=0.0, slope=400.0, variance=(0.0, 0.0, 0.0), freedom=8.0)
    >>> known = Remembered(scaleout=4, at_s=0.0, readings=10.0, line=line, highest_utilization=0.9)
    >>> beliefs_elsewhere(known, np.array([0.9, 0.5]), np.array([2, 8])).value.tolist()
    [180.0, 400.0]
    """
    value, times = known.line.values_at(at_utilization), scaleouts / known.scaleout
    doubt = np.hypot(MODEL_SPREAD, EXTRAPOLATION_SPREAD * np.maximum(0.0, at_utilization / known.highest_utilization - 1.0))
    carried, spread = value * times, UNSEEN_SPREAD * np.abs(np.log2(times))
    variance = (known.line.variances_at(at_utilization) + (doubt * value) ** 2) * times * times + (spread * carried) ** 2
    return Beliefs(value=carried, variance=variance, freedom=np.full(len(carried), known.line.freedom))
