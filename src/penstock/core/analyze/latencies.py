"""The latency to expect of each size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from penstock.core.analyze.job_shape import share_of
from penstock.core.analyze.profiled import paced
from penstock.core.domain.reading import Reading
from penstock.core.learnt import Learnt
from penstock.core.models.estimate import HIGH_LEVEL, LOW_LEVEL, Estimate, NotReady
from penstock.core.models.forecast.forecast import Forecast
from penstock.core.models.latency.latency_table import LatencyTable
from penstock.core.usage.utilization import plant_of


def latencies(learnt: Learnt, reading: Reading, sizes: Sequence[int], rate: Estimate) -> dict[int, Estimate]:
    """Seconds at this rate of arrivals: the 95th percentile of micro-batches, the worst of the queries; where tasks run all the time, a profile's average.

    The bounds of micro-batches are those of what one reading will show, not of the mean of many: that is what the prediction is held against.
    """
    if plant_of(reading) == "continuous":
        table = paced(learnt)
        return {} if table is None else {size: _by_table(table, size, rate.value) for size in sizes}
    queries = [query for query in reading.queries if query.name in learnt.batches]
    answers = [
        learnt.batches[query.name].predict_each(rate_rows_per_s=rate.times(share_of(query, reading)), interval_s=query.trigger.interval_s, scaleouts=sizes)
        for query in queries
    ]
    known = [by_size for by_size in answers if not isinstance(by_size, NotReady)]
    if not known or len(known) < len(reading.queries):
        return {}
    return known[0] if len(known) == 1 else {size: max((by_size[size] for by_size in known), key=lambda each: each.value) for size in sizes}


def peak_until(forecast: Forecast | None, until_s: float, load_rows_per_s: float | None) -> Estimate | None:
    """The largest rate expected before a time, and between which rates all of that time is likely to lie; the load without a forecast."""
    if forecast is None:
        return None if load_rows_per_s is None else Estimate.exactly(load_rows_per_s)
    steps = max(1, math.ceil((until_s - forecast.start_s) / forecast.step_s))
    soon = replace(forecast, mean=forecast.mean[:steps], paths=tuple(path[:steps] for path in forecast.paths))
    peak, low, high = max(soon.mean), min(soon.at(LOW_LEVEL)), max(soon.at(HIGH_LEVEL))
    return Estimate(value=peak, low=max(0.0, min(peak, low)), high=max(peak, high))


def _by_table(table: LatencyTable, size: int, rate_rows_per_s: float) -> Estimate:
    expected = table.at(size, rate_rows_per_s)
    return Estimate(value=expected.latency_s, low=expected.latency_s, high=expected.latency_s if expected.valid else math.inf)
