"""What is believed of many scale-outs at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penstock.core.models.arrays import Floats, Ints
from penstock.core.models.capacity.remembered import EXTRAPOLATION_SPREAD, MODEL_SPREAD, UNSEEN_SPREAD, Belief, Remembered
from penstock.core.models.estimates import Estimates
from penstock.core.models.student import student_estimates


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

    >>> from penstock.core.models.capacity.line import CapacityLine
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
