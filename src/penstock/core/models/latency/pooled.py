"""Latency quantiles of a whole run from those of its readings."""

from collections.abc import Sequence

import numpy as np

from penstock.core.domain.reading import Quantiles
from penstock.core.models.arrays import Floats

KNOTS = 512
APART_S = 1e-9
"""Equal quantiles are moved apart by this much, so that a distribution with a jump can be inverted."""


def pooled_quantiles(latencies: Sequence[Quantiles], weights: Floats) -> Quantiles | None:
    """Return the quantiles of all rows together, each reading weighted by its rows; None without readings.

    The distribution of a reading is taken as linear between 0, p50, p95 and p99, and as ending there; exact for a single reading.
    Nine quiet readings and one slow one have a median among the quiet ones and a p99 among the slow:

    >>> quiet, slow = Quantiles(p50_s=1, p95_s=2, p99_s=2), Quantiles(p50_s=10, p95_s=20, p99_s=20)
    >>> pooled = pooled_quantiles([quiet] * 9 + [slow], np.ones(10))
    >>> round(pooled.p50_s, 1), round(pooled.p99_s)
    (1.1, 19)
    """
    if not latencies:
        return None
    points = np.array([(0.0, each.p50_s, each.p95_s, each.p99_s) for each in latencies]) + APART_S * np.arange(4)
    weights = np.asarray(weights, dtype=np.float64)
    if weights.sum() <= 0:
        weights = np.ones(len(points))
    knots = np.unique(points)
    if len(knots) > KNOTS:
        knots = np.unique(np.quantile(knots, np.linspace(0, 1, KNOTS)))
    below = np.zeros(len(knots))
    for weight, quantiles in zip(weights / weights.sum(), points, strict=True):
        below += weight * np.interp(knots, quantiles, (0.0, 0.5, 0.95, 0.99), right=1.0)
    p50_s, p95_s, p99_s = np.interp((0.5, 0.95, 0.99), below, knots).tolist()
    return Quantiles(p50_s=p50_s, p95_s=p95_s, p99_s=p99_s)
