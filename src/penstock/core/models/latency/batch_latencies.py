"""The latency of many sizes at once, by the law of micro-batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.core.models.arrays import Floats, Ints
from penstock.core.models.capacity.batch_law import BatchLaw, LawColumns


def latencies_by_laws_s(laws: Sequence[BatchLaw], *, rate_rows_per_s: float, interval_s: float, scaleouts: Ints, quantile: float | None = None) -> Floats:
    """What `latency_by_law_s` says, to the last digit: a row for each law, a column for each scale-out.

    >>> law = BatchLaw(overhead_s=1.0, row_s=0.001, partitions=2)
    >>> latencies_by_laws_s([law], rate_rows_per_s=500.0, interval_s=4.0, scaleouts=np.array([1, 2])).tolist()
    [[5.0, 4.0]]
    """
    if quantile is not None and not 0 <= quantile <= 1:
        raise ValueError(f"a quantile lies between 0 and 1, not at {quantile:g}")
    duration_s = _settled_batches_s(LawColumns.of(laws), rate_rows_per_s, interval_s, scaleouts)
    with np.errstate(invalid="ignore"):
        latency_s = (0.5 if quantile is None else quantile) * np.maximum(interval_s, duration_s) + duration_s
    return np.where(np.isinf(duration_s), np.inf, latency_s)


def _settled_batches_s(laws: LawColumns, rate_rows_per_s: float, interval_s: float, scaleouts: Ints) -> Floats:
    """What `settled_batch_s` says."""
    cost_s = laws.row_cost_s(scaleouts)
    duration_s, spare = laws.overhead_s + cost_s * rate_rows_per_s * interval_s, 1.0 - cost_s * rate_rows_per_s
    with np.errstate(divide="ignore", invalid="ignore"):
        repeated_s = np.where(spare > 0, np.maximum(interval_s, laws.overhead_s / spare), np.inf)
        duration_s = np.where(duration_s > interval_s, repeated_s, duration_s)
        return np.where(rate_rows_per_s * np.maximum(interval_s, duration_s) > laws.limit_rows, np.inf, duration_s)
