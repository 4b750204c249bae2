"""Executors that crash or freeze in a simulated job, against what was measured on Spark."""

from __future__ import annotations

from dataclasses import replace

import pytest
from simulated_batches import ON_SPARK, batches, engine

from penstock.core.domain.instruction import ScaleExecutors
from penstock.core.domain.trigger import Trigger
from penstock.simulator.ground_truth import Fault
from penstock.simulator.microbatch_settings import MicroBatchSettings


def test_a_crash_on_spark_is_a_longer_batch_and_two_slow_ones() -> None:
    done = batches(engine(ON_SPARK, 1800.0, 4, (Fault(at_s=31.0),)), 90.0)
    struck = next(place for place, batch in enumerate(done) if batch.committed_s > 31.0)
    measured_s = (4.9, 4.0, 3.0)
    assert [batch.duration_s for batch in done[struck : struck + 3]] == [pytest.approx(seconds, rel=0.2) for seconds in measured_s]
    assert done[-1].duration_s == pytest.approx(ON_SPARK.law.duration_s(5400.0, 4), rel=0.02)


def test_a_frozen_executor_stalls_one_batch_and_the_recursion_catches_up() -> None:
    running = engine(ON_SPARK, 1800.0, 4, (Fault(at_s=31.0, kind="timeout"),))
    done = batches(running, 150.0)
    struck = next(place for place, batch in enumerate(done) if batch.committed_s > 31.0)
    measured = ((5400.0, 23.9), (43_200.0, 18.1), (32_400.0, 10.0), (18_000.0, 5.9), (10_800.0, 3.9), (7_200.0, 2.7))
    for batch, (rows, duration_s) in zip(done[struck:], measured, strict=False):
        assert batch.rows == pytest.approx(rows, rel=0.2)
        assert batch.duration_s == pytest.approx(duration_s, rel=0.2)
    (fault,) = running.record.struck
    assert fault.recovery_s == pytest.approx(65.0, rel=0.2)


def test_a_lost_executor_is_counted_and_replaced() -> None:
    running = engine(ON_SPARK, 500.0, 3, (Fault(at_s=20.2),))
    running.advance(20.1)
    assert running.observation().executors_lost == 0
    running.advance(22.0)
    seen = running.observation()
    assert (seen.executors_lost, seen.executors_requested, len(seen.executors), seen.disturbed_s) == (1, 3, 2, 20.2)
    running.advance(23.0)
    assert len(running.observation().executors) == 3
    assert set(running.record.seconds().workers) == {3.0}


def test_the_only_executor_takes_the_whole_batch_with_it() -> None:
    job = replace(ON_SPARK, partitions=4)
    struck = batches(engine(job, 100.0, 1, (Fault(at_s=9.5),)), 60.0)
    batch = next(batch for batch in struck if batch.started_s == 9.0)
    assert batch.committed_s == pytest.approx(9.5 + 2.5 + 2.0 + job.law.duration_s(300.0, 1))


def test_a_query_that_fails_takes_its_batch_in_again_and_keeps_its_executors() -> None:
    job = replace(ON_SPARK, failed_s=4.0)
    running = engine(job, 100.0, 2, (Fault(at_s=9.3, kind="restart"),))
    running.advance(10.0)
    seen = running.observation()
    assert (seen.executors_lost, len(seen.executors), seen.disturbed_s) == (0, 2, 9.3)
    assert (seen.queries[0].failures, seen.queries[0].state) == (1, "restarting")
    batch = batches(running, 60.0)[0]
    assert (batch.started_s, batch.rows) == (pytest.approx(13.3), pytest.approx(300.0 + 430.0)), "what was not committed, and what came since"
    seen = running.observation()
    assert (seen.queries[0].failures, seen.queries[0].state, seen.queries[0].started_s) == (1, "running", pytest.approx(13.3))
    assert running.record.seconds().down.sum() == pytest.approx(4.0) and set(running.record.seconds().workers) == {2.0}
    (struck,) = running.record.struck
    assert struck.kind == "restart" and struck.recovered_s == pytest.approx(batch.committed_s)


def test_executors_that_wait_for_a_gap_leave_when_the_query_fails() -> None:
    job = MicroBatchSettings(overhead_s=1.0, row_s=0.01, partitions=4, trigger=Trigger(interval_s=20.0))
    running = engine(job, 120.0, 4, (Fault(at_s=42.0, kind="restart"),))
    running.advance(41.0)
    running.perform(ScaleExecutors(number=1, executors=2), lambda outcome: None)
    running.advance(42.5)
    assert len(running.observation().executors) == 2
