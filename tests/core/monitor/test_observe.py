import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.config import Config
from penstock.core.domain.reading import PartitionReading, QueryReading, Reading
from penstock.core.domain.trigger import Trigger
from penstock.core.monitor.facts import ArrivalSample, BatchFact, ExecutorFact, ExecutorShare, Observation, PartitionFact, QueryFacts, StageFact
from penstock.core.monitor.observe import Memory, observe

CONFIG = Config()
EPOCH_S = 1_700_000_000.0


class Sawtooth:
    """A healthy query: every interval a batch takes in what has arrived; `batch_s` says how long the n-th takes."""

    def __init__(self, rate: float, interval_s: float, batch_s: Callable[[int], float], *, phase_s: float = 0.0, name: str = "q") -> None:
        self.rate, self.interval_s, self.batch_s, self.phase_s, self.name = rate, interval_s, batch_s, phase_s, name
        self.reported = 0

    def start_s(self, number: int) -> float:
        return EPOCH_S + self.phase_s + number * self.interval_s

    def commit_s(self, number: int) -> float:
        return self.start_s(number) + self.batch_s(number)

    def rows_by(self, at_s: float) -> float:
        return self.rate * (at_s - EPOCH_S)

    def batch(self, number: int) -> BatchFact:
        start_s = self.start_s(number)
        rows = self.rows_by(start_s) - (self.rows_by(self.start_s(number - 1)) if number else 0.0)
        shares = (
            ExecutorShare(executor_id="1", task_time_s=0.3 * self.interval_s, rows=300),
            ExecutorShare(executor_id="2", task_time_s=0.1 * self.interval_s, rows=100),
        )
        stage = StageFact(position=0, name="source", tasks=4, run_time_s=0.4 * self.interval_s, rows=400, reads_source=True, shares=shares)
        commit_s = self.commit_s(number)
        return BatchFact(
            batch_id=number, started_s=start_s, committed_s=commit_s, committed_wall_s=commit_s, rows=rows, stages=(stage,),
            parts_s={"addBatch": self.batch_s(number)}, state_rows=7 * number,
        )  # fmt: skip

    def look(self, at_s: float) -> QueryFacts:
        new = []
        while self.commit_s(self.reported) <= at_s:
            new.append(self.batch(self.reported))
            self.reported += 1
        processed = self.rows_by(self.start_s(self.reported - 1)) if self.reported else 0.0
        return QueryFacts(
            name=self.name, state="running", trigger=Trigger(interval_s=self.interval_s), rate_limit_rows_per_s=None, started_s=EPOCH_S, batches=tuple(new),
            newest_rows=self.rows_by(at_s), processed_rows=processed, partitions=4,
        )  # fmt: skip


def seen(at_s: float, *queries: QueryFacts, **more: Any) -> Observation:
    executors = tuple(ExecutorFact(executor_id=each, host="h", slots=1, added_s=EPOCH_S) for each in ("1", "2"))
    return Observation(
        **{"at_s": at_s, "started_s": EPOCH_S, "disturbed_s": None, "executors_requested": 2, "executors": executors, "queries": queries, **more}
    )


def readings(query: Sawtooth, times_s: Iterable[float]) -> list[Reading]:
    memory, found = Memory(), []
    for at_s in times_s:
        memory, reading = observe(memory, seen(at_s, query.look(at_s)), CONFIG)
        found.append(reading)
    return found


def only(reading: Reading) -> QueryReading:
    (query,) = reading.queries
    return query


@given(
    rate=st.floats(1.0, 1e5), interval_s=st.floats(0.5, 40.0), busy=st.floats(0.05, 1.0), phase=st.floats(0.0, 1.0), every_s=st.floats(0.7, 20.0),
    number=st.integers(2, 30),
)  # fmt: skip
@settings(max_examples=60)
def test_at_every_phase_of_a_healthy_sawtooth_the_rates_are_exact_and_no_lag_is_in_excess(
    rate: float, interval_s: float, busy: float, phase: float, every_s: float, number: int
) -> None:
    query = Sawtooth(rate, interval_s, lambda _: busy * interval_s, phase_s=phase * interval_s)
    for reading in readings(query, [EPOCH_S + each * every_s for each in range(1, number)])[1:]:
        assert reading.arrival_rows_per_s == pytest.approx(rate, rel=1e-6)
        measured = only(reading)
        if measured.batch_id is not None and measured.batch_id >= 2:
            assert reading.throughput_rows_per_s == pytest.approx(rate, rel=1e-5)
            assert sum(each.throughput_rows_per_s or 0.0 for each in reading.executors) == pytest.approx(rate, rel=1e-5)
        if measured.batch_id is not None and measured.batch_id >= 1:
            assert reading.excess_lag_rows == pytest.approx(0.0, abs=1e-5 * rate)
            assert reading.busyness == pytest.approx(measured.busyness, rel=1e-6)


def test_batches_of_unlike_length_are_healthy_too() -> None:
    query = Sawtooth(100.0, 5.0, lambda number: 4.0 if number % 2 else 1.0)
    for reading in readings(query, [EPOCH_S + 0.7 * each for each in range(100)])[30:]:
        assert reading.excess_lag_rows == pytest.approx(0.0, abs=1e-3)


def test_reading_twice_in_an_instant_does_not_distort_the_arrival_rate() -> None:
    query = Sawtooth(100.0, 5.0, lambda _: 1.0)
    query.rows_by = lambda at_s: float(math.floor(100.0 * (at_s - EPOCH_S)))  # type: ignore[method-assign]
    times_s = [EPOCH_S + each + hair for each in range(5, 60, 5) for hair in (0.0, 0.001, 0.004)]
    assert [reading.arrival_rows_per_s for reading in readings(query, times_s)[3:]] == pytest.approx([100.0] * (len(times_s) - 3), abs=0.5)


def test_the_first_reading_knows_no_rates() -> None:
    reading = readings(Sawtooth(100.0, 5.0, lambda _: 1.0), [EPOCH_S + 0.5])[0]
    assert reading.arrival_rows_per_s is None and reading.throughput_rows_per_s is None
    assert reading.excess_lag_rows is None and reading.latency is None and reading.busyness is None
    assert only(reading).batch_id is None and only(reading).since_commit_s is None
    assert reading.lag_rows == pytest.approx(50.0)


def test_the_rest_of_a_reading_is_as_the_batches_say() -> None:
    reading = readings(Sawtooth(100.0, 5.0, lambda _: 2.0), [EPOCH_S + 5.0 * each for each in range(1, 13)])[-1]
    measured = only(reading)
    assert (measured.batch_id, measured.batches, measured.state_rows) == (11, 3, 77)
    assert measured.since_commit_s == pytest.approx(3.0)
    assert measured.batch is not None and measured.batch.total_s == pytest.approx(2.0) and measured.batch.parts_s == {"addBatch": pytest.approx(2.0)}
    assert [executor.busyness for executor in reading.executors] == pytest.approx([0.3, 0.1])
    assert [executor.throughput_rows_per_s for executor in reading.executors] == pytest.approx([75.0, 25.0], rel=1e-5)
    assert measured.stages[0].rows_per_s == pytest.approx(80.0) and measured.stages[0].busyness == pytest.approx(0.2)
    assert reading.lag_rows == pytest.approx(500.0) and reading.lag_s == pytest.approx(5.0)
    assert (reading.uptime_s, reading.executors_running, reading.executors_requested) == (60.0, 2, 2)


def test_a_stalled_query_still_shows_its_last_batch_while_its_excess_grows() -> None:
    found = readings(Sawtooth(100.0, 5.0, lambda number: 2.0 if number < 5 else 1e9), [EPOCH_S + 5.0 * each for each in range(1, 40)])
    last = only(found[-1])
    assert found[-1].throughput_rows_per_s == 0.0 and found[-1].busyness == 0.0
    assert (last.batch_id, last.batches, last.state_rows) == (4, 0, 28)
    assert last.since_commit_s == pytest.approx(195.0 - 22.0)
    assert last.excess_lag_rows == pytest.approx(100.0 * (195.0 - 20.0 - 7.0))
    assert last.batch is None and last.latency is None


def test_an_idle_query_reads_nothing() -> None:
    query = Sawtooth(100.0, 5.0, lambda number: 1.0 if number < 3 else 1e9)
    memory, _ = observe(Memory(), seen(EPOCH_S + 20.0, query.look(EPOCH_S + 20.0)), CONFIG)
    for at_s in (60.0, 65.0, 500.0):
        idle = replace(query.look(EPOCH_S + at_s), idle_s=EPOCH_S + at_s - 1.0, newest_rows=1000.0, processed_rows=1000.0)
        memory, reading = observe(memory, seen(EPOCH_S + at_s, idle), CONFIG)
    assert reading.throughput_rows_per_s == 0.0 and reading.arrival_rows_per_s == 0.0
    assert reading.lag_rows == 0.0 and reading.lag_s == 0.0 and reading.excess_lag_rows == 0.0


def test_a_query_that_is_idle_before_its_first_batch_hides_nothing_of_the_job() -> None:
    busy, memory = Sawtooth(100.0, 5.0, lambda _: 2.0), Memory()
    empty = replace(busy.look(EPOCH_S), name="empty", batches=(), newest_rows=0.0, processed_rows=0.0)
    for second in (10.0, 20.0, 30.0):
        at_s = EPOCH_S + second
        memory, reading = observe(memory, seen(at_s, busy.look(at_s), replace(empty, idle_s=at_s - 1.0)), CONFIG)
    assert reading.throughput_rows_per_s == pytest.approx(100.0) and reading.excess_lag_rows == pytest.approx(0.0)
    _, starting = observe(Memory(), seen(EPOCH_S, empty), CONFIG)
    assert starting.throughput_rows_per_s is None, "one that has not said so may be in its first batch"


def test_slots_that_tasks_hold_all_the_time_ask_for_executors() -> None:
    held = QueryFacts(name="q", state="running", trigger=Trigger(), rate_limit_rows_per_s=None, started_s=EPOCH_S, slots_held=6)
    executors = tuple(ExecutorFact(executor_id=each, host="h", slots=4, added_s=EPOCH_S) for each in ("1", "2", "3"))
    assert observe(Memory(), seen(EPOCH_S, held, executors=executors), CONFIG)[1].least_executors == 2
    assert observe(Memory(), seen(EPOCH_S, replace(held, slots_held=0), executors=executors), CONFIG)[1].least_executors == 0


def test_what_is_unknown_of_one_query_is_unknown_of_the_whole_job() -> None:
    tells, silent = Sawtooth(100.0, 5.0, lambda _: 1.0), Sawtooth(50.0, 5.0, lambda _: 2.0, name="silent")
    memory = Memory()
    for at_s in (EPOCH_S + 5.0 * each for each in range(1, 10)):
        quiet = replace(silent.look(at_s), newest_rows=None, processed_rows=None)
        memory, reading = observe(memory, seen(at_s, tells.look(at_s), quiet), CONFIG)
    known, unknown = reading.queries
    assert known.arrival_rows_per_s == pytest.approx(100.0) and known.lag_rows is not None and known.excess_lag_rows == pytest.approx(0.0, abs=1e-3)
    assert unknown.arrival_rows_per_s is None and unknown.lag_rows is None and unknown.lag_s is None and unknown.excess_lag_rows is None
    assert reading.arrival_rows_per_s is None and reading.lag_rows is None and reading.excess_lag_rows is None
    assert reading.throughput_rows_per_s == pytest.approx(150.0, rel=1e-5)


def test_a_query_that_was_given_up_leaves_the_rates_and_the_lag_of_the_job() -> None:
    alive, dead = Sawtooth(100.0, 5.0, lambda _: 1.0), Sawtooth(100.0, 5.0, lambda _: 1.0, name="dead")
    memory = Memory()
    for at_s in (EPOCH_S + 5.0 * each for each in range(1, 10)):
        gone = replace(dead.look(at_s), state="given up", batches=(), processed_rows=0.0)
        memory, reading = observe(memory, seen(at_s, alive.look(at_s), gone), CONFIG)
    assert [query.name for query in reading.queries] == ["q", "dead"] and [query.name for query in reading.active] == ["q"]
    assert reading.arrival_rows_per_s == reading.throughput_rows_per_s == pytest.approx(100.0, rel=1e-4)
    assert reading.excess_lag_rows == pytest.approx(0.0, abs=1e-3) and reading.queries[1].lag_rows == pytest.approx(4500.0)


def test_the_job_has_the_worst_latency_and_the_longest_wait_of_its_queries() -> None:
    def with_latency(query: Sawtooth, at_s: float, delay_s: float) -> QueryFacts:
        facts = query.look(at_s)
        batches = tuple(
            replace(each, arrivals=(ArrivalSample(rows=10.0, probabilities=(0.0, 1.0), wall_s=(each.committed_wall_s - delay_s,) * 2),))
            for each in facts.batches
        )
        return replace(facts, batches=batches, oldest_waiting_s=delay_s)

    one, two = Sawtooth(100.0, 5.0, lambda _: 1.0, name="one"), Sawtooth(100.0, 5.0, lambda _: 1.0, name="two")
    at_s = EPOCH_S + 22.0
    _, reading = observe(Memory(), seen(at_s, with_latency(one, at_s, 3.0), with_latency(two, at_s, 8.0)), CONFIG)
    assert reading.latency is not None and reading.latency.p95_s == pytest.approx(8.0, abs=1e-5)
    assert reading.lag_s == 8.0
    one.reported = two.reported = 0
    _, reading = observe(Memory(), seen(at_s, with_latency(one, at_s, 3.0), with_latency(two, at_s, -60.0)), CONFIG)
    assert reading.queries[1].latency is None and reading.queries[1].clock_skew_s == pytest.approx(60.0, abs=1e-5)
    assert reading.latency is not None and reading.latency.p95_s == pytest.approx(3.0, abs=1e-5)


def test_cores_in_use_are_measured_between_readings_and_unknown_where_they_cannot_be_read() -> None:
    def executors(at_s: float) -> tuple[ExecutorFact, ...]:
        known = ExecutorFact(executor_id="1", host="h", slots=2, added_s=EPOCH_S, cpu_s=1.5 * at_s)
        return known, ExecutorFact(executor_id="2", host="h", slots=2, added_s=EPOCH_S + 5.0)

    memory, first = observe(Memory(), seen(EPOCH_S + 10.0, executors=executors(10.0)), CONFIG)
    memory, second = observe(memory, seen(EPOCH_S + 15.0, executors=executors(15.0)), CONFIG)
    assert [each.cpu_cores for each in first.executors] == [None, None]
    assert [each.cpu_cores for each in second.executors] == [pytest.approx(1.5), None]
    assert [each.uptime_s for each in second.executors] == [15.0, 10.0]


def test_a_job_without_queries_is_read_without_guesses() -> None:
    _, reading = observe(Memory(), seen(EPOCH_S + 10.0, disturbed_s=EPOCH_S + 4.0, unable={"executors": "use a cluster"}), CONFIG)
    assert reading.arrival_rows_per_s is None and reading.throughput_rows_per_s is None and reading.lag_rows is None
    assert reading.since_disturbance_s == 6.0 and reading.unable == {"executors": "use a cluster"}


def test_a_query_that_runs_for_long_needs_no_more_memory() -> None:
    query = Sawtooth(100.0, 0.5, lambda _: 0.2)
    memory = Memory()
    for each in range(1, 200):
        at_s = EPOCH_S + 5.0 * each
        memory, _ = observe(memory, seen(at_s, query.look(at_s)), CONFIG)
    assert len(memory.batches["q"]) <= 2 * CONFIG.reading_window_s / 0.5 + 2
    assert len(memory.newest["q"]) <= 3


def test_batches_of_a_query_that_is_started_in_a_loop_are_counted_over_all_its_runs() -> None:
    """Its JVM stays warm: else none of its batches would ever be evidence."""
    counts = {}
    for trigger in (Trigger(kind="available_now"), Trigger()):
        memory, query = Memory(), Sawtooth(100.0, 15.0, lambda number: 2.0)
        for run in range(1, 7):
            at_s = EPOCH_S + 15.0 * run
            facts = replace(query.look(at_s), trigger=trigger, started_s=at_s - 10.0)
            memory, reading = observe(memory, seen(at_s, facts), CONFIG)
        counts[trigger.kind] = only(reading).batches_run
    assert counts == {"available_now": 6, "processing_time": 1}


def test_two_looks_at_the_same_give_the_same() -> None:
    query = Sawtooth(100.0, 5.0, lambda _: 1.0)
    memory, _ = observe(Memory(), seen(EPOCH_S + 20.0, query.look(EPOCH_S + 20.0)), CONFIG)
    observation = seen(EPOCH_S + 25.0, query.look(EPOCH_S + 25.0))
    assert observe(memory, observation, CONFIG) == observe(memory, observation, CONFIG)


MODES = [Trigger(interval_s=5.0), Trigger(kind="real_time", interval_s=15.0)]


def look(memory: Memory, at_s: float, trigger: Trigger, *partitions: PartitionFact, **more: Any) -> tuple[Memory, tuple[PartitionReading, ...]]:
    query = QueryFacts(name="q", state="running", trigger=trigger, rate_limit_rows_per_s=None, started_s=0.0, source_partitions=partitions, **more)
    seen = Observation(at_s=at_s, started_s=0.0, disturbed_s=None, executors_requested=0, executors=(), queries=(query,))
    memory, reading = observe(memory, seen, CONFIG)
    return memory, reading.queries[0].source_partitions


@pytest.mark.parametrize("trigger", MODES, ids=str)
@given(rates=st.lists(st.floats(0.0, 1e5), min_size=1, max_size=5), gaps_s=st.lists(st.floats(0.5, 30.0), min_size=1, max_size=12))
@settings(max_examples=40)
def test_each_partition_has_its_own_arrival_rate_however_often_it_is_read(trigger: Trigger, rates: list[float], gaps_s: list[float]) -> None:
    memory, at_s = Memory(), 0.0
    for gap_s in (1.0, *gaps_s):
        at_s += gap_s
        facts = [PartitionFact(name=f"clicks-{i}", newest_rows=rate * at_s, processed_rows=None) for i, rate in enumerate(rates)]
        memory, found = look(memory, at_s, trigger, *facts)
    assert [each.name for each in found] == [f"clicks-{i}" for i in range(len(rates))]
    assert [each.arrival_rows_per_s for each in found] == pytest.approx(rates, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("trigger", MODES, ids=str)
def test_the_lag_of_a_partition_is_what_waits_there_or_unknown(trigger: Trigger) -> None:
    facts = [PartitionFact(name=f"clicks-{i}", newest_rows=100.0, processed_rows=done) for i, done in enumerate((40.0, 100.0, 130.0, None))]
    _, found = look(Memory(), 1.0, trigger, *facts)
    assert [each.lag_rows for each in found] == [60.0, 0.0, 0.0, None]
    assert all(each.arrival_rows_per_s is None for each in found)


def test_the_rate_is_that_of_the_last_window() -> None:
    memory, rows = Memory(), 0.0
    for number in range(12):
        rows += 5.0 * (100.0 if number < 6 else 400.0)
        memory, found = look(memory, 5.0 * number, MODES[0], PartitionFact(name="clicks-0", newest_rows=rows, processed_rows=0.0))
    assert found[0].arrival_rows_per_s == pytest.approx(400.0)
    assert len(memory.partitions["q"]["clicks-0"]) <= 4


def test_partitions_that_are_gone_are_forgotten_and_new_ones_begin_unknown() -> None:
    old, new = (PartitionFact(name=name, newest_rows=50.0, processed_rows=50.0) for name in ("clicks-0", "clicks-1"))
    memory, _ = look(Memory(), 0.0, MODES[0], old)
    memory, both = look(memory, 5.0, MODES[0], old, new)
    assert [each.arrival_rows_per_s for each in both] == [0.0, None]
    memory, _ = look(memory, 10.0, MODES[0], new)
    assert set(memory.partitions["q"]) == {"clicks-1"}
    memory, none = look(memory, 15.0, MODES[0])
    assert none == () and memory.partitions["q"] == {}


def test_a_topic_that_was_made_anew_has_no_negative_rate() -> None:
    memory = Memory()
    rates = []
    for number, rows in enumerate((900.0, 1000.0, 10.0, 60.0)):
        memory, found = look(memory, 5.0 * number, MODES[0], PartitionFact(name="clicks-0", newest_rows=rows, processed_rows=None))
        rates.append(found[0].arrival_rows_per_s)
    assert rates == [None, pytest.approx(20.0), None, pytest.approx(10.0)]
