"""The latency of a job that keeps up, as a form of its utilisation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.latency.validity import Ceiling
from penstock.core.models.surrogate.parts import Prior, fit_parts

BUSIEST = 0.95
"""Utilisation beyond which the form says no more than there: its pole is not a measurement."""
PRIORS = (Prior(),) * 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Queueing:
    """L = base + work*u + queue*u/(1-u), with u = rate / T_max(scale-out): a fixed delay, time to work, and waiting behind others.

    All three are at least 0, so the latency rises with the rate and falls with the scale-out; it is never below `least_s`, the smallest that was seen.
    """

    base_s: float
    work_s: float
    queue_s: float
    ceiling: Ceiling
    least_s: float = 0.0

    def at(self, scaleouts: Floats, rates_rows_per_s: Floats) -> Floats:
        """The latency in seconds.

        >>> form = Queueing(base_s=1.0, work_s=0.0, queue_s=0.5, ceiling=Ceiling(points=((2, 100.0),), carried=()))
        >>> form.at(np.array([2.0]), np.array([50.0])).tolist()
        [1.5]
        """
        latency_s = _columns(self.ceiling, scaleouts, rates_rows_per_s) @ np.array([self.base_s, self.work_s, self.queue_s])
        return np.asarray(np.maximum(self.least_s, latency_s))


def queueing(ceiling: Ceiling, scaleouts: Floats, rates_rows_per_s: Floats, latencies_s: Floats) -> Queueing | None:
    """The form with the smallest robust squared relative errors; None where the rows cannot tell its three parameters.

    >>> ceiling = Ceiling(points=((1, 10.0),), carried=())
    >>> fitted = queueing(ceiling, np.ones(4), np.array([0.0, 2.0, 5.0, 8.0]), np.array([1.0, 1.25, 2.0, 5.0]))
    >>> round(fitted.base_s, 3), round(fitted.work_s, 3), round(fitted.queue_s, 3)
    (1.0, 0.0, 1.0)
    """
    columns = _columns(ceiling, scaleouts, rates_rows_per_s)
    if len(np.unique(columns[:, 1])) < len(PRIORS):
        return None
    base_s, work_s, queue_s = (float(amount) for amount in fit_parts(lambda _: columns[None], latencies_s, PRIORS)[1])
    return Queueing(base_s=base_s, work_s=work_s, queue_s=queue_s, ceiling=ceiling, least_s=float(np.min(latencies_s)))


def _columns(ceiling: Ceiling, scaleouts: Floats, rates_rows_per_s: Floats) -> Floats:
    utilisation = np.minimum(BUSIEST, rates_rows_per_s / ceiling.over(scaleouts))
    return np.column_stack([np.ones(len(utilisation)), utilisation, utilisation / (1 - utilisation)])
