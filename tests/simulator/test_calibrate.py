from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pytest
from changes import changing, rescaled, scaling
from laws import filling

from penstock.core.config import Config
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.query_events import QueryRestarted
from penstock.core.domain.events.steering_events import InstructionDone, InstructionGiven
from penstock.core.domain.fault import Fault
from penstock.core.domain.instruction import Outcome
from penstock.core.domain.reading import Reading
from penstock.core.domain.trigger import Trigger
from penstock.core.errors import UserMistake
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.simulator.calibrate import calibrated, none_while_away
from penstock.simulator.calibrated import Calibrated
from penstock.simulator.continuous import ContinuousEngine
from penstock.simulator.engine import Engine
from penstock.simulator.engine_settings import ContinuousSettings, MicroBatchSettings
from penstock.simulator.from_history import of_query, recorded_faults
from penstock.simulator.graph import GraphQuery, QueryGraph
from penstock.simulator.load import Load
from penstock.simulator.microbatch import MicroBatchEngine
from penstock.simulator.plant import SimulatedClock, SimulatedPlant
from penstock.simulator.rerun import rerun
from penstock.simulator.sharing import Scheduler

START_S = 1_700_000_000.0
LENGTH_S = 1800.0
CONFIG = Config(reading_interval_s=10.0)
JOB = MicroBatchSettings(overhead_s=0.6, row_s=0.001, partitions=12, cores_per_executor=2, trigger=Trigger(interval_s=4.0), noise=0.04, up_s=7.0, down_s=3.0)
FLOW = ContinuousSettings(capacity_rows_per_s=2000.0, interval_s=15.0, pause_s=0.3, up_s=40.0, down_s=20.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    readings: tuple[Reading, ...]
    events: tuple[Event, ...]

    def calibrated(self) -> Calibrated:
        return calibrated(self.readings, self.events, CONFIG)


def wave(rows_per_s: float, share: float = 0.5, length_s: float = LENGTH_S) -> Arrivals:
    time_s = np.arange(0.0, length_s + 1, 20.0)
    return Arrivals.through(START_S + time_s, rows_per_s * (1.0 + share * np.sin(6 * np.pi * time_s / length_s)))


def run(engine: Engine, executors: int, changes: Mapping[float, int | Trigger], length_s: float = LENGTH_S) -> History:
    """Readings, and at the given seconds of the run other executors or another trigger, with the events that the loop would write of executors."""
    clock = SimulatedClock(START_S)
    plant = SimulatedPlant(engine, clock, CONFIG)
    readings, events, outcomes = [plant.read()], list[Event](), list[Outcome]()
    while clock.now_s() < START_S + length_s:
        clock.wait(CONFIG.reading_interval_s)
        readings.append(plant.read())
        at_s = readings[-1].at_s
        events += [InstructionDone(at_s=at_s, number=each.number, knob="executors", took_s=each.took_s, delayed_rows=None) for each in outcomes]
        outcomes.clear()
        wanted = changes.get(at_s - START_S)
        if isinstance(wanted, Trigger):
            plant.perform(changing(0, "query", trigger=(Trigger(), wanted)), lambda outcome: None)
        elif wanted is not None:
            events.append(InstructionGiven(at_s=at_s, number=len(events), knob="executors", change=rescaled(executors, wanted), reason="decided"))
            plant.perform(scaling(len(events) - 1, executors, wanted), outcomes.append)
            executors = wanted
    return History(readings=tuple(readings), events=tuple(events))


def micro_batches(
    job: MicroBatchSettings = JOB, arrivals: Arrivals | None = None, changes: Mapping[float, int | Trigger] | None = None, faults: tuple[Fault, ...] = ()
) -> History:
    load = Load.of(arrivals or wave(2500.0), START_S)
    return run(MicroBatchEngine(job, load, executors=3, seed=5, faults=faults), 3, {450.0: 4, 900.0: 2, 1350.0: 3} if changes is None else changes)


def flow(job: ContinuousSettings = FLOW, faults: tuple[Fault, ...] = ()) -> History:
    load = Load.of(wave(5000.0, share=0.4), START_S)
    return run(ContinuousEngine(job, load, executors=4, seed=5, faults=faults), 4, {600.0: 5, 1200.0: 4})


@pytest.fixture(scope="module")
def batches() -> History:
    return micro_batches()


@pytest.fixture(scope="module")
def flowing() -> History:
    return flow()


@pytest.fixture(scope="module")
def of_batches(batches: History) -> Calibrated:
    return batches.calibrated()


@pytest.fixture(scope="module")
def of_flow(flowing: History) -> Calibrated:
    return flowing.calibrated()


def batch_settings(found: Calibrated) -> MicroBatchSettings:
    assert isinstance(found.settings, MicroBatchSettings)
    return found.settings


def flow_settings(found: Calibrated) -> ContinuousSettings:
    assert isinstance(found.settings, ContinuousSettings)
    return found.settings


def test_calibration_finds_the_settings_and_the_arrivals_of_a_simulated_run(of_batches: Calibrated) -> None:
    settings = batch_settings(of_batches)
    assert (of_batches.kind, of_batches.executors) == ("micro_batch", 3) and of_batches.notes == ("no restart of the query was seen: 1 s are assumed",)
    assert (settings.partitions, settings.cores_per_executor, settings.trigger, settings.query) == (12, 2, JOB.trigger, "query")
    assert settings.overhead_s == pytest.approx(0.6, rel=0.05) and settings.row_s * settings.skew == pytest.approx(0.001, rel=0.05)
    assert settings.skew == pytest.approx(1.0, abs=0.05) and settings.noise == pytest.approx(0.04, abs=0.02)
    assert settings.up_s == pytest.approx(7.0, rel=0.15) and settings.down_s == pytest.approx(3.0, abs=2.5)
    for from_s in np.arange(START_S + 60.0, START_S + LENGTH_S - 100.0, 150.0):
        assert of_batches.arrivals.rows(from_s, from_s + 60.0) == pytest.approx(wave(2500.0).rows(from_s, from_s + 60.0), rel=0.01)
    settings = batch_settings(micro_batches(replace(JOB, skew=1.4, noise=0.02)).calibrated())
    assert settings.row_s == pytest.approx(0.001, rel=0.05) and settings.skew == pytest.approx(1.4, rel=0.05)


def test_what_new_executors_cost_is_found_in_the_latency_after_scale_ups_and_is_the_default_without_any() -> None:
    seen = micro_batches(replace(JOB, first_task_s=6.0, warm_up_factor=0.0, noise=0.0), changes={450.0: 4, 700.0: 3, 1000.0: 4, 1200.0: 3, 1400.0: 4})
    found = seen.calibrated()
    settings = batch_settings(found)
    assert 5.0 <= settings.first_task_s <= 8.0
    without = replace(found, queries=(replace(found.queries[0], settings=replace(settings, first_task_s=0.0, warm_up_factor=0.0)),))
    error, usual = (rerun(each, seen.readings, CONFIG).error.latency_p95 for each in (found, without))
    assert error is not None and usual is not None and abs(error) < abs(usual)
    settings, default = batch_settings(micro_batches(changes={}).calibrated()), MicroBatchSettings()
    assert (settings.first_task_s, settings.warm_up_factor) == (default.first_task_s, default.warm_up_factor)


def test_requesting_the_same_executors_again_does_not_change_the_duration_of_scaling(batches: History, of_batches: Calibrated) -> None:
    again = [
        (InstructionGiven(at_s=at_s, number=900 + number, knob="executors", change=rescaled(5, 2), reason="desired state", repeats=True),
         InstructionDone(at_s=at_s + 60.0, number=900 + number, knob="executors", took_s=60.0, delayed_rows=None))
        for number, at_s in enumerate((START_S + 1000.5, START_S + 1100.0, START_S + 1199.5))
    ]  # fmt: skip
    events = sorted([*batches.events, *(event for both in again for event in both)], key=lambda event: event.at_s)
    assert batch_settings(calibrated(batches.readings, events, CONFIG)).down_s == batch_settings(of_batches).down_s


def test_calibration_finds_the_settings_of_a_job_that_flows(of_flow: Calibrated) -> None:
    settings = flow_settings(of_flow)
    assert of_flow.kind == "continuous" and settings.capacity_rows_per_s == pytest.approx(2000.0, rel=0.03)
    assert [settings.pause_s, settings.up_s, settings.down_s] == pytest.approx([0.3, 40.0, 20.0])
    assert (settings.interval_s, settings.skew, settings.replays, settings.grows_live) == (15.0, 0.0, True, False)
    assert [note for note in of_flow.notes if "restart" in note]
    live = flow_settings(flow(replace(FLOW, replays=False, grows_live=True)).calibrated())
    assert (live.replays, live.grows_live) == (False, True)


def test_the_downtime_is_the_one_that_restarts_took(flowing: History) -> None:
    restarts = [QueryRestarted(at_s=START_S, query="query", attempt=1, downtime_s=down_s, cause="a task failed") for down_s in (12.0, 14.0, 90.0)]
    found = calibrated(flowing.readings, [*flowing.events, *restarts], CONFIG)
    assert flow_settings(found).downtime_s == 14.0 and not any("restart" in note for note in found.notes)


def test_recorded_executors_run_again_give_the_run_or_an_error(batches: History, of_batches: Calibrated, flowing: History, of_flow: Calibrated) -> None:
    for seen, found in ((batches, of_batches), (flowing, of_flow)):
        error = rerun(found, seen.readings, CONFIG).error
        assert error.executors == pytest.approx(0.0, abs=0.02) and error.throughput == pytest.approx(0.0, abs=0.02)
        assert error.latency_p95 == pytest.approx(0.0, abs=0.1)
    settings = batch_settings(of_batches)
    slower = replace(of_batches, queries=(replace(of_batches.queries[0], settings=replace(settings, row_s=1.5 * settings.row_s)),))
    error = rerun(slower, batches.readings, CONFIG).error
    assert error.latency_p95 is not None and error.latency_p95 > 0.1


def test_a_trigger_that_was_changed_is_changed_again_and_the_usual_one_is_taken() -> None:
    seen = micro_batches(changes={600.0: Trigger(interval_s=10.0)})
    found = seen.calibrated()
    assert batch_settings(found).trigger == Trigger(interval_s=10.0) and any("trigger" in note for note in found.notes)
    assert rerun(found, seen.readings, CONFIG).error.latency_p95 == pytest.approx(0.0, abs=0.1)


def test_a_slow_start_is_left_out_of_the_comparison() -> None:
    pile = Arrivals.through((START_S, START_S + 30.0, START_S + 31.0, START_S + LENGTH_S), (20_000.0, 20_000.0, 2000.0, 2000.0))
    seen = micro_batches(arrivals=pile)
    found = seen.calibrated()
    assert found.start_s > START_S + 60.0 and rerun(found, seen.readings, CONFIG).error.throughput == pytest.approx(0.0, abs=0.02)


def test_a_query_that_failed_is_restarted_again_and_an_executor_that_was_lost_is_lost_again() -> None:
    kills = (Fault(at_s=START_S + 1202.0), Fault(at_s=START_S + 1502.0))
    seen = micro_batches(replace(JOB, failed_s=12.0), faults=(Fault(at_s=START_S + 501.0, kind="restart"), *kills))
    restarted = QueryRestarted(at_s=START_S + 513.0, query="query", attempt=1, downtime_s=12.0, cause="a task failed")
    other = QueryRestarted(at_s=START_S + 700.0, query="side", attempt=1, downtime_s=90.0, cause="a task failed")
    found = calibrated(seen.readings, [*seen.events, restarted, other], CONFIG)
    at_s = [("restart", pytest.approx(501.0)), ("kill", pytest.approx(1202.0, abs=5.0)), ("kill", pytest.approx(1502.0, abs=5.0))]
    assert [(fault.kind, fault.at_s - START_S) for fault in found.faults] == at_s and batch_settings(found).failed_s == 12.0
    lived = rerun(found, seen.readings, CONFIG)
    assert [each.kind for each in lived.record.struck] == ["restart", "kill", "kill"] and lived.error.latency_p95 == pytest.approx(0.0, abs=0.1)
    assert lived.record.seconds().down.sum() == pytest.approx(12.0)


def test_a_failure_of_a_query_counts_once_though_the_query_is_gone_for_a_while() -> None:
    seen = micro_batches(replace(JOB, failed_s=12.0), changes={}, faults=tuple(Fault(at_s=START_S + at_s, kind="restart") for at_s in (501.0, 901.0)))

    def as_logged(reading: Reading) -> Reading:
        gone = any(START_S + from_s <= reading.at_s < START_S + from_s + 30.0 for from_s in (600.0, 700.0, 1000.0))
        return replace(reading, queries=(), failures=reading.failures - reading.queries[0].failures) if gone else reading

    found = recorded_faults([as_logged(reading) for reading in seen.readings], ("query",))
    assert [(fault.kind, fault.at_s - START_S) for fault in found] == [("restart", pytest.approx(501.0)), ("restart", pytest.approx(901.0))]
    late = [as_logged(reading) for reading in seen.readings if reading.at_s >= START_S + 1000.0]
    assert recorded_faults(late, ("query",)) == (), "those before the first reading are not known"


def test_where_tasks_run_all_the_time_an_executor_lost_counts_by_the_query_it_ended() -> None:
    seen = flow(faults=(Fault(at_s=START_S + 400.0),))
    lost = [replace(each, failures=each.failures + (each.at_s > START_S + 400.0)) for each in seen.readings]
    found = calibrated(lost, seen.events, CONFIG)
    assert [fault.kind for fault in found.faults] == ["restart"] and not any("lost" in note for note in found.notes)
    survived = [replace(each, failures=each.failures + (each.at_s >= START_S + 900.0)) for each in lost]
    assert [note for note in calibrated(survived, seen.events, CONFIG).notes if "lost" in note] == [
        "1 executor was lost without an end of the query: that is not simulated"
    ]


def test_batches_of_one_size_give_a_guess_that_agrees_with_them_and_may_be_all_rows_or_no_more_than_their_tasks() -> None:
    seen = micro_batches(replace(JOB, noise=0.0), Arrivals.constant(2500.0), {})
    found = seen.calibrated()
    assert any("one size" in note for note in found.notes) and sum("s are assumed" in note for note in found.notes) == 3
    dear, cheap = (each for each in found.queries[0].likely if isinstance(each, MicroBatchSettings))
    assert [dear.overhead_s, cheap.overhead_s] == pytest.approx([0.0, JOB.overhead_s], rel=0.1)
    for each in (batch_settings(found), dear, cheap):
        assert each.law.duration_s(10_000.0, 3) == pytest.approx(JOB.law.duration_s(10_000.0, 3), rel=0.02)
    untold = [replace(each, queries=tuple(replace(query, stages=()) for query in each.queries)) for each in seen.readings]
    assert calibrated(untold, seen.events, CONFIG).likely() == (), "unknown without task times"


def test_rows_may_be_somewhat_dearer_and_cheaper_than_the_measurements_say(of_batches: Calibrated, of_flow: Calibrated) -> None:
    settings = batch_settings(of_batches)
    dear, cheap, best = (
        each.law.capacity_rows_per_s(3, filling(4.0)) for each in (*of_batches.queries[0].likely, settings) if isinstance(each, MicroBatchSettings)
    )
    assert 0.8 * best < dear < best < cheap < 1.2 * best
    for each in of_batches.queries[0].likely:
        assert replace(each, overhead_s=settings.overhead_s, row_s=settings.row_s, skew=settings.skew) == settings, "all else is the same"
    low, high = (each.capacity_rows_per_s for each in of_flow.queries[0].likely if isinstance(each, ContinuousSettings))
    assert 0.8 * 2000.0 < low < flow_settings(of_flow).capacity_rows_per_s < high < 1.2 * 2000.0


def test_a_source_that_tells_no_arrivals_and_a_job_that_was_often_behind_its_load_are_noted(batches: History) -> None:
    readings = [replace(reading, queries=tuple(replace(query, arrival_rows_per_s=None) for query in reading.queries)) for reading in batches.readings]
    found, span_s = calibrated(readings, batches.events, CONFIG), (START_S + 60.0, START_S + LENGTH_S - 60.0)
    assert found.arrivals.rows(*span_s) == pytest.approx(wave(2500.0).rows(*span_s), rel=0.02)
    assert any("the throughput is used instead" in note for note in found.notes)
    assert "the job was behind its load in" in micro_batches(arrivals=wave(7000.0, share=0.5), changes={}).calibrated().notes[-1]


def test_a_history_without_work_is_a_mistake_in_one_line(batches: History) -> None:
    for readings in ([], [replace(reading, queries=()) for reading in batches.readings]):
        with pytest.raises(UserMistake, match="nothing to simulate"):
            calibrated(readings, (), CONFIG)


WORDS = replace(JOB, query="words", failed_s=5.0)
DEAR = replace(WORDS, query="dear", row_s=0.003)
CLICKS = ContinuousSettings(capacity_rows_per_s=2000.0, interval_s=15.0, pause_s=0.3, query="clicks")
VIEWS = replace(CLICKS, query="views", interval_s=30.0)


def in_batches(scheduler: Scheduler = "fair", faults: tuple[Fault, ...] = ()) -> list[Reading]:
    graph = QueryGraph(queries=(GraphQuery(settings=WORDS), GraphQuery(settings=DEAR, share=0.4)), scheduler=scheduler)
    return list(run(MicroBatchEngine(graph, Load.of(wave(1700.0), START_S), executors=4, seed=5, faults=faults), 4, {}).readings)


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


def test_rows_of_all_queries_may_be_dear_or_cheap_at_once_and_arrivals_count_from_where_a_simulation_begins(found_shared: Calibrated) -> None:
    best, (dear, cheap) = found_shared.engine(), found_shared.likely()
    assert isinstance(best, QueryGraph) and isinstance(dear, QueryGraph) and isinstance(cheap, QueryGraph)
    for place in (0, 1):
        slow, usual, quick = (graph.queries[place].settings.law.capacity_rows_per_s(4, filling(4.0)) for graph in (dear, best, cheap))
        assert 0.7 * usual < slow <= usual <= quick < 1.4 * usual
    graph = found_shared.engine(START_S)
    assert isinstance(graph, QueryGraph) and all(query.arrivals is not None and query.arrivals.time_s[0] < 60.0 for query in graph.queries)
    assert found_shared.arrivals.rate(START_S + 900.0) == pytest.approx(1.4 * 1700.0, rel=0.1), "that of the job is that of all its queries"


def test_a_query_that_fails_alone_is_restarted_alone() -> None:
    readings = in_batches(faults=(Fault(at_s=START_S + 601.0, kind="restart", query="dear"), Fault(at_s=START_S + 1202.0)))
    found = calibrated(readings, (), CONFIG)
    assert [(fault.kind, fault.query) for fault in found.faults] == [("restart", "dear"), ("kill", None)]
    lived = rerun(found, readings, CONFIG)
    words, dear = lived.record.parts
    assert words.seconds().down.sum() == 0.0 and dear.seconds().down.sum() > 0.0
    assert {query.name: query.failures for query in lived.readings[-1].queries} == {"words": 0, "dear": 1}


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


def test_nothing_arrives_for_a_query_while_it_is_away_for_good_and_what_came_meanwhile_if_it_returns(shared: list[Reading], found_shared: Calibrated) -> None:
    short = [replace(each, queries=each.queries[:1]) if each.at_s > START_S + 900.0 else each for each in shared]
    dear = calibrated(short, (), CONFIG).queries[1].arrivals
    assert dear.rate(START_S + 600.0) > 200.0 and dear.rate(START_S + 1000.0) == 0.0 == dear.rate(START_S + LENGTH_S)
    whole = Arrivals.constant(5.0)
    assert none_while_away(whole, of_query(shared, "dear"), shared, CONFIG) is whole
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
    assert isinstance(dear.settings, MicroBatchSettings)
    slower = replace(dear.settings, overhead_s=dear.settings.overhead_s + 4.0)
    slow = rerun(replace(found_shared, queries=(words, replace(dear, settings=slower))), shared, CONFIG).error
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
    readings = run(ContinuousEngine(graph, Load.of(wave(3000.0), START_S), executors=4, seed=5), 4, {}).readings
    found = calibrated(readings, (), CONFIG)
    for query, true in zip(found.queries, (CLICKS, VIEWS), strict=True):
        settings = query.settings
        assert isinstance(settings, ContinuousSettings) and settings.query == true.query and settings.interval_s == true.interval_s
        assert settings.capacity_rows_per_s == pytest.approx(2000.0, rel=0.05)
    assert any("a row is assumed to cost the same in each" in note for note in found.notes)
    error = rerun(found, readings, CONFIG).error
    assert error.throughput == pytest.approx(0.0, abs=0.02) and error.latency_p95 == pytest.approx(0.0, abs=0.1)
