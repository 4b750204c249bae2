"""Settings of several queries on shared executors, found in the readings of simulated runs, whose truth is known."""

from dataclasses import replace

import numpy as np
import pytest

from penstock.core.config import Config
from penstock.core.domain.fault import Fault
from penstock.core.domain.reading import Reading
from penstock.core.domain.trigger import Trigger
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.simulator.calibrate import calibrated, none_while_away
from penstock.simulator.calibrated import Calibrated
from penstock.simulator.continuous import ContinuousEngine
from penstock.simulator.engine_settings import ContinuousSettings, MicroBatchSettings
from penstock.simulator.from_history import of_query
from penstock.simulator.graph import GraphQuery, QueryGraph
from penstock.simulator.load import Load
from penstock.simulator.microbatch import MicroBatchEngine
from penstock.simulator.plant import SimulatedClock, SimulatedPlant
from penstock.simulator.rerun import rerun
from penstock.simulator.sharing import Scheduler

START_S, LENGTH_S = 1_700_000_000.0, 1800.0
CONFIG = Config(reading_interval_s=10.0)
WORDS = MicroBatchSettings(
    overhead_s=0.6, row_s=0.001, partitions=12, cores_per_executor=2, trigger=Trigger(interval_s=4.0), noise=0.04, query="words", failed_s=5.0
)
DEAR = replace(WORDS, query="dear", row_s=0.003)
CLICKS = ContinuousSettings(capacity_rows_per_s=2000.0, interval_s=15.0, pause_s=0.3, query="clicks")
VIEWS = replace(CLICKS, query="views", interval_s=30.0)


def wave(rows_per_s: float) -> Arrivals:
    time_s = np.arange(0.0, LENGTH_S + 1, 20.0)
    return Arrivals.through(START_S + time_s, rows_per_s * (1.0 + 0.5 * np.sin(6 * np.pi * time_s / LENGTH_S)))


def read(engine: MicroBatchEngine | ContinuousEngine) -> list[Reading]:
    clock = SimulatedClock(START_S)
    plant = SimulatedPlant(engine, clock, CONFIG)
    readings = [plant.read()]
    while clock.now_s() < START_S + LENGTH_S:
        clock.wait(CONFIG.reading_interval_s)
        readings.append(plant.read())
    return readings


def in_batches(scheduler: Scheduler = "fair", faults: tuple[Fault, ...] = ()) -> list[Reading]:
    graph = QueryGraph(queries=(GraphQuery(settings=WORDS), GraphQuery(settings=DEAR, share=0.4)), scheduler=scheduler)
    return read(MicroBatchEngine(graph, Load.of(wave(1700.0), START_S), executors=4, seed=5, faults=faults))


@pytest.fixture(scope="module")
def shared() -> list[Reading]:
    return in_batches()


@pytest.fixture(scope="module")
def found_shared(shared: list[Reading]) -> Calibrated:
    return calibrated(shared, (), CONFIG)


@pytest.mark.parametrize("scheduler", ["fair", "fifo"])
def test_what_batches_of_each_query_cost_alone_is_found_though_they_waited_for_each_other(scheduler: Scheduler) -> None:
    readings = in_batches(scheduler)
    found = calibrated(readings, (), CONFIG, scheduler=scheduler)
    assert [query.name for query in found.queries] == ["words", "dear"] and found.left_out == ()
    for query, true in zip(found.queries, (WORDS, DEAR), strict=True):
        settings = query.settings
        assert isinstance(settings, MicroBatchSettings) and (settings.partitions, settings.cores_per_executor, settings.skew) == (12, 2, 1.0)
        assert settings.row_s == pytest.approx(true.row_s, rel=0.05) and settings.overhead_s == pytest.approx(true.overhead_s, abs=0.2)
    error = rerun(found, readings, CONFIG).error
    assert error.executors == pytest.approx(0.0, abs=0.02) and error.throughput == pytest.approx(0.0, abs=0.02)
    assert error.latency_p95 == pytest.approx(0.0, abs=0.1)


def test_rows_of_all_queries_may_be_dear_or_cheap_at_once(found_shared: Calibrated) -> None:
    best, (dear, cheap) = found_shared.engine(), found_shared.likely()
    assert isinstance(best, QueryGraph) and isinstance(dear, QueryGraph) and isinstance(cheap, QueryGraph)
    for place in (0, 1):
        slow, usual, quick = (graph.queries[place].settings.law.capacity_rows_per_s(4, 4.0) for graph in (dear, best, cheap))
        assert 0.7 * usual < slow <= usual <= quick < 1.4 * usual


def test_times_of_arrivals_count_from_where_a_simulation_begins(found_shared: Calibrated) -> None:
    graph = found_shared.engine(START_S)
    assert isinstance(graph, QueryGraph)
    arrivals = [query.arrivals for query in graph.queries]
    assert all(each is not None and each.time_s[0] < 60.0 for each in arrivals)
    assert found_shared.arrivals.rate(START_S + 900.0) == pytest.approx(1.4 * 1700.0, rel=0.1), "that of the job is that of all its queries"


def test_a_query_that_fails_alone_is_restarted_alone() -> None:
    readings = in_batches(faults=(Fault(at_s=START_S + 601.0, kind="restart", query="dear"), Fault(at_s=START_S + 1202.0)))
    found = calibrated(readings, (), CONFIG)
    assert [(fault.kind, fault.query) for fault in found.faults] == [("restart", "dear"), ("kill", None)]
    lived = rerun(found, readings, CONFIG)
    words, dear = lived.record.parts
    assert words.seconds().down.sum() == 0.0 and dear.seconds().down.sum() > 0.0
    last = lived.readings[-1]
    assert {query.name: query.failures for query in last.queries} == {"words": 0, "dear": 1}


def test_a_query_with_nothing_to_read_is_neither_simulated_nor_missed(shared: list[Reading]) -> None:
    def with_idle(reading: Reading) -> Reading:
        known = None if reading.at_s < START_S + 30.0 else 0.0
        idle = replace(reading.queries[0], name="idle", arrival_rows_per_s=known, throughput_rows_per_s=known, lag_rows=known, batch=None)
        return replace(reading, queries=(*reading.queries, idle))

    found = calibrated([with_idle(reading) for reading in shared], (), CONFIG)
    assert [query.name for query in found.queries] == ["words", "dear"] and found.left_out == () and not any("idle" in note for note in found.notes)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"trigger": Trigger(kind="real_time", interval_s=5.0)}, "it ran in Real-Time Mode, and the busiest one did not"),
        ({"batch": None}, "it shows no batch that could be measured"),
        ({"arrival_rows_per_s": None, "throughput_rows_per_s": None, "lag_rows": None}, "the rows it read are not known"),
    ],
)
def test_a_query_that_cannot_be_simulated_is_left_out_and_that_is_said(shared: list[Reading], change: dict[str, object], why: str) -> None:
    readings = [replace(each, queries=(each.queries[0], replace(each.queries[1], **change))) for each in shared]  # type: ignore[arg-type]
    found = calibrated(readings, (), CONFIG)
    assert [query.name for query in found.queries] == ["words"] and found.left_out == ("dear",)
    assert f"query dear is not simulated, and the executors it needs are not counted: {why}" in found.notes


def test_nothing_arrives_for_a_query_while_it_is_away(shared: list[Reading]) -> None:
    short = [replace(each, queries=each.queries[:1]) if each.at_s > START_S + 900.0 else each for each in shared]
    found = calibrated(short, (), CONFIG)
    dear = found.queries[1].arrivals
    assert dear.rate(START_S + 600.0) > 200.0 and dear.rate(START_S + 1000.0) == 0.0 == dear.rate(START_S + LENGTH_S)
    whole = Arrivals.constant(5.0)
    assert none_while_away(whole, of_query(shared, "dear"), shared, CONFIG) is whole


def test_what_a_query_finds_that_is_away_for_minutes_came_meanwhile(shared: list[Reading], found_shared: Calibrated) -> None:
    """Some queries start every few minutes, read all there is and end: their rows are told with each return."""
    there = [each if round(each.at_s - START_S) % 120 < 30 else replace(each, queries=each.queries[:1]) for each in shared]
    rows = [query.arrivals.rows(START_S + 120.0, START_S + 1680.0) for query in calibrated(there, (), CONFIG).queries]
    true = [query.arrivals.rows(START_S + 120.0, START_S + 1680.0) for query in found_shared.queries]
    assert rows == pytest.approx(true, rel=0.05)


def test_a_query_that_ran_only_while_the_busiest_did_not_is_left_out_with_a_note(shared: list[Reading], found_shared: Calibrated) -> None:
    def late(reading: Reading) -> Reading:
        other = replace(reading.queries[1], name="other")
        return replace(reading, queries=reading.queries[:1] if reading.at_s < START_S + 900.0 else (other,))

    found = calibrated([late(each) for each in shared], (), CONFIG)
    assert found.left_out == ("other",) and any(note.endswith("it did not run in the time that is simulated") for note in found.notes)
    assert any(note.startswith("only the ") and "in which query words, the busiest, ran" in note for note in found.notes)
    assert not any(note.startswith("only the ") for note in found_shared.notes)


def test_the_own_error_is_that_of_the_query_that_is_furthest_off(shared: list[Reading], found_shared: Calibrated) -> None:
    words, dear = found_shared.queries
    settings = dear.settings
    assert isinstance(settings, MicroBatchSettings)
    slow = rerun(replace(found_shared, queries=(words, replace(dear, settings=replace(settings, overhead_s=settings.overhead_s + 4.0)))), shared, CONFIG).error
    assert slow.latency_p95 is not None and slow.latency_p95 > 0.4, "the few rows of one are not lost among those of the other"


def test_what_was_not_to_be_found_of_another_query_is_said_with_its_name(shared: list[Reading]) -> None:
    untold = [replace(each, queries=(each.queries[0], replace(each.queries[1], arrival_rows_per_s=None, stages=()))) for each in shared]
    notes = calibrated(untold, (), CONFIG).notes
    assert "query dear: the source does not report arrivals: the throughput is used instead" in notes
    assert sum("no scale-up was seen" in note for note in notes) == 1, "what is of executors is said once"


def test_a_query_that_began_with_a_trigger_that_is_not_simulated_has_its_usual_one_from_the_start(shared: list[Reading]) -> None:
    once = Trigger(kind="available_now", interval_s=0.0)
    begun = [replace(each, queries=(each.queries[0], replace(each.queries[1], trigger=once))) if number < 5 else each for number, each in enumerate(shared)]
    found = calibrated(begun, (), CONFIG)
    assert found.queries[1].settings.trigger == DEAR.trigger and rerun(found, begun, CONFIG).error.throughput == pytest.approx(0.0, abs=0.02)


def test_a_row_is_assumed_to_cost_the_same_in_each_continuous_query() -> None:
    graph = QueryGraph(queries=(GraphQuery(settings=CLICKS), GraphQuery(settings=VIEWS, share=0.5)))
    readings = read(ContinuousEngine(graph, Load.of(wave(3000.0), START_S), executors=4, seed=5))
    found = calibrated(readings, (), CONFIG)
    for query, true in zip(found.queries, (CLICKS, VIEWS), strict=True):
        settings = query.settings
        assert isinstance(settings, ContinuousSettings) and settings.query == true.query and settings.interval_s == true.interval_s
        assert settings.capacity_rows_per_s == pytest.approx(2000.0, rel=0.05)
    assert any("a row is assumed to cost the same in each" in note for note in found.notes)
    error = rerun(found, readings, CONFIG).error
    assert error.throughput == pytest.approx(0.0, abs=0.02) and error.latency_p95 == pytest.approx(0.0, abs=0.1)
