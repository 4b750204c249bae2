import time
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from changes import scaling
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import latency_by_law_s
from simulated_job import ON_SPARK, batches, engine, scaled

from penstock.core.config import Config
from penstock.core.domain.fault import Fault
from penstock.core.domain.reading import Reading
from penstock.core.domain.trigger import Trigger
from penstock.core.errors import UserMistake
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.batch_recovery import cold_work_s
from penstock.simulator.batch import planned_batch
from penstock.simulator.engine_settings import NOT_NEGATIVE, MicroBatchSettings
from penstock.simulator.executor_pool import Executor, Pool
from penstock.simulator.microbatch import MicroBatchEngine
from penstock.simulator.plant import SimulatedClock, SimulatedPlant


def reading(running: MicroBatchEngine, until_s: float, every_s: float = 5.0) -> Reading:
    clock = SimulatedClock(0.0)
    plant = SimulatedPlant(running, clock, Config(reading_interval_s=every_s))
    while clock.now_s() < until_s:
        clock.wait(every_s)
        last = plant.read()
    return last


@given(
    overhead_s=st.floats(0.05, 2.0), row_s=st.floats(1e-5, 1e-3), partitions=st.integers(1, 40), executors=st.integers(1, 9), cores=st.integers(1, 4),
    rate=st.floats(1.0, 3000.0),
)  # fmt: skip
@settings(max_examples=30, deadline=None)
def test_a_batch_takes_what_the_law_says(overhead_s: float, row_s: float, partitions: int, executors: int, cores: int, rate: float) -> None:
    job = MicroBatchSettings(overhead_s=overhead_s, row_s=row_s, partitions=partitions, cores_per_executor=cores)
    done = batches(engine(job, rate, executors), 60.0)
    assert done
    for batch in done:
        assert batch.duration_s == pytest.approx(job.law.duration_s(batch.rows, executors), rel=1e-9)
        assert sum(batch.parts_s.values()) == pytest.approx(batch.duration_s)


def test_three_executors_tie_with_two_at_four_partitions() -> None:
    job = MicroBatchSettings(row_s=0.001, partitions=4)
    two, three, four = (batches(engine(job, 800.0, executors), 60.0)[-1].duration_s for executors in (2, 3, 4))
    assert two == three == pytest.approx(0.5 + 0.001 * 4000 * 2 / 4)
    assert four == pytest.approx(0.5 + 0.001 * 4000 / 4)


def test_skew_lengthens_a_batch_and_leaves_slots_idle() -> None:
    even, skewed = (replace(ON_SPARK, skew=skew) for skew in (1.0, 1.5))
    (fast,), (slow,) = (reading(engine(job, 1500.0, 4), 120.0).queries for job in (even, skewed))
    assert fast.batch and slow.batch and fast.busyness and slow.busyness
    assert slow.batch.total_s - 0.57 == pytest.approx(1.5 * (fast.batch.total_s - 0.57))
    assert slow.busyness == pytest.approx(fast.busyness)


def test_a_slow_sink_bounds_a_batch_and_the_overhead_grows_with_the_state() -> None:
    job = MicroBatchSettings(row_s=0.0001, sink_s_per_row=0.001, partitions=24)
    two, eight = (batches(engine(job, 600.0, executors), 60.0)[-1].duration_s for executors in (2, 8))
    assert eight > 0.5 + 3.0 and eight > 0.9 * two
    first, *_, last = batches(engine(MicroBatchSettings(state_growth=1e-4), 100.0, 4), 300.0)
    assert last.duration_s - first.duration_s == pytest.approx(0.5 * 1e-4 * (last.started_s - first.started_s) * 100.0)
    assert last.state_rows == pytest.approx(100.0 * last.started_s, abs=1)


def test_batches_start_at_multiples_of_the_interval_or_when_the_last_one_is_late() -> None:
    job = MicroBatchSettings(overhead_s=1.0, row_s=0.001, partitions=1, trigger=Trigger(interval_s=4.0))
    spike = Arrivals.through((0.0, 15.9, 16.0, 20.0, 20.1, 100.0), (100.0, 100.0, 5000.0, 5000.0, 100.0, 100.0))
    done = batches(engine(job, spike, 1), 100.0)
    assert [batch.started_s for batch in done[:4]] == [4.0, 8.0, 12.0, 16.0]
    late = [(before, after) for before, after in pairwise(done) if before.duration_s > 4.0]
    assert late and all(after.started_s == before.committed_s for before, after in late)
    assert done[-1].started_s == 96.0


def test_without_an_interval_batches_follow_each_other_and_a_limit_leaves_rows_to_the_next() -> None:
    done = batches(engine(MicroBatchSettings(trigger=Trigger()), 1000.0, 4), 60.0)
    assert len(done) > 50
    assert all(after.started_s == before.committed_s for before, after in pairwise(done))
    running = engine(MicroBatchSettings(rate_limit_rows_per_s=200.0), 300.0, 4)
    assert {batch.rows for batch in batches(running, 100.0)} == {1000.0}
    assert running.record.seconds().lag_rows[-1] > 9000.0


def test_a_query_without_rows_is_idle_and_starts_at_the_trigger_that_finds_some() -> None:
    silence = Arrivals.through((0.0, 99.0, 99.5, 200.0), (0.0, 0.0, 100.0, 100.0))
    running = engine(MicroBatchSettings(), silence, 2)
    assert batches(running, 90.0) == ()
    running.advance(97.0)
    (query,) = running.observation().queries
    assert (query.idle_s, query.oldest_waiting_s, query.processed_rows) == (97.0, 0.0, 0.0)
    assert batches(running, 120.0)[0].started_s == 100.0


def test_the_latency_of_a_steady_job_is_the_wait_and_the_batch() -> None:
    running = engine(ON_SPARK, 1500.0, 4)
    seen = reading(running, 300.0)
    finished_s, latency_s, rows = running.record.delivered
    settled = finished_s > 60.0
    mean_s = float(latency_s[settled] @ rows[settled] / rows[settled].sum())
    assert mean_s == pytest.approx(latency_by_law_s(ON_SPARK.law, rate_rows_per_s=1500.0, interval_s=3.0, executors=4))
    p95_s = latency_by_law_s(ON_SPARK.law, rate_rows_per_s=1500.0, interval_s=3.0, executors=4, quantile=0.95)
    assert seen.latency and seen.latency.p95_s == pytest.approx(p95_s, rel=0.01)


def test_a_reading_shows_the_throughput_lag_and_busyness_that_follow_from_the_law() -> None:
    seen = reading(engine(ON_SPARK, 1500.0, 4), 300.0)
    assert seen.arrival_rows_per_s == pytest.approx(1500.0) and seen.throughput_rows_per_s == pytest.approx(1500.0)
    assert seen.busyness == pytest.approx(0.00119 * 1500.0 / 4) and seen.excess_lag_rows == 0.0
    assert [executor.throughput_rows_per_s for executor in seen.executors] == [pytest.approx(375.0, rel=0.01)] * 4


@given(
    points=st.lists(st.floats(0.0, 3000.0), min_size=2, max_size=6), executors=st.integers(1, 5), executor_counts=st.lists(st.integers(1, 6), max_size=4),
    strikes=st.lists(st.tuples(st.integers(0, 200), st.sampled_from(["kill", "freeze"])), max_size=3), interval_s=st.sampled_from([0.0, 2.0, 7.5]),
    limit=st.sampled_from([None, 500.0]), seed=st.integers(0, 5),
)  # fmt: skip
@settings(max_examples=15, deadline=None)
def test_no_row_is_lost_or_invented(
    points: list[float], executors: int, executor_counts: list[int], strikes: list[tuple[int, str]], interval_s: float, limit: float | None, seed: int
) -> None:
    job = MicroBatchSettings(overhead_s=1.0, row_s=0.001, partitions=6, trigger=Trigger(interval_s=interval_s), rate_limit_rows_per_s=limit, noise=0.2)
    arrivals = Arrivals.through(np.linspace(0.0, 200.0, len(points)), points)
    faults = tuple(Fault(at_s=float(at_s), kind=kind) for at_s, kind in strikes)  # type: ignore[arg-type]
    running, committed_rows = engine(job, arrivals, executors, faults, seed), 0.0
    for turn, wanted in enumerate([*executor_counts, 2]):
        committed_rows += sum(batch.rows for batch in batches(running, 41.3 * (turn + 1)))
        running.perform(scaling(turn, 0, wanted), lambda outcome: None)
    committed_rows += sum(batch.rows for batch in batches(running, 300.0))
    seconds = running.record.seconds()
    assert len(running.record) == 300
    arrived, finished = np.cumsum(seconds.arrived_rows), np.cumsum(seconds.finished_rows)
    assert arrived[-1] == pytest.approx(arrivals.rows(0.0, 300.0))
    np.testing.assert_allclose(seconds.lag_rows, arrived - finished, atol=1e-6 * max(1.0, arrived[-1]))
    assert committed_rows == pytest.approx(finished[-1], abs=1e-3)
    assert running.record.delivered[2].sum() == pytest.approx(finished[-1], abs=1e-3)
    assert (running.record.delivered[1] >= 0.0).all()


def test_one_seed_is_one_run() -> None:
    job, faults = replace(ON_SPARK, noise=0.1), (Fault(at_s=50.0), Fault(at_s=90.0, kind="freeze"))
    first, same, other = (batches(engine(job, 1500.0, 4, faults, seed), 200.0) for seed in (3, 3, 4))
    assert first == same
    assert [batch.duration_s for batch in first] != [batch.duration_s for batch in other]


def test_it_does_not_matter_in_how_many_steps_a_run_is_made() -> None:
    job, faults = replace(ON_SPARK, noise=0.1), (Fault(at_s=50.0, kind="freeze"),)
    whole, parts = engine(job, 1500.0, 4, faults), engine(job, 1500.0, 4, faults)
    at_once = batches(whole, 200.0)
    assert at_once == tuple(batch for step in range(1, 287) for batch in batches(parts, min(200.0, 0.7 * step)))
    for name in ("executors", "finished_rows", "lag_rows", "latency_s", "oldest_s"):
        np.testing.assert_allclose(getattr(whole.record.seconds(), name), getattr(parts.record.seconds(), name), atol=1e-6)


def test_settings_that_cannot_be_are_a_mistake_in_one_line() -> None:
    for wrong in ({"trigger": Trigger.parse("realtime:5s")}, {"partitions": 0}, {"skew": 0.5}, {"row_s": -1.0}, {"overhead_s": 0.0, "row_s": 0.0}):
        with pytest.raises(UserMistake) as mistake:
            replace(MicroBatchSettings(), **wrong)
        assert "\n" not in str(mistake.value)


@pytest.mark.parametrize("name", NOT_NEGATIVE)
@pytest.mark.parametrize("value", [-1.0, float("nan")])
def test_no_time_or_cost_is_negative(name: str, value: float) -> None:
    wrong: dict[str, Any] = {name: value}
    with pytest.raises(UserMistake, match=f"^{name}: found {value:g}, "):
        MicroBatchSettings(**wrong)
    assert {"retry_s", "timeout_s", "gap_wait_s", "commit_wait_s", "warm_up_factor"} <= set(NOT_NEGATIVE)


@pytest.mark.slow
def test_six_hours_are_quick() -> None:
    day = Arrivals.through(np.arange(0.0, 21_601.0, 60.0), 1500.0 + 1000.0 * np.sin(np.arange(0.0, 21_601.0, 60.0) / 3600.0))
    clock, began = SimulatedClock(0.0), time.perf_counter()
    running = engine(replace(ON_SPARK, noise=0.05), day, 8)
    plant = SimulatedPlant(running, clock, Config(reading_interval_s=15.0))
    for _ in range(1440):
        clock.wait(15.0)
        plant.read()
    print(f"six hours in micro-batches of 3 s: {time.perf_counter() - began:.2f} s")
    assert len(running.record) == 21_600


def test_a_crash_on_spark_is_a_longer_batch_and_two_slow_ones() -> None:
    done = batches(engine(ON_SPARK, 1800.0, 4, (Fault(at_s=31.0),)), 90.0)
    struck = next(place for place, batch in enumerate(done) if batch.committed_s > 31.0)
    measured_s = (4.9, 4.0, 3.0)
    assert [batch.duration_s for batch in done[struck : struck + 3]] == [pytest.approx(seconds, rel=0.2) for seconds in measured_s]
    assert done[-1].duration_s == pytest.approx(ON_SPARK.law.duration_s(5400.0, 4), rel=0.02)


def test_a_frozen_executor_stalls_one_batch_and_the_recursion_catches_up() -> None:
    running = engine(ON_SPARK, 1800.0, 4, (Fault(at_s=31.0, kind="freeze"),))
    done = batches(running, 150.0)
    struck = next(place for place, batch in enumerate(done) if batch.committed_s > 31.0)
    measured = ((5400.0, 23.9), (43_200.0, 18.1), (32_400.0, 10.0), (18_000.0, 5.9), (10_800.0, 3.9), (7_200.0, 2.7))
    for batch, (rows, duration_s) in zip(done[struck:], measured, strict=False):
        assert batch.rows == pytest.approx(rows, rel=0.2) and batch.duration_s == pytest.approx(duration_s, rel=0.2)
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
    assert len(running.observation().executors) == 3 and set(running.record.seconds().executors) == {3.0}


def test_the_only_executor_takes_the_whole_batch_with_it_which_begins_again_on_a_cold_one() -> None:
    job = replace(ON_SPARK, partitions=4)
    batch = next(batch for batch in batches(engine(job, 100.0, 1, (Fault(at_s=9.5),)), 60.0) if batch.started_s == 9.0)
    alone_s = job.law.duration_s(300.0, 1)
    assert batch.committed_s == pytest.approx(9.5 + 2.5 + 2.0 + alone_s + cold_work_s(alone_s, 2.0))


@pytest.mark.parametrize(
    ("executors", "tasks", "victim", "longer_s"), [(4, 12, "1", 3.0), (2, 12, "2", 8.0), (4, 4, "3", 3.0), (3, 12, "1", 4.0), (4, 1, "1", 3.0), (4, 1, "2", 0)]
)
def test_whole_tasks_of_a_lost_executor_are_run_again_in_waves(executors: int, tasks: int, victim: str, longer_s: float) -> None:
    """Tasks of 1 s and 2 s for the retry: three of one of four executors run at once on the others, six of one of two one after the other."""
    job = MicroBatchSettings(overhead_s=0.0, row_s=0.001, partitions=tasks)
    batch = planned_batch(job, Pool.warm(executors, 0.0).running, 0, 0.0, 1000.0 * tasks, 10.0, noise=0.0)
    assert batch.without(victim, executors - 1, 2.0).duration_s - batch.duration_s == pytest.approx(longer_s)


def test_many_rounds_of_tasks_share_what_a_new_executor_loses_and_a_single_one_waits_for_it() -> None:
    for rounds in (1, 12):
        job = MicroBatchSettings(overhead_s=0.5, row_s=0.004 / rounds, partitions=4 * rounds)
        executors = [*Pool.warm(3, 0.0).running, Executor(executor_id="4", added_s=7.0, cold_since_s=7.0)]
        batch = planned_batch(job, executors, 0, 0.0, 1000.0 * rounds, 10.0, noise=0.0)
        longer_s, lost_s = batch.duration_s - job.law.duration_s(1000.0 * rounds, 4), cold_work_s(1.5 if rounds > 1 else 1.0, 3.0)
        assert longer_s == pytest.approx(lost_s if rounds == 1 else lost_s / 4)
        assert batch.tasks_s == pytest.approx(4.0 * (1.0 + cold_work_s(1.5, 3.0) / 4 / 1.5)), "of one executor"


def test_a_query_that_fails_takes_its_batch_in_again_and_keeps_its_executors() -> None:
    running = engine(replace(ON_SPARK, failed_s=4.0), 100.0, 2, (Fault(at_s=9.3, kind="restart"),))
    running.advance(10.0)
    seen = running.observation()
    assert (seen.executors_lost, len(seen.executors), seen.disturbed_s) == (0, 2, 9.3)
    assert (seen.queries[0].failures, seen.queries[0].state) == (1, "restarting")
    batch, after, *_ = batches(running, 60.0)
    assert (batch.started_s, batch.rows) == (pytest.approx(13.3), pytest.approx(300.0 + 430.0)), "what was not committed, and what came since"
    seen = running.observation()
    assert (seen.queries[0].failures, seen.queries[0].state, seen.queries[0].started_s) == (1, "running", pytest.approx(13.3))
    assert running.record.seconds().down.sum() == pytest.approx(4.0) and set(running.record.seconds().executors) == {2.0}
    (struck,) = running.record.struck
    assert struck.kind == "restart" and struck.recovered_s == pytest.approx(after.committed_s), "with the first rows that did not wait for it"


def test_executors_that_wait_for_a_gap_leave_when_the_query_fails() -> None:
    job = MicroBatchSettings(overhead_s=1.0, row_s=0.01, partitions=4, trigger=Trigger(interval_s=20.0))
    running = engine(job, 120.0, 4, (Fault(at_s=42.0, kind="restart"),))
    scaled(running, 41.0, 2)
    running.advance(42.5)
    assert len(running.observation().executors) == 2
