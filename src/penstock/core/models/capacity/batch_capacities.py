"""The capacity of many sizes at once, by the law of micro-batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.core.models.capacity.batch_law import LikelyLaws
from penstock.core.models.estimate import COVERAGE, Estimate


def capacities_by_laws(laws: LikelyLaws, scaleouts: Sequence[int], interval_s: float) -> list[Estimate]:
    """What `BatchLaw.capacity_rows_per_s` says of each size, best and drawn laws alike, to the last digit.

    >>> from penstock.core.models.capacity.batch_law import BatchLaw
    >>> cheap, dear = (BatchLaw(overhead_s=0.5, row_s=each, partitions=12) for each in (0.001, 0.002))
    >>> capacities_by_laws(LikelyLaws(best=cheap, drawn=(cheap, dear)), [4, 6], 2.0)[0]
    Estimate(value=3000.0, low=1500.0, high=3000.0)
    """
    if interval_s <= 0:
        raise ValueError(f"capacities need an interval above 0 s, not {interval_s:g} s: without one a batch may grow for ever")
    every = (laws.best, *laws.drawn)
    told = [(law.overhead_s, law.row_s * law.skew, np.inf if law.limit_rows is None else law.limit_rows) for law in every]
    overhead_s, row_s, limit_rows = (column[:, None] for column in np.array(told).T)
    partitions = np.array([law.partitions for law in every])[:, None]
    slots = np.array([law.cores_per_executor for law in every])[:, None] * np.array(scaleouts)
    row_cost_s = row_s * (-(-partitions // slots) / partitions)
    left_s, cost_s = interval_s - overhead_s, row_cost_s * interval_s
    # Without a limit the second is not a number, and the first counts.
    with np.errstate(divide="ignore", invalid="ignore"):
        by_cost = np.where(cost_s > 0, left_s / cost_s, np.inf)
        by_limit = limit_rows / np.maximum(interval_s, overhead_s + row_cost_s * limit_rows)
    rates = np.where(left_s > 0, np.fmin(by_cost, by_limit), 0.0)
    value, spread = rates[0], np.sort(rates[1:], axis=0)
    beyond = int(len(laws.drawn) * (1.0 - COVERAGE) / 2)
    bounds = zip(value.tolist(), np.minimum(value, spread[beyond]).tolist(), np.maximum(value, spread[-1 - beyond]).tolist(), strict=True)
    return [Estimate(value=each, low=low, high=high) for each, low, high in bounds]
