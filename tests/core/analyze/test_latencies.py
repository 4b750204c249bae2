"""The latency of each size, by what is known of the plant."""

from __future__ import annotations

import math
from dataclasses import replace

from steady_job import SteadyJob

from penstock.core.analyze.assess import latencies, peak_until
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge.learnt import Learnt
from penstock.core.models.capacity.batch_cost import BatchCost, BatchMeasured
from penstock.core.models.estimate import Estimate
from penstock.core.models.forecast.forecast import Forecast
from penstock.core.models.latency.batch_latency import BatchLatency
from penstock.core.models.latency.latency_table import LatencyTable

TABLE = LatencyTable(sizes=(1, 2), rates_rows_per_s=(100.0, 200.0), latency_s=((1.0, 9.0), (1.0, 2.0)), valid=((True, False), (True, True)), rows=4)
BATCHES = BatchLatency(cost=BatchCost(partitions=1)).learn(
    [BatchMeasured(rows=rows, duration_s=1 + 0.001 * rows, scaleout=1) for rows in (100.0, 400.0, 900.0, 1600.0, 2500.0)]
)


def predicted(rate_rows_per_s: Estimate) -> Estimate:
    answers = BATCHES.predict_each(rate_rows_per_s=rate_rows_per_s, interval_s=4.0, scaleouts=[1])
    assert isinstance(answers, dict)
    return answers[1]


def test_where_tasks_run_all_the_time_a_profile_answers() -> None:
    reading = SteadyJob().reading()
    found = latencies(Learnt(table=TABLE), reading, (1, 2), Estimate.exactly(150.0))
    assert [(each.value, each.high) for each in found.values()] == [(5.0, math.inf), (1.5, 1.5)]
    assert latencies(Learnt(), reading, (1, 2), Estimate.exactly(150.0)) == {}


def test_of_several_queries_the_slowest_counts_and_all_must_be_known() -> None:
    reading = SteadyJob().reading()
    first = replace(reading.queries[0], name="a", trigger=Trigger(interval_s=4.0), arrival_rows_per_s=500.0)
    second = replace(first, name="b", arrival_rows_per_s=1500.0)
    batched = replace(reading, queries=(first, second))
    alone = latencies(Learnt(batches={"a": BATCHES}), replace(reading, queries=(second,)), (1,), Estimate.exactly(200.0))
    assert latencies(Learnt(batches={"a": BATCHES}), batched, (1,), Estimate.exactly(200.0)) == alone == {}
    both = latencies(Learnt(batches={"a": BATCHES, "b": BATCHES}), batched, (1,), Estimate.exactly(200.0))
    assert both[1] == predicted(Estimate.exactly(150.0))


def test_the_bounds_are_those_of_one_reading_and_of_the_rate() -> None:
    mean = BATCHES.predict(rate_rows_per_s=200.0, interval_s=4.0)
    one = predicted(Estimate.exactly(200.0))
    unsure = predicted(Estimate(value=200.0, low=100.0, high=400.0))
    assert isinstance(mean, Estimate)
    assert mean.value == one.value == unsure.value
    assert unsure.low < one.low < mean.low and mean.high < one.high < unsure.high


def test_a_rate_that_may_be_too_much_has_no_upper_bound() -> None:
    beyond = predicted(Estimate(value=200.0, low=100.0, high=4000.0))
    assert math.isfinite(beyond.value) and beyond.high == math.inf


def test_the_peak_is_that_of_the_steps_until_then() -> None:
    paths = ((0.5, 2.5, 7.0), (1.0, 3.0, 9.0), (2.0, 4.0, 12.0))
    forecast = Forecast(start_s=0.0, step_s=10.0, mean=(1.0, 3.0, 9.0), levels=(0.1, 0.5, 0.9), paths=paths)
    peaks = [peak_until(forecast, until_s, 5.0) for until_s in (-5.0, 10.0, 15.0, 30.0, 99.0)]
    assert [each.value for each in peaks if each] == [1.0, 1.0, 3.0, 9.0, 9.0]
    assert [(each.low, each.high) for each in peaks if each] == [(0.5, 2.0), (0.5, 2.0), (0.5, 4.0), (0.5, 12.0), (0.5, 12.0)]
    assert peak_until(None, 60.0, 5.0) == Estimate.exactly(5.0) and peak_until(None, 60.0, None) is None
