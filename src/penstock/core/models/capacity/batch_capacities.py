"""The capacity of many sizes at once, by the law of micro-batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.core.models.arrays import Floats, Ints
from penstock.core.models.capacity.batch_law import BatchLaw, LikelyLaws
from penstock.core.models.capacity.law_columns import LawColumns, alike, likely_estimates, waves_each
from penstock.core.models.estimates import Estimates


def capacities_by_laws(laws: LikelyLaws, scaleouts: Sequence[int], interval_s: float) -> Estimates:
    """What `BatchLaw.capacity_rows_per_s` says of each size, best and drawn laws alike, to the last digit.

    >>> cheap, dear = (BatchLaw(overhead_s=0.5, row_s=each, partitions=12) for each in (0.001, 0.002))
    >>> capacities_by_laws(LikelyLaws(best=cheap, drawn=(cheap, dear)), [4, 6], 2.0).each()[0]
    Estimate(value=3000.0, low=1500.0, high=3000.0)
    """
    some, which = alike(laws.best, scaleouts)
    return likely_estimates(rates_by_laws((laws.best, *laws.drawn), some, interval_s)).at(which)


def rates_by_laws(laws: Sequence[BatchLaw], scaleouts: Ints, interval_s: float) -> Floats:
    """The same without bounds, a row for each law."""
    if interval_s <= 0:
        raise ValueError(f"capacities need an interval above 0 s, not {interval_s:g} s: without one a batch may grow for ever")
    columns = LawColumns.of(laws)
    row_cost_s, limit_rows = columns.row_cost_s(scaleouts), columns.limit_rows
    left_s, cost_s = interval_s - columns.overhead_s, row_cost_s * interval_s
    # Without a limit the second is not a number, and the first counts.
    with np.errstate(divide="ignore", invalid="ignore"):
        by_cost = np.where(cost_s > 0, left_s / cost_s, np.inf)
        by_limit = limit_rows / np.maximum(interval_s, columns.overhead_s + row_cost_s * limit_rows)
    return np.where(left_s > 0, np.fmin(by_cost, by_limit), 0.0)


def busiest_at_saturation(law: BatchLaw, scaleouts: Ints, interval_s: float) -> Floats:
    """What `BatchLaw.busiest_at_saturation` says of each, to the last digit."""
    waves = waves_each(law.partitions, scaleouts * law.cores_per_executor)
    return np.asarray(law.utilization_at_saturation(interval_s) * waves_each(law.partitions, scaleouts) / (waves * law.cores_per_executor))


def limited(law: BatchLaw, answers: Estimates, scaleouts: Ints, interval_s: float) -> Estimates:
    """No more than the limit of rows a batch allows."""
    if law.limit_rows is None:
        return answers
    duration_s = law.overhead_s + LawColumns.of([law]).row_cost_s(scaleouts)[0] * law.limit_rows
    return answers.at_most(law.limit_rows / np.maximum(interval_s, duration_s))
