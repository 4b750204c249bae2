import math
from dataclasses import replace

import numpy as np
import pytest
from changes import rescaled, scaled_to
from steady_job import LEARNING, TERMS, Analysed, SteadyJob, daily

from penstock.core.analyze.assess import job_latencies, peak_until, queries_of, stage_needs, tells_work, with_latencies
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.reading import QueryReading, Reading, StageReading
from penstock.core.domain.trigger import Trigger, rows_per_batch
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.knowledge.learnt import Learnt
from penstock.core.knowledge.policy import Need
from penstock.core.models.capacity.batch_cost import BatchCost, BatchMeasured
from penstock.core.models.estimate import Estimate
from penstock.core.models.forecast.forecast import Forecast
from penstock.core.models.latency.batch_latency import BatchLatency
from penstock.core.models.latency.latency_table import LatencyTable
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.stage_rates import StageRates
from penstock.core.monitor.observe import Memory, observe
from penstock.runtime.fakes import blank_reading
from penstock.simulator.engine_settings import MicroBatchSettings
from penstock.simulator.load import Load
from penstock.simulator.microbatch import MicroBatchEngine

REGRESSION: frozenset[Need] = LEARNING | {"regression"}


@pytest.mark.parametrize("needs", [LEARNING, REGRESSION])
def test_the_present_executors_are_measured_and_others_are_predicted(needs: frozenset[Need]) -> None:
    analysed = Analysed(SteadyJob(load=daily), needs=needs)
    analysed.turns(60)
    seen = analysed.seen()
    assert analysed.knowledge.learnt.capacity.by_batches is None
    assert (analysed.knowledge.learnt.capacity.by_utilization.method == "daedalus") == ("regression" in needs)
    assert set(seen.capacities) == set(range(1, 9))
    for executors, estimate in seen.capacities.items():
        assert estimate.value == pytest.approx(1000.0 * executors, rel=0.02)
    spread = {executors: (each.high - each.low) / each.value for executors, each in seen.capacities.items()}
    assert spread[4] < spread[3] < spread[1] and spread[4] < spread[8]


def test_a_policy_without_needs_sees_the_reading_alone() -> None:
    analysed = Analysed(SteadyJob(load=daily), needs=frozenset())
    analysed.turns(30)
    before, seen = analysed.knowledge, analysed.seen()
    assert analysed.knowledge is before and not seen.capacities and seen.forecast is None and not seen.downtimes_s
    assert seen.load_rows_per_s == before.last.arrival_rows_per_s if before.last else False


def test_the_executors_are_those_desired_and_in_shadow_its_own() -> None:
    analysed = Analysed(SteadyJob())
    analysed.turn()
    analysed.knowledge = replace(analysed.knowledge, schedule=replace(analysed.knowledge.schedule, shadow=rescaled(4, 7)))
    executor_counts = []
    for mode in ("active", "shadow"):
        analysed.terms = replace(TERMS, autopilot=replace(TERMS.autopilot, mode=mode))
        executor_counts.append(analysed.seen().executors)
    assert executor_counts == [4, 7]


def test_executors_beyond_the_limits_are_assessed_too() -> None:
    analysed = Analysed(SteadyJob(executors=10, load=daily))
    analysed.turns(20)
    assert set(analysed.seen().capacities) == {*range(1, 9), 10}


def test_uptime_begins_anew_with_failures_and_rescales() -> None:
    analysed = Analysed(SteadyJob())
    analysed.turns(4)
    assert analysed.seen().uptime_s == 60.0 and analysed.seen().since_rescale_s is None
    analysed.job.fail()
    analysed.turns(2)
    assert analysed.seen().uptime_s == 30.0
    analysed.rescale(5)
    analysed.turn()
    assert analysed.seen().uptime_s == analysed.seen().since_rescale_s == 15.0


def test_a_promised_latency_or_else_a_setting_bounds_a_batch_that_follows_the_last_one_at_once() -> None:
    analysed = Analysed(SteadyJob())
    analysed.turn()
    assert analysed.knowledge.last is not None
    assert analysed.seen().cadence.interval_s == 10.0
    asap = _asap(analysed.knowledge.last)
    analysed.turn(reading=replace(asap, at_s=asap.at_s + 15.0))
    longest_s = []
    for promised_s, setting_s in ((None, 0.0), (None, 25.0), (7.8, 25.0)):
        analysed.terms = replace(TERMS, promises=Promises(latency_p95_s=promised_s), config=replace(TERMS.config, longest_batch_s=setting_s))
        longest_s.append(analysed.seen().cadence.longest_s)
    assert longest_s == [10.0, 25.0, 4.0] and analysed.seen().cadence.interval_s == 0.0


def test_queries_that_were_given_up_leave_the_capacity_the_rates_and_the_lag_of_the_job_to_the_others() -> None:
    def seen(given_up: int) -> Assessment:
        settings = MicroBatchSettings(overhead_s=1.0, row_s=0.001, partitions=8, trigger=Trigger(interval_s=5.0), noise=0.05)
        engine = MicroBatchEngine(settings, Load.of(Arrivals.through((0.0, 600.0), (1000.0, 2500.0)), 0.0), executors=4)
        analysed, memory = Analysed(SteadyJob()), Memory()
        for at_s in np.arange(15.0, 600.0, 15.0).tolist():
            engine.advance(at_s)
            facts = engine.observation()
            (alive,) = facts.queries
            gone = (replace(alive, name=f"dead {number}", state="given up", batches=(), processed_rows=0.0, failures=3) for number in range(given_up))
            memory, reading = observe(memory, replace(facts, queries=(*facts.queries, *gone)), TERMS.config)
            analysed.job.at_s = at_s
            analysed.turn(reading=reading)
        return analysed.seen()

    alone, beside = seen(0), seen(3)
    assert len(alone.reading.queries) == 1 and len(beside.reading.queries) == 4 and beside.reading.queries[3].lag_rows
    assert beside.capacities == alone.capacities and alone.capacities.keys() == set(range(1, 9))
    assert beside.queries == alone.queries and beside.load_rows_per_s == alone.load_rows_per_s and beside.excess_lag_rows == alone.excess_lag_rows
    for name in ("arrival_rows_per_s", "throughput_rows_per_s", "lag_rows", "lag_s", "excess_lag_rows"):
        assert getattr(beside.reading, name) == getattr(alone.reading, name) is not None


def test_nothing_is_assessed_before_the_first_reading() -> None:
    with pytest.raises(ValueError, match="first reading"):
        Analysed(SteadyJob()).seen()


def _asap(reading: Reading) -> Reading:
    return replace(reading, queries=tuple(replace(query, trigger=Trigger()) for query in reading.queries))


def test_a_timer_is_over_at_the_reading_nearest_to_its_end() -> None:
    """Decisions are made at the reading nearest to their time; a grace of three periods must not last for four because the third reading came early."""
    analysed = Analysed(SteadyJob())
    analysed.turns(4)
    for late_s, since_s in ((0.1, 60.0), (7.4, 60.0), (7.6, 52.4)):
        analysed.knowledge = replace(analysed.knowledge, schedule=replace(analysed.knowledge.schedule, rescaled_s=late_s))
        seen = analysed.seen()
        assert (seen.since_rescale_s, seen.uptime_s) == (pytest.approx(since_s), pytest.approx(since_s))


TABLE = LatencyTable(executor_counts=(1, 2), rates_rows_per_s=(100.0, 200.0), latency_s=((1.0, 9.0), (1.0, 2.0)), valid=((True, False), (True, True)), rows=4)
BATCHES = BatchLatency(cost=BatchCost(partitions=1)).learn(
    [BatchMeasured(rows=rows, duration_s=1 + 0.001 * rows, executors=1) for rows in (100.0, 400.0, 900.0, 1600.0, 2500.0)]
)


def latencies(learnt: Learnt, reading: Reading, executors: tuple[int, ...], rate: Estimate) -> dict[int, Estimate]:
    queries = queries_of(Knowledge(declared=scaled_to(), desired=scaled_to(), learnt=learnt), reading)
    return job_latencies(with_latencies(queries, learnt, reading, executors, rate), learnt, reading, executors, rate)


def predicted(rate_rows_per_s: Estimate) -> Estimate:
    answers = BATCHES.predict_each(rate_rows_per_s=rate_rows_per_s, interval_s=4.0, executor_counts=[1])
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


@pytest.mark.parametrize(
    ("limit", "interval_s", "latency_s"),
    [(None, 0.0, 0.375), (1000.0, 0.0, 0.9), (1000.0, 4.0, 3.0), (None, 4.0, 3.0), (150.0, 0.0, math.inf)],
    ids=["as soon as possible", "a limit paces it", "a limit within an interval", "an interval", "more arrives than the limit lets in"],
)
def test_latency_waits_for_the_interval_that_a_rate_limit_sets(limit: float | None, interval_s: float, latency_s: float) -> None:
    """A batch of 0.2 s and 1 ms a row at 200 rows/s: 0.25 s where batches follow each other, 0.4 s once a second, 1 s every 4 s."""
    reading, trigger = SteadyJob().reading(), Trigger(interval_s=interval_s)
    limited = replace(reading, queries=tuple(replace(query, trigger=trigger, rate_limit_rows_per_s=limit) for query in reading.queries))
    cost = BatchCost(partitions=1, limit_rows=None if limit is None else rows_per_batch(trigger, limit))
    learnt = BatchLatency(cost=cost).learn(
        [BatchMeasured(rows=rows, duration_s=0.2 + 0.001 * rows, executors=1) for rows in (50.0, 100.0, 400.0, 900.0, 1600.0)]
    )
    found = latencies(Learnt(batches={limited.queries[0].name: learnt}), limited, (1,), Estimate.exactly(200.0))
    assert found[1].value == pytest.approx(latency_s, rel=0.01)


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


def query(busy: float, kind: str = "real_time", lag_rows: float = 0.0, pause_s: float | None = None) -> QueryReading:
    """Four tasks, each of which ran for that share of the time."""
    stage = StageReading(position=0, name="all", tasks=4.0, rows_per_s=1000.0, run_time_s_per_s=4 * busy, busyness=None)
    trigger = Trigger(kind="real_time" if kind == "real_time" else "processing_time", interval_s=5.0)
    return QueryReading(
        name="q", state="running", trigger=trigger, rate_limit_rows_per_s=None, excess_lag_rows=lag_rows, boundary_pause_s=pause_s, stages=(stage,)
    )


@pytest.mark.parametrize(
    ("seen", "tells"),
    [
        (query(0.5), True),
        (query(0.95), False),
        (query(0.8, pause_s=1.0), False),
        (query(0.6, pause_s=1.0), True),
        (query(1.0, lag_rows=500.0), True),
        (query(1.0, kind="micro_batch"), True),
    ],
    ids=["busy for half of the time", "always there", "always but for pauses", "busy between pauses", "behind", "in batches"],
)
def test_tasks_that_run_all_the_time_show_their_work_only_when_they_fall_behind(seen: QueryReading, tells: bool) -> None:
    assert tells_work(seen) is tells


def test_while_an_arrival_is_unknown_queries_share_the_load_evenly() -> None:
    """Each as if it got all of it would charge the load as often as there are queries."""
    known = [replace(query(0.5, kind="micro_batch"), name=name, arrival_rows_per_s=1000.0, throughput_rows_per_s=1000.0) for name in ("a", "b")]
    models = {each.name: StageRates().learn([each] * 3) for each in known}
    unknown = (known[0], replace(known[1], arrival_rows_per_s=None))
    selectivities = [
        [each.selectivity for each in stage_needs(models, blank_reading(0.0, queries=queries, arrival_rows_per_s=rate))]
        for queries, rate in ((tuple(known), 2000.0), (unknown, None))
    ]
    assert selectivities[0] == selectivities[1] == pytest.approx([0.5, 0.5])
