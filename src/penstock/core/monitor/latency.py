"""Latency: from arrival to commit in micro-batches, from arrival to the write at the sink in Real-Time Mode."""

from collections.abc import Sequence

import numpy as np

from penstock.core.domain.reading import Quantiles
from penstock.core.models.arrays import Floats
from penstock.core.monitor.facts import BatchFact, OutputSample

SKEW_TOLERANCE_S = 0.05


def latency_of(batches: Sequence[BatchFact]) -> tuple[Quantiles | None, float | None]:
    """Quantiles of commit time minus arrival time over all rows, and the clock skew if some row "arrived" after its commit.

    Each batch's latencies have a piecewise linear distribution through its quantiles; the whole is their mixture, weighted by rows.

    >>> from penstock.core.monitor.facts import ArrivalSample
    >>> arrivals = ArrivalSample(rows=10, probabilities=(0.0, 0.5, 1.0), wall_s=(90.0, 95.0, 100.0))
    >>> batch = BatchFact(batch_id=1, started_s=0, committed_s=1, committed_wall_s=101.0, rows=10, arrivals=(arrivals,))
    >>> latency_of([batch])
    (Quantiles(p50_s=6.0, p95_s=10.5, p99_s=10.9), None)
    """
    components = [
        (sample.rows, batch.committed_wall_s - np.array(sample.wall_s[::-1]), 1.0 - np.array(sample.probabilities[::-1]))
        for batch in batches
        for sample in batch.arrivals
        if sample.rows > 0
    ]
    if not components:
        return None, None
    earliest = min(float(delays[0]) for _, delays, _ in components)
    if earliest < -SKEW_TOLERANCE_S:
        return None, -earliest
    knots = np.unique(np.concatenate([delays for _, delays, _ in components]))
    rows_in_all = sum(rows for rows, _, _ in components)
    shares = np.asarray(sum(rows * shares_around(knots, delays, shares) for rows, delays, shares in components)) / rows_in_all
    p50, p95, p99 = (round(max(0.0, float(value)), 6) for value in np.interp([0.5, 0.95, 0.99], np.maximum.accumulate(shares), np.repeat(knots, 2)))
    return Quantiles(p50_s=p50, p95_s=p95, p99_s=p99), None


def shares_around(knots: Floats, delays: Floats, shares: Floats) -> Floats:
    """Return the share of rows with a delay below each knot, then of those at or below it; they differ where many rows have the same delay.

    >>> shares_around(np.array([1.0, 2.0]), np.array([1.0, 2.0, 2.0]), np.array([0.0, 0.25, 1.0])).tolist()
    [0.0, 0.0, 0.25, 1.0]
    """
    at_most = np.interp(knots, delays, shares, left=0.0, right=1.0)
    at_least = np.interp(-knots, -delays[::-1], 1.0 - shares[::-1], left=0.0, right=1.0)
    return np.column_stack([1.0 - at_least, at_most]).ravel()


Outputs = tuple[tuple[float, OutputSample], ...]
"""Output records, each with the time of its report."""


def recent_outputs(earlier: Outputs, at_s: float, new: Sequence[OutputSample], window_s: float) -> Outputs:
    """Return the records written within `window_s` of the newest and reported within `window_s` of now; older ones, and those with a wrong clock, drop out.

    >>> first = recent_outputs((), 10.0, [OutputSample(wall_s=100.0, latency_s=0.1, rows=1.0)], window_s=15.0)
    >>> [told_s for told_s, _ in recent_outputs(first, 20.0, [OutputSample(wall_s=110.0, latency_s=0.1, rows=1.0)], window_s=15.0)]
    [10.0, 20.0]
    >>> recent_outputs(first, 30.0, [], window_s=15.0)
    ()
    """
    heard = [(heard_s, sample) for heard_s, sample in earlier if at_s - heard_s <= window_s] + [(at_s, sample) for sample in new]
    newest_s = max((sample.wall_s for _, sample in heard), default=0.0)
    return tuple(each for each in heard if newest_s - each[1].wall_s <= window_s)


def quantiles_of(latency_s: Floats, rows: Floats) -> Quantiles:
    """Return quantiles, weighted by rows; a quantile is the least latency that this share of the rows do not exceed."""
    order = np.argsort(latency_s)
    up_to = np.cumsum(rows[order])
    places = np.minimum(np.searchsorted(up_to, np.array([0.5, 0.95, 0.99]) * up_to[-1]), len(order) - 1)
    p50_s, p95_s, p99_s = latency_s[order][places].tolist()
    return Quantiles(p50_s=p50_s, p95_s=p95_s, p99_s=p99_s)


def latency_of_outputs(samples: Sequence[OutputSample]) -> tuple[Quantiles | None, float | None]:
    """Quantiles of the latencies, each weighted by the records it stands for, and the clock skew if some result was written before its input arrived.

    >>> seen = [OutputSample(wall_s=9.0, latency_s=latency_s, rows=rows) for latency_s, rows in ((0.03, 90), (0.05, 8), (1.2, 2))]
    >>> latency_of_outputs(seen)
    (Quantiles(p50_s=0.03, p95_s=0.05, p99_s=1.2), None)
    >>> latency_of_outputs([*seen, OutputSample(wall_s=9.0, latency_s=-2.0, rows=1)])
    (None, 2.0)
    """
    known = [sample for sample in samples if sample.rows > 0]
    earliest = min((sample.latency_s for sample in known), default=0.0)
    if not known or earliest < -SKEW_TOLERANCE_S:
        return None, -earliest if known else None
    return quantiles_of(np.array([round(max(0.0, sample.latency_s), 6) for sample in known]), np.array([sample.rows for sample in known])), None
