"""Latency of micro-batches from their cost: the wait for the trigger and the time of the batch."""

from __future__ import annotations

import math

from penstock.core.models.capacity.batch_cost import BatchCost
from penstock.core.models.capacity.batch_law import BatchLaw
from penstock.core.models.estimate import Estimate, NotReady


def settled_batch_s(law: BatchLaw, *, rate_rows_per_s: float, interval_s: float, scaleout: int) -> float:
    """T of the batch that repeats itself at a constant rate W: n = W*max(i,T) rows with T = T(n,s); infinite if batches grow for ever or rows stay behind.

    T = a + g*W*i while that is at most i, else the fixed point T = a/(1 - g*W), where g is the cost of a row at this scale-out.
    The second is above C(s,i): the interval is not kept, but latency stays finite up to W = 1/g, or to m/T(m) under a limit of m rows.

    >>> law = BatchLaw(overhead_s=1.0, row_s=0.001, partitions=1)
    >>> [round(settled_batch_s(law, rate_rows_per_s=rate, interval_s=2.0, scaleout=1), 6) for rate in (0.0, 500.0, 750.0, 1000.0)]
    [1.0, 2.0, 4.0, inf]
    """
    cost_s = law.row_cost_s(scaleout)
    duration_s = law.overhead_s + cost_s * rate_rows_per_s * interval_s
    if duration_s > interval_s:
        spare = 1.0 - cost_s * rate_rows_per_s
        duration_s = max(interval_s, law.overhead_s / spare) if spare > 0 else math.inf
    if law.limit_rows is not None and rate_rows_per_s * max(interval_s, duration_s) > law.limit_rows:
        return math.inf
    return duration_s


def latency_by_law_s(law: BatchLaw, *, rate_rows_per_s: float, interval_s: float, scaleout: int, quantile: float | None = None) -> float:
    """Latency of a row: its wait, uniform over the cycle max(i,T), and the batch; the mean, or a quantile q as q*cycle + T.

    >>> law = BatchLaw(overhead_s=1.0, row_s=0.001, partitions=1)
    >>> latency_by_law_s(law, rate_rows_per_s=500.0, interval_s=4.0, scaleout=1)
    5.0
    >>> round(latency_by_law_s(law, rate_rows_per_s=500.0, interval_s=4.0, scaleout=1, quantile=0.95), 6)
    6.8
    """
    if quantile is not None and not 0 <= quantile <= 1:
        raise ValueError(f"a quantile lies between 0 and 1, not at {quantile:g}")
    duration_s = settled_batch_s(law, rate_rows_per_s=rate_rows_per_s, interval_s=interval_s, scaleout=scaleout)
    if duration_s == math.inf:
        return math.inf
    return (0.5 if quantile is None else quantile) * max(interval_s, duration_s) + duration_s


def predict_batch_latency(cost: BatchCost, *, rate_rows_per_s: float, interval_s: float, scaleout: int, quantile: float | None = None) -> Estimate | NotReady:
    """Mean latency, or a quantile of it, at a constant rate; infinite where capacity does not suffice."""
    laws = cost.laws()
    if isinstance(laws, NotReady):
        return laws
    return laws.estimate(lambda law: latency_by_law_s(law, rate_rows_per_s=rate_rows_per_s, interval_s=interval_s, scaleout=scaleout, quantile=quantile))
