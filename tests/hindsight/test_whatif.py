from dataclasses import replace

import numpy as np
import pytest

from penstock.cli.simulate_options import limits_of
from penstock.cli.whatif_table import table_of
from penstock.core.config import Config
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.events.run_events import RunStarted
from penstock.core.domain.fault import Fault
from penstock.core.domain.job_spec import Limits, Promises
from penstock.core.domain.reading import Reading
from penstock.core.domain.trigger import Trigger
from penstock.core.errors import UserMistake
from penstock.core.knowledge.terms import Terms
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.hindsight import whatif
from penstock.hindsight.whatif import Asked, Like, WhatIf, calibrated_by, confidence, config_of, of_last, what_if
from penstock.simulator.engine_settings import MicroBatchSettings
from penstock.simulator.graph import GraphQuery, QueryGraph
from penstock.simulator.load import Load
from penstock.simulator.microbatch import MicroBatchEngine
from penstock.simulator.plant import SimulatedClock, SimulatedPlant
from penstock.simulator.rerun import OwnError
from penstock.wiring.setup import Setup

START_S = 1_700_000_000.0
JOB = MicroBatchSettings(overhead_s=0.6, row_s=0.001, partitions=12, trigger=Trigger(interval_s=4.0), noise=0.03)
STATIC = Asked(policies=("static",), limits=Limits(max_executors=8, start_executors=6), promises=Promises(latency_p95_s=8.0))


def recorded(length_s: float = 900.0, faults: tuple[float, ...] = (), job: MicroBatchSettings | QueryGraph[MicroBatchSettings] = JOB) -> list[Reading]:
    """A job of 3,000 rows/s, more or less, on six executors that carry 5,000."""
    time_s = np.arange(0.0, length_s + 1, 20.0)
    load = Load.of(Arrivals.through(START_S + time_s, 3000 + 800 * np.sin(time_s / 150)), START_S)
    clock = SimulatedClock(START_S)
    engine = MicroBatchEngine(job, load, executors=6, seed=4, faults=tuple(Fault(at_s=START_S + each) for each in faults))
    plant = SimulatedPlant(engine, clock, Config(reading_interval_s=10.0))
    readings = []
    for _ in range(round(length_s / 10)):
        clock.wait(10.0)
        readings.append(plant.read())
    return readings


@pytest.fixture(scope="module")
def readings() -> list[Reading]:
    return recorded()


@pytest.fixture(scope="module")
def like(readings: list[Reading]) -> Like:
    return calibrated_by("clicks", readings, (), 0)


@pytest.fixture(scope="module")
def found(like: Like, readings: list[Reading]) -> WhatIf:
    return what_if(like, readings, STATIC)


def test_a_what_if_states_its_own_error(found: WhatIf, like: Like) -> None:
    assert found.off is not None and 0 < found.off < 0.15
    assert found.off == max(abs(each) for each in (like.error.executors, like.error.latency_p95, like.error.throughput) if each is not None)
    (run,) = found.runs
    assert found.error_executor_s(run) == pytest.approx(found.off * run.report.executor_s)


def test_what_rows_may_cost_widens_the_error_of_a_policy_that_counts_executors_by_it(like: Like, readings: list[Reading]) -> None:
    settings = like.found.settings
    assert isinstance(settings, MicroBatchSettings)
    dear, cheap = (replace(settings, row_s=share * settings.row_s) for share in (1.5, 0.7))
    found = what_if(with_likely(like, dear, cheap), readings, replace(STATIC, policies=("static", "hpa")))
    static, hpa = found.runs
    likely = found.likely["hpa"]
    assert likely.low < likely.value < likely.high
    assert found.error_executor_s(hpa) == pytest.approx(max(likely.high - likely.value, likely.value - likely.low) * hpa.report.duration_s)
    assert found.off is not None and found.error_executor_s(static) == pytest.approx(found.off * static.report.executor_s), "it takes what it has"


def test_as_many_executors_as_recorded_save_nothing_and_fewer_save_the_difference(found: WhatIf, like: Like, readings: list[Reading]) -> None:
    same = found
    fewer = what_if(like, readings, replace(STATIC, limits=Limits(max_executors=4)))
    assert same.saved_executor_s(same.runs[0]) == pytest.approx(0.0, abs=1.0)
    assert fewer.saved_executor_s(fewer.runs[0]) == pytest.approx(2 * fewer.runs[0].report.duration_s, rel=0.01)
    assert same.recorded.average_executors == pytest.approx(6.0) and same.again.average_executors == pytest.approx(6.0)
    latencies = [each.report.latency for each in (*same.runs, *fewer.runs)]
    assert latencies[0] is not None and latencies[1] is not None and latencies[1].p95_s > latencies[0].p95_s


def test_policies_share_the_recorded_arrivals_and_progress_is_reported(like: Like, readings: list[Reading]) -> None:
    reported: list[tuple[float, float]] = []
    found = what_if(like, readings, replace(STATIC, policies=("static", "hpa")), lambda done_s, total_s: reported.append((done_s, total_s)))
    static, hpa = found.runs
    assert static.setup.load == hpa.setup.load == like.load and [run.policy for run in found.runs] == ["static", "hpa"]
    assert [done_s for done_s, _ in reported] == sorted(done_s for done_s, _ in reported)
    assert reported[-1][0] == pytest.approx(reported[-1][1]) and reported[-1][1] == pytest.approx(2 * 3 * like.load.last_s), "at three costs of a row"


def test_other_promises_are_held_against_the_same_run(found: WhatIf, like: Like, readings: list[Reading]) -> None:
    kept = found
    broken = what_if(like, readings, replace(STATIC, promises=Promises(latency_p95_s=3.0)))
    assert kept.recorded.within_promise == pytest.approx(1.0, abs=0.05) and kept.kept(kept.runs[0]).violation_s == 0
    assert broken.recorded.within_promise == pytest.approx(broken.again.within_promise, abs=0.03) and broken.recorded.within_promise < 0.2
    assert broken.recorded.violation_s is not None and broken.recorded.violation_s > 400.0
    assert broken.kept(broken.runs[0]).violation_s == pytest.approx(broken.recorded.violation_s, rel=0.1)


def test_what_struck_the_recorded_run_strikes_the_what_if() -> None:
    seen = recorded(faults=(400.0,))
    like = calibrated_by("clicks", seen, (), 0)
    (fault,) = like.faults
    found = what_if(like, seen, STATIC)
    assert fault.at_s == pytest.approx(START_S + 400.0 - like.found.start_s, abs=5.0)
    assert [each.at_s for each in found.runs[0].failures] == [fault.at_s]


def test_limits_and_promises_may_come_from_the_recorded_start(readings: list[Reading]) -> None:
    started = RunStarted(at_s=START_S, job="clicks", master="embedded", mode="observe", spark_version="4.3", resumed=False, max_executors=9)
    assert calibrated_by("clicks", readings, (started,), 0).max_executors == 9


def test_readings_a_few_minutes_apart_are_of_one_run(readings: list[Reading]) -> None:
    told = [each if each.at_s <= START_S + 300 else replace(each, at_s=each.at_s + 240) for each in readings]
    assert calibrated_by("clicks", told, (), 0).load.last_s > 1000.0


GRAPH = QueryGraph(queries=(GraphQuery(settings=replace(JOB, query="clicks"), share=0.6), GraphQuery(settings=replace(JOB, query="views"), share=0.3)))


def test_of_several_queries_what_is_saved_is_what_all_of_them_leave() -> None:
    seen = recorded(job=GRAPH)
    like = calibrated_by("clicks", seen, (), 0)
    found = what_if(like, seen, replace(STATIC, limits=Limits(max_executors=8, start_executors=4)))
    (run,) = found.runs
    assert [query.name for query in like.found.queries] == ["clicks", "views"] and found.off is not None and found.off < 0.1
    assert found.saved_executor_s(run) == pytest.approx(2.0 * run.report.duration_s) and row_of_policy(found)[1] == "+33%"
    rates = [sum(query.arrival_rows_per_s or 0.0 for query in reading.queries) for reading in run.readings]
    assert np.mean(rates) == pytest.approx(0.9 * 3000, rel=0.05) and set(run.queries) == {"clicks", "views"}
    other = like.engine_of_any_load
    assert isinstance(other, QueryGraph) and [query.share for query in other.queries] == [pytest.approx(2 / 3, rel=0.02), pytest.approx(1 / 3, rel=0.02)]


def test_where_a_query_cannot_be_simulated_what_is_saved_is_not_known() -> None:
    seen = [with_flow(reading) for reading in recorded(job=GRAPH)]
    two = what_if(calibrated_by("clicks", seen, (), 0), seen, replace(STATIC, limits=Limits(max_executors=8, start_executors=4)))
    (run,) = two.runs
    assert two.like.found.left_out == ("views",) and run.report.average_executors == pytest.approx(4.0)
    assert two.saved_executor_s(run) is None and two.off is None and two.error_executor_s(run) is None and two.likely == {}
    sure = replace(two, like=replace(two.like, error=OwnError(executors=0.0, latency_p95=0.0, throughput=0.0)))
    sure = replace(sure, recorded=replace(two.recorded, duration_s=4 * 3600.0, executors_used=2))
    assert str(confidence(sure)) == "low: 1 query is not simulated, and the executors needed for that are not known"
    assert row_of_policy(two) == ("?", "?")


def with_flow(reading: Reading) -> Reading:
    flowing = Trigger(kind="real_time", interval_s=10.0)
    return replace(reading, queries=tuple(replace(query, trigger=flowing) if query.name == "views" else query for query in reading.queries))


def with_likely(like: Like, *likely: MicroBatchSettings) -> Like:
    (query,) = like.found.queries
    return replace(like, found=replace(like.found, queries=(replace(query, likely=likely),)))


def row_of_policy(found: WhatIf) -> tuple[str, str]:
    columns = {str(column.header): list(column.cells) for column in table_of(found).columns}
    return str(columns["±"][-1]), str(columns["saves"][-1])


def test_the_fewest_and_the_most_executors_are_those_the_job_ran_with(readings: list[Reading]) -> None:
    ran_under = Terms(limits=Limits(min_executors=3, max_executors=8), autopilot=Autopilot(mode="active", policy="hpa"))
    like = calibrated_by("clicks", readings, (), 0, ran_under)
    assert limits_of(None, 8, None, like) == Limits(min_executors=3, max_executors=8, start_executors=6)
    assert limits_of(1, 8, None, like).min_executors == 1, "unless others are asked for"
    assert limits_of(None, 2, None, like) == Limits(min_executors=2, max_executors=2), "or fewer at most than it needed at least"
    assert limits_of(None, 8, None, replace(like, ran_under=None)).min_executors == 1


def test_the_simulator_keeps_the_longest_batch_that_the_job_ran_with(readings: list[Reading]) -> None:
    ran_under = Terms(limits=Limits(max_executors=8), config=Config(longest_batch_s=25.0))
    like = calibrated_by("clicks", readings, (), 0, ran_under)
    assert config_of(readings, ran_under).longest_batch_s == like.longest_batch_s == 25.0
    assert config_of(readings, None).longest_batch_s == replace(like, ran_under=None).longest_batch_s == 0.0
    assert what_if(like, readings, STATIC).runs[0].setup.terms.config.longest_batch_s == 25.0


def test_the_jobs_own_parameters_count_for_its_own_policy_among_others(readings: list[Reading]) -> None:
    ran_under = Terms(limits=Limits(max_executors=8), autopilot=Autopilot(mode="active", policy="hpa", parameters={"target": 0.5}))
    like = calibrated_by("clicks", readings, (), 0, ran_under)
    found = what_if(like, readings, replace(STATIC, policies=("static", "hpa", "reactive")))
    assert [dict(run.setup.terms.autopilot.parameters) for run in found.runs] == [{}, {"target": 0.5}, {}]
    assert what_if(like, readings, replace(STATIC, policies=("hpa",))).runs[0].report == found.runs[1].report
    assert dict(what_if(like, readings, STATIC).runs[0].setup.terms.autopilot.parameters) == {}


@pytest.mark.parametrize("at_s", [300.0, 600.0], ids=["before the longest stretch", "after it"])
def test_a_stop_of_the_job_is_not_simulated_as_load(readings: list[Reading], at_s: float) -> None:
    stopped_s = 8 * 3600.0
    seen = [each if each.at_s <= START_S + at_s else replace(each, at_s=each.at_s + stopped_s, uptime_s=each.uptime_s - at_s) for each in readings]
    found = what_if(calibrated_by("clicks", seen, (), 0), seen, STATIC)
    covered_s = [found.recorded.duration_s, found.again.duration_s, found.runs[0].report.duration_s]
    assert covered_s == [pytest.approx(max(at_s, 900.0 - at_s), abs=30.0)] * 3
    (note,) = [each for each in found.like.found.notes if "gap" in each]
    assert note.startswith("the job did not run all the time: of the 8h14m50s") and note.endswith("simulated, 9m50s")


def test_too_short_a_run_is_one_line(readings: list[Reading]) -> None:
    short = readings[:6]
    with pytest.raises(UserMistake, match=r"clicks: it is too short: \d+ s are left of it after the job had caught up .*; at least 60 s are needed"):
        what_if(calibrated_by("clicks", short, (), 0), short, STATIC)


def believed(found: WhatIf, error: OwnError) -> str:
    return str(confidence(replace(found, like=replace(found.like, error=error), recorded=replace(found.recorded, duration_s=4 * 3600.0, executors_used=2))))


def test_confidence_falls_with_the_simulators_own_error_and_with_what_was_recorded(found: WhatIf) -> None:
    assert confidence(found).level == "low" and "was recorded" in str(confidence(found)) and "the job had one number of executors" in str(confidence(found))
    assert believed(found, OwnError(executors=0.0, latency_p95=-0.05, throughput=0.01)) == "good"
    assert believed(found, OwnError(executors=0.0, latency_p95=-0.2, throughput=0.01)) == "fair: the simulator is off by 20% on the recorded run"
    assert believed(found, OwnError(executors=0.0, latency_p95=0.5, throughput=0.01)).startswith("low: the simulator is off by 50%")
    assert believed(found, OwnError(executors=0.0, latency_p95=None, throughput=0.01)) == "fair: the latency of the recorded run is not known"
    assert believed(found, OwnError(executors=None, latency_p95=None, throughput=None)).startswith("low: nothing of the recorded run")


def test_what_was_run_and_what_is_simulated_are_held_to_promises_alike() -> None:
    seen = recorded(faults=(400.0,))
    found = what_if(calibrated_by("clicks", seen, (), 0), seen, replace(STATIC, promises=Promises(recovery_s=2.0)))
    broken_s = [each.violation_s for each in (found.recorded, found.again, found.kept(found.runs[0]))]
    assert all(each is not None and each > 0 for each in broken_s), "a failure takes longer to recover from than two seconds"
    assert broken_s == [pytest.approx(broken_s[0], abs=20.0)] * 3
    p95_s = [each.latency.p95_s for each in (found.recorded, found.again, found.kept(found.runs[0])) if each.latency is not None]
    assert p95_s == [pytest.approx(p95_s[0], rel=0.15)] * 3


def test_of_a_long_load_what_rows_may_cost_is_tried_on_its_last_hours(like: Like) -> None:
    setup = Setup(load=like.load, engine=like.found.settings, terms=STATIC.terms(like), faults=(Fault(at_s=100.0), Fault(at_s=700.0)))
    assert of_last(setup) is setup
    last = of_last(setup, 300.0)
    assert (last.load.time_s[0], last.load.last_s) == (pytest.approx(like.load.last_s - 300.0), like.load.last_s)
    assert [fault.at_s for fault in last.faults] == [700.0] and last.load.rate(700.0) == pytest.approx(like.load.rate(700.0))


def test_the_error_of_a_long_run_is_as_large_a_share_as_that_of_its_last_hours(like: Like, readings: list[Reading], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whatif, "of_last", lambda setup: of_last(setup, 600.0))
    settings = like.found.settings
    assert isinstance(settings, MicroBatchSettings)
    dear = replace(settings, row_s=2.0 * settings.row_s)
    reported: list[tuple[float, float]] = []
    asked = replace(STATIC, policies=("hpa",))
    found = what_if(with_likely(like, dear), readings, asked, lambda done_s, total_s: reported.append((done_s, total_s)))
    (hpa,) = found.runs
    likely = found.likely["hpa"]
    assert hpa.report.duration_s > 800.0 and likely.low == likely.value == hpa.report.average_executors < likely.high
    assert reported[-1] == (pytest.approx(like.load.last_s + 1200.0), pytest.approx(like.load.last_s + 1200.0))
