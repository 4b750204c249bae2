"""Micro-batches: their cost is found from readings, and capacity and latency follow from it."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from laws import latency_by_law_s
from steady_job import TERMS, Analysed, SteadyJob

from penstock.core.analyze.learn import batch_measured, cost_of
from penstock.core.domain.reading import BatchParts, ExecutorReading, Quantiles, QueryReading, Reading, StageReading
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge.policy import Need
from penstock.core.models.capacity.batch_law import BatchLaw
from penstock.core.models.estimate import Estimate
from penstock.core.models.latency.batch_latency import latency_by_law_s
from penstock.runtime.fakes import blank_reading

LAW = BatchLaw(overhead_s=1.0, row_s=0.002, partitions=12)
INTERVAL_S = 5.0
NEEDS: frozenset[Need] = frozenset({"load", "capacity", "latency", "stages"})


def batched(number: int, executors: int, rate: float) -> Reading:
    """The reading of a job of one query under this law that keeps up; its tasks fill the executors evenly but for the last wave."""
    batch_s = LAW.duration_s(rate * INTERVAL_S, executors)
    latency_s = latency_by_law_s(LAW, rate_rows_per_s=rate, interval_s=INTERVAL_S, scaleout=executors, quantile=0.95)
    tasks = [12 // executors + (worker < 12 % executors) for worker in range(executors)]
    stage = StageReading(position=0, name="scan", tasks=12.0, rows_per_s=rate, run_time_s_per_s=rate * LAW.row_s, busyness=0.5)
    query = QueryReading(
        name="q", state="running", trigger=Trigger(interval_s=INTERVAL_S), rate_limit_rows_per_s=None, batch_id=number, batches=3, arrival_rows_per_s=rate,
        throughput_rows_per_s=rate, excess_lag_rows=0.0, latency=Quantiles(p50_s=latency_s / 2, p95_s=latency_s, p99_s=latency_s),
        batch=BatchParts(total_s=batch_s), stages=(stage,),
    )  # fmt: skip
    return blank_reading(
        15.0 * number, uptime_s=15.0 * number, executors_running=executors, executors_requested=executors, arrival_rows_per_s=rate, throughput_rows_per_s=rate,
        lag_rows=rate * INTERVAL_S, excess_lag_rows=0.0, latency=query.latency, queries=(query,), executors=tuple(
            ExecutorReading(executor_id=f"{executors}-{worker}", host="a", slots=1, uptime_s=60.0, throughput_rows_per_s=rate * count / 12,
                            busyness=rate * LAW.row_s * count / 12)
            for worker, count in enumerate(tasks)
        ),
    )  # fmt: skip


def learnt_from(needs: frozenset[Need] = NEEDS, turns: int = 40) -> Analysed:
    analysed = Analysed(SteadyJob(), TERMS, needs)
    for number in range(turns):
        reading = batched(number, 3 if number < turns / 2 else 4, 700.0 + 400.0 * math.sin(number / 3))
        analysed.turn(reading=reading)
        analysed.job.at_s = reading.at_s
    return analysed


def test_a_batch_has_the_rows_of_its_cycle() -> None:
    reading = batched(1, 3, 900.0)
    measured = batch_measured(reading.queries[0], reading, warming=False)
    assert measured is not None and (measured.rows, measured.tasks, measured.scaleout) == (4500.0, 12, 3)
    late = replace(reading.queries[0], batch=BatchParts(total_s=20.0))
    overloaded = batch_measured(late, reading, warming=False)
    assert overloaded is not None and overloaded.rows == 18_000.0


def test_what_is_not_known_measures_nothing() -> None:
    reading = batched(1, 3, 900.0)
    unknown = [replace(reading.queries[0], batch=None), replace(reading.queries[0], throughput_rows_per_s=None)]
    assert [batch_measured(query, reading, warming=False) for query in unknown] == [None, None]
    assert batch_measured(reading.queries[0], replace(reading, executors_running=0), warming=False) is None
    assert cost_of(replace(reading.queries[0], stages=()), reading, None) is None


def test_the_cost_of_batches_is_found_with_its_waves() -> None:
    analysed = learnt_from()
    cost, seen = analysed.knowledge.learnt.capacity.by_batches, analysed.seen()
    assert cost is not None and seen.plant == "micro_batch" and seen.stops == frozenset() and seen.batch_s is not None
    for size in (3, 4, 5, 6, 8):
        found = cost.capacity(size, INTERVAL_S)
        assert isinstance(found, Estimate) and found.value == pytest.approx(LAW.capacity_rows_per_s(size, INTERVAL_S), rel=0.02), size
    for size in (3, 4):
        assert seen.capacities[size].value == pytest.approx(LAW.capacity_rows_per_s(size, INTERVAL_S), rel=0.05), size


def test_the_cost_of_batches_answers_for_a_policy_that_asks_for_the_papers_regression_too() -> None:
    analysed = learnt_from(NEEDS | {"regression"})
    seen, cost = analysed.seen(), analysed.knowledge.learnt.capacity.by_batches
    assert cost is not None and seen.capacities[4] == cost.capacity(4, INTERVAL_S)


def test_latency_is_that_of_the_law_at_the_load() -> None:
    seen = learnt_from().seen()
    load = seen.load_rows_per_s
    assert load is not None and set(seen.latencies) == set(range(1, 9))
    for size in (3, 4, 6):
        truth_s = latency_by_law_s(LAW, rate_rows_per_s=load, interval_s=INTERVAL_S, scaleout=size, quantile=0.95)
        assert seen.latencies[size].value == pytest.approx(truth_s, rel=0.05)


def test_a_batch_is_learnt_once() -> None:
    analysed = Analysed(SteadyJob(), TERMS, NEEDS)
    for number in range(6):
        analysed.turn(reading=replace(batched(7, 3, 900.0), at_s=15.0 * number))
    assert analysed.knowledge.learnt.capacity.by_batches is not None and len(analysed.knowledge.learnt.capacity.by_batches.batches) == 1


def test_a_limit_of_rows_is_one_of_the_capacity() -> None:
    reading = batched(1, 3, 900.0)
    cost = cost_of(replace(reading.queries[0], rate_limit_rows_per_s=100.0), reading, None)
    assert cost is not None and cost.limit_rows == 500.0


def test_the_cost_of_batches_is_not_that_of_a_job_with_two_queries() -> None:
    analysed = learnt_from(turns=10)
    assert analysed.knowledge.learnt.capacity.by_batches is not None
    reading = batched(20, 4, 900.0)
    analysed.turn(reading=replace(reading, queries=(*reading.queries, replace(reading.queries[0], name="r"))))
    assert analysed.knowledge.learnt.capacity.by_batches is None and set(analysed.knowledge.learnt.batches) == {"q", "r"}


def test_stages_tell_what_a_busy_slot_does() -> None:
    (stage,) = learnt_from().seen().stages
    assert stage.name == "scan" and stage.rate_rows_per_s == pytest.approx(500.0) and stage.selectivity == pytest.approx(1.0)
