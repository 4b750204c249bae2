import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import filling

from penstock.core.config import Config
from penstock.core.domain.cadence import Cadence
from penstock.core.domain.reading import Quantiles, QueryReading, Reading
from penstock.core.domain.trigger import Trigger
from penstock.core.monitor.facts import ArrivalSample, BatchFact, ExecutorFact, ExecutorShare, Observation, OutputSample, QueryFacts, StageFact
from penstock.core.monitor.flow import healthy_lag_rows
from penstock.core.monitor.observe import Memory, observe


@given(rate=st.floats(0.0, 1e6), interval_s=st.floats(0.1, 600.0), busy=st.floats(0.0, 1.0), now_s=st.floats(0.0, 1e5))
def test_no_phase_of_a_healthy_sawtooth_is_above_its_healthy_lag(rate: float, interval_s: float, busy: float, now_s: float) -> None:
    batch_s = busy * interval_s
    last_committed = math.floor((now_s - batch_s) / interval_s)
    lag_rows = rate * (now_s - max(0.0, last_committed * interval_s))
    assert lag_rows <= healthy_lag_rows(rate, filling(interval_s), batch_s) * (1 + 1e-9) + 1e-6 * rate


@given(rate=st.floats(0.0, 1e6), batch_s=st.floats(0.01, 60.0), phase=st.floats(0.0, 1.0))
def test_nor_is_one_of_batches_that_follow_each_other(rate: float, batch_s: float, phase: float) -> None:
    """Just before a commit, the rows since the start of the batch before the running one are still to be committed."""
    assert rate * batch_s * (1 + phase) <= healthy_lag_rows(rate, Cadence(interval_s=0.0, longest_s=60.0), batch_s) * (1 + 1e-9)


@given(rate=st.floats(0.0, 1e6), interval_s=st.floats(0.0, 600.0), batch_s=st.floats(0.0, 600.0))
def test_a_query_that_cannot_keep_up_is_allowed_no_more_than_two_of_the_longest_batches(rate: float, interval_s: float, batch_s: float) -> None:
    if interval_s > 0:
        assert healthy_lag_rows(rate, filling(interval_s), batch_s) <= 2 * rate * interval_s * (1 + 1e-9)


CONFIG = Config(reading_interval_s=5.0, reading_window_s=15.0)
REAL_TIME = Trigger(kind="real_time", interval_s=15.0)
WALL_S = 1_700_000_000.0


def real_time(**facts: Any) -> QueryFacts:
    return QueryFacts(**{"name": "q", "state": "running", "trigger": REAL_TIME, "rate_limit_rows_per_s": None, "started_s": 0.0, **facts})


def seen(at_s: float, *queries: QueryFacts, executors: tuple[str, ...] = ("1", "2")) -> Observation:
    alive = tuple(ExecutorFact(executor_id=each, host="h", slots=4, added_s=0.0) for each in executors)
    return Observation(at_s=at_s, started_s=0.0, disturbed_s=None, executors_requested=2, executors=alive, queries=queries)


def batch(number: int, *, interval_s: float = 15.0, pause_s: float | None = None) -> BatchFact:
    """A batch of 100 rows/s, whose slots are full all the time, and whose rows all waited 9 s for their commit."""
    committed_s = (number + 1) * interval_s
    shares = tuple(ExecutorShare(executor_id=each, task_time_s=4 * interval_s, rows=int(50 * interval_s)) for each in ("1", "2"))
    stage = StageFact(position=0, name="source", tasks=8, run_time_s=8 * interval_s, rows=int(100 * interval_s), reads_source=True, shares=shares)
    arrivals = ArrivalSample(rows=100 * interval_s, probabilities=(0.0, 1.0), wall_s=(WALL_S + committed_s - 9.0,) * 2)
    return BatchFact(
        batch_id=number, started_s=committed_s - interval_s, committed_s=committed_s, committed_wall_s=WALL_S + committed_s, rows=100 * interval_s,
        parts_s={"addBatch": interval_s}, arrivals=(arrivals,), stages=(stage,), state_rows=7 * number, pause_s=pause_s,
    )  # fmt: skip


def looked(*observations: Observation, config: Config = CONFIG) -> list[Reading]:
    memory, found = Memory(), []
    for observation in observations:
        memory, reading = observe(memory, observation, config)
        found.append(reading)
    return found


def only(reading: Reading) -> QueryReading:
    (query,) = reading.queries
    return query


@given(slope=st.floats(0.0, 1e6), gaps_s=st.lists(st.floats(0.05, 40.0), min_size=1, max_size=20))
def test_the_throughput_of_a_counter_that_grows_evenly_is_its_slope_for_any_spacing_of_looks(slope: float, gaps_s: list[float]) -> None:
    times_s = np.cumsum([1.0, *gaps_s]).tolist()
    found = looked(*(seen(at_s, real_time(read_rows=slope * at_s, executor_rows={"1": 0.75 * slope * at_s, "2": 0.25 * slope * at_s})) for at_s in times_s))
    assert found[0].throughput_rows_per_s is None
    assert [reading.throughput_rows_per_s for reading in found[1:]] == pytest.approx([slope] * len(gaps_s), rel=1e-6, abs=1e-6)
    assert [each.throughput_rows_per_s for each in found[-1].executors] == pytest.approx([0.75 * slope, 0.25 * slope], rel=1e-6, abs=1e-6)


@given(st.lists(st.floats(0.0, 1e9), min_size=2, max_size=12))
def test_no_counter_gives_a_negative_rate_whatever_it_shows(counts: list[float]) -> None:
    for reading in looked(*(seen(5.0 * i, real_time(read_rows=rows, newest_rows=rows, executor_rows={"1": rows})) for i, rows in enumerate(counts))):
        for rate in (reading.throughput_rows_per_s, reading.arrival_rows_per_s, reading.executors[0].throughput_rows_per_s):
            assert rate is None or rate >= 0.0


def test_a_counter_that_began_anew_is_measured_from_there() -> None:
    found = looked(*(seen(5.0 * i, real_time(read_rows=each)) for i, each in enumerate([1000.0, 1500.0, 40.0, 540.0, 1040.0])))
    assert [reading.throughput_rows_per_s for reading in found] == [None, 100.0, None, 100.0, 100.0]


def test_throughput_is_that_of_the_last_window_and_does_not_wait_for_a_commit() -> None:
    rows = np.cumsum([0.0] + [500.0] * 6 + [2000.0] * 3).tolist()
    found = looked(*(seen(5.0 * i, real_time(read_rows=each)) for i, each in enumerate(rows)))
    assert [reading.throughput_rows_per_s for reading in found[6:]] == pytest.approx([100.0, 200.0, 300.0, 400.0])


def test_without_live_counts_throughput_is_unknown_though_batches_commit() -> None:
    last = looked(seen(46.0, real_time(batches=tuple(batch(each) for each in range(3)))))[-1]
    assert last.throughput_rows_per_s is None and [each.throughput_rows_per_s for each in last.executors] == [None, None]
    assert only(last).batches == 1 and only(last).state_rows == 14
    assert only(last).batch is not None and only(last).stages[0].rows_per_s == pytest.approx(100.0)


def test_lag_counts_what_was_processed_since_the_last_heartbeat() -> None:
    facts = [real_time(newest_rows=100.0 * at_s, processed_rows=100.0 * (at_s - 0.5), read_rows=100.0 * (at_s - 0.5), stale_s=0.3) for at_s in (10.0, 15.0)]
    first, second = looked(*(seen(at_s, each) for at_s, each in zip((10.0, 15.0), facts, strict=True)))
    assert first.lag_rows == pytest.approx(50.0)
    assert second.lag_rows == pytest.approx(20.0) and second.lag_s == pytest.approx(0.2)


@given(newest=st.floats(0.0, 1e9), processed=st.floats(0.0, 1e9), rate=st.floats(0.0, 1e6), stale_s=st.floats(0.0, 60.0))
def test_lag_and_excess_are_never_negative_and_the_excess_is_never_more_than_the_lag(newest: float, processed: float, rate: float, stale_s: float) -> None:
    facts = real_time(newest_rows=newest, processed_rows=processed, stale_s=stale_s, read_rows=5.0 * rate, batches=(batch(0, pause_s=1.0),))
    _, reading = looked(seen(15.0, real_time(newest_rows=0.0, read_rows=0.0)), seen(20.0, facts))
    assert reading.lag_rows is not None and reading.excess_lag_rows is not None
    assert 0.0 <= reading.excess_lag_rows <= reading.lag_rows <= max(0.0, newest - processed)


def test_what_arrives_in_the_longest_pause_of_the_window_is_no_excess() -> None:
    def facts(at_s: float, lag: float, *batches: BatchFact) -> QueryFacts:
        return real_time(newest_rows=100.0 * at_s, processed_rows=100.0 * at_s - lag, batches=batches)

    batches = [batch(number, interval_s=5.0, pause_s=pause_s) for number, pause_s in enumerate((9.0, None, 1.5, 0.8))]
    first, second = looked(seen(15.0, facts(15.0, 0.0, *batches[:3])), seen(20.0, facts(20.0, 180.0, batches[3])))
    assert first.excess_lag_rows is None and only(first).boundary_pause_s == 1.5
    assert second.excess_lag_rows == pytest.approx(180.0 - 150.0)
    assert only(second).boundary_pause_s == 0.8


def test_before_the_first_boundary_all_lag_is_excess() -> None:
    facts = [real_time(newest_rows=100.0 * at_s, processed_rows=100.0 * at_s - 70.0) for at_s in (5.0, 10.0)]
    last = looked(seen(5.0, facts[0]), seen(10.0, facts[1]))[-1]
    assert last.excess_lag_rows == pytest.approx(70.0) and only(last).boundary_pause_s is None


def test_the_last_pause_that_is_known_stays_until_there_is_a_newer_one() -> None:
    found = looked(
        seen(16.0, real_time(batches=(batch(0, pause_s=None),))),
        seen(31.0, real_time(batches=(batch(1, pause_s=0.7),))),
        seen(46.0, real_time(batches=(batch(2, pause_s=None),))),
    )
    assert [only(reading).boundary_pause_s for reading in found] == [None, 0.7, 0.7]


def test_latency_is_that_of_the_output_and_never_that_of_the_commit() -> None:
    def outputs(at_s: float, *latencies_s: float) -> tuple[OutputSample, ...]:
        return tuple(OutputSample(wall_s=WALL_S + at_s, latency_s=each, rows=10.0) for each in latencies_s)

    found = looked(
        seen(16.0, real_time(batches=(batch(0),))), seen(21.0, real_time(outputs=outputs(20.0, 0.03, 0.05))),
        seen(26.0, real_time(outputs=outputs(25.0, 0.9))), seen(37.0, real_time(outputs=outputs(36.5, 0.04))), seen(99.0, real_time()),
    )  # fmt: skip
    p = [None if reading.latency is None else (reading.latency.p50_s, reading.latency.p95_s) for reading in found]
    assert p == [None, (0.03, 0.05), (0.05, 0.9), (0.04, 0.9), None]


def test_output_from_before_its_input_is_clock_skew() -> None:
    (reading,) = looked(seen(16.0, real_time(outputs=(OutputSample(wall_s=WALL_S, latency_s=-3.0, rows=1.0),))))
    assert reading.latency is None and only(reading).clock_skew_s == 3.0


def micro_batch(at_s: float, *batches: BatchFact) -> QueryFacts:
    return replace(real_time(newest_rows=100.0 * at_s, processed_rows=100.0 * at_s, batches=batches), name="m", trigger=Trigger(interval_s=15.0))


def test_one_real_time_query_makes_the_busyness_of_its_executors_unknown_and_its_rows_are_added() -> None:
    def both(at_s: float, *batches: BatchFact) -> Observation:
        return seen(at_s, micro_batch(at_s, *batches), real_time(read_rows=300.0 * at_s, executor_rows={"1": 300.0 * at_s}, batches=batches))

    alone = looked(seen(16.0, micro_batch(16.0, batch(0))), seen(31.0, micro_batch(31.0, batch(1))))[-1]
    assert alone.busyness == pytest.approx(1.0) and [each.throughput_rows_per_s for each in alone.executors] == pytest.approx([50.0, 50.0])
    mixed = looked(both(16.0, batch(0)), both(31.0, batch(1)))[-1]
    batched, continuous = mixed.queries
    assert mixed.busyness is None and [each.busyness for each in mixed.executors] == [None, None]
    assert batched.busyness == pytest.approx(1.0) and batched.stages[0].busyness == pytest.approx(1.0)
    assert continuous.busyness is None and continuous.stages[0].busyness is None and continuous.stages[0].run_time_s_per_s == pytest.approx(8.0)
    assert [each.throughput_rows_per_s for each in mixed.executors] == pytest.approx([350.0, 50.0])
    assert mixed.throughput_rows_per_s == pytest.approx(400.0)


def test_executors_that_are_gone_are_forgotten_and_one_without_tasks_reads_nothing() -> None:
    memory, _ = observe(Memory(), seen(5.0, real_time(executor_rows={"1": 10.0, "2": 10.0})), CONFIG)
    memory, reading = observe(memory, seen(10.0, real_time(executor_rows={"1": 510.0, "2": 20.0}), executors=("1", "3")), CONFIG)
    assert [each.throughput_rows_per_s for each in reading.executors] == [100.0, 0.0]
    assert set(memory.live["q"].executors) == {"1"}


def test_a_query_that_went_back_to_micro_batches_is_read_from_its_commits() -> None:
    memory, _ = observe(Memory(), seen(15.5, real_time(read_rows=900.0, outputs=(OutputSample(wall_s=WALL_S, latency_s=0.1, rows=1.0),))), CONFIG)
    later = replace(real_time(batches=(batch(0), batch(1))), trigger=Trigger(interval_s=15.0))
    memory, reading = observe(memory, seen(31.0, later), CONFIG)
    assert memory.live == {}
    assert reading.throughput_rows_per_s == pytest.approx(100.0)
    assert reading.latency == Quantiles(p50_s=9.0, p95_s=9.0, p99_s=9.0)


@pytest.mark.parametrize("trigger", [REAL_TIME, Trigger(interval_s=5.0)], ids=str)
def test_rows_of_the_running_batch_and_replayed_rows_are_passed_on_in_both_modes(trigger: Trigger) -> None:
    first, second = looked(seen(5.0, real_time(trigger=trigger)), seen(10.0, real_time(trigger=trigger, in_batch_rows=120.0, replayed_rows=30.0)))
    assert (only(first).in_batch_rows, only(first).replayed_rows) == (None, 0.0)
    assert (only(second).in_batch_rows, only(second).replayed_rows) == (120.0, 30.0)


def test_a_query_that_runs_for_long_needs_no_more_memory() -> None:
    memory = Memory()
    for number in range(200):
        at_s = 5.0 * number
        outputs = tuple(OutputSample(wall_s=WALL_S + at_s - each, latency_s=0.1, rows=1.0) for each in range(5))
        facts = real_time(read_rows=at_s, newest_rows=at_s, executor_rows={str(number): at_s, "1": at_s}, outputs=outputs)
        memory, _ = observe(memory, seen(at_s, facts, executors=("1", str(number))), CONFIG)
    live = memory.live["q"]
    assert len(live.read) <= 4 and set(live.executors) == {"1", "199"} and len(live.outputs) <= 20


class Heartbeats:
    """A topic of evenly arriving rows and executors that tell at heartbeats, each at its own moments, how many of their share they have read."""

    def __init__(self, seed: int, *, arrival: float, capacity: float, executors: int, every_s: float, until_s: float) -> None:
        chance = np.random.default_rng(seed)
        self.arrival, self.speed, self.executors = arrival, min(arrival, capacity), executors
        beats = int(until_s / every_s)
        self.told_s = [np.arange(beats) * every_s + chance.uniform(0.0, every_s) + chance.uniform(0.0, 0.2 * every_s, beats) for _ in range(executors)]
        self.looks_s = 2.0 * np.arange(2, int(until_s / 2.0)) + chance.uniform(0.0, 0.2, int(until_s / 2.0) - 2)

    def read(self, at_s: float) -> float:
        """Rows read in truth: 30 ms after they arrived, or as fast as the executors can."""
        return self.speed * max(0.0, at_s - 0.03)

    def look(self, at_s: float) -> QueryFacts:
        last_s = [float(each[each <= at_s][-1]) for each in self.told_s]
        rows = {str(number): float(np.floor(self.read(told_s) / self.executors)) for number, told_s in enumerate(last_s)}
        counted = sum(rows.values())
        return real_time(
            newest_rows=float(np.floor(self.arrival * at_s)), processed_rows=counted, in_batch_rows=counted, read_rows=counted, executor_rows=rows,
            stale_s=at_s - float(np.mean(last_s)),
        )  # fmt: skip


@pytest.mark.parametrize("capacity", [1e9, 1_700.0], ids=["keeps up", "falls behind"])
@pytest.mark.parametrize("seed", range(5))
def test_counts_by_heartbeat_are_within_three_percent_of_the_truth_nine_times_in_ten(seed: int, capacity: float) -> None:
    config = Config(reading_interval_s=2.0, reading_window_s=10.0)
    source = Heartbeats(seed, arrival=2_000.0, capacity=capacity, executors=4, every_s=0.5, until_s=200.0)
    alive = tuple(str(each) for each in range(source.executors))
    readings = looked(*(seen(float(at_s), source.look(float(at_s)), executors=alive) for at_s in source.looks_s), config=config)
    settled = [reading for reading in readings if reading.at_s >= source.looks_s[0] + config.reading_window_s]
    assert len(settled) > 80
    arrival = [abs((each.arrival_rows_per_s or 0.0) / 2_000.0 - 1.0) for each in settled]
    throughput = [abs((each.throughput_rows_per_s or 0.0) / source.speed - 1.0) for each in settled]
    lag = [abs((each.lag_rows or 0.0) - (source.arrival * each.at_s - source.read(each.at_s))) / (2_000.0 * config.reading_window_s) for each in settled]
    assert np.quantile([arrival, throughput, lag], 0.9, axis=1).max() <= 0.03
