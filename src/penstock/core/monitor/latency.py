"""Latency of the rows of several batches, from the arrival quantiles of each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from penstock.core.domain.reading import Quantiles
from penstock.core.monitor.facts import BatchFact

Floats = npt.NDArray[np.float64]
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
    below = sum(rows * shares_below(knots, delays, shares) for rows, delays, shares in components) / sum(rows for rows, _, _ in components)
    p50, p95, p99 = (round(max(0.0, float(value)), 6) for value in np.interp([0.5, 0.95, 0.99], below, knots))
    return Quantiles(p50_s=p50, p95_s=p95, p99_s=p99), None


def shares_below(knots: Floats, delays: Floats, shares: Floats) -> Floats:
    """The share of rows with a delay of at most each knot; where quantiles coincide, the highest counts."""
    distinct, last = np.unique(delays[::-1], return_index=True)
    return np.asarray(np.interp(knots, distinct, shares[::-1][last], left=0.0, right=1.0))
