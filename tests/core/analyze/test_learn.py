import math
import random
from dataclasses import replace

import pytest
from executor_moments import moment
from laws import filling, latency_by_law_s
from steady_job import TERMS, Analysed, SteadyJob

from penstock.core.analyze.grading import capacity_shown
from penstock.core.analyze.learn import batch_measured, batches_measured, cost_of, executor_uses, profile_row
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.cadence import Cadence, cadence_of
from penstock.core.domain.events.query_events import CostChanged, CpuTaken
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.profile import ProfileSeen
from penstock.core.domain.reading import BatchParts, BatchReading, ExecutorReading, Quantiles, QueryReading, Reading, StageReading
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge.policy import Need
from penstock.core.models.capacity.batch_law import BatchLaw
from penstock.core.models.capacity.capacity_by_executors import CapacityByExecutors, CapacityMeasured
from penstock.core.models.capacity.capacity_model import VAGUE, CapacityModel, CapacitySeen
from penstock.core.models.estimate import Estimate
from penstock.runtime.fakes import blank_reading

PROFILE: frozenset[Need] = frozenset({"load", "profile"})
ROWS = tuple(ProfileSeen(executors=each, rate_rows_per_s=1000.0 * rate, latency_s=1.0, valid=rate < each) for each in (2, 4, 8) for rate in (1, 3, 5, 9))
CLAIMED = CapacityByExecutors().learn([CapacityMeasured(executors=executors, throughput_rows_per_s=1000.0 * executors) for executors in (2, 4, 8)])


def analysed(*, each: float = 1000.0, downtime_s: float = 30.0) -> Analysed:
    """A job of 2,000 rows/s whose profile claims 1,000 rows/s an executor, on 8 of them, for a while."""
    found = Analysed(SteadyJob(executors=8, each_rows_per_s=each, downtime_s=downtime_s), replace(TERMS, profile=ROWS), PROFILE)
    found.turn()
    found.knowledge = replace(found.knowledge, learnt=replace(found.knowledge.learnt, t_max=CLAIMED))
    found.turns(30)
    return found


def row_now(job: Analysed) -> ProfileSeen | None:
    assert job.knowledge.last is not None
    return profile_row(job.knowledge.learnt, job.knowledge.last, job.terms)


def test_a_healthy_moment_is_a_row_that_kept_up() -> None:
    row = row_now(analysed())
    assert row is not None and (row.executors, row.rate_rows_per_s, row.valid) == (8, 2000.0, True)


def test_a_recovery_is_no_row() -> None:
    job = analysed()
    job.rescale(3)
    for _ in range(6):
        job.turn()
        assert job.knowledge.learnt.health.open and row_now(job) is None
    assert job.knowledge.learnt.pace.share == 1.0


def test_overload_after_a_rescale_is_a_row_that_did_not_keep_up_and_t_max_is_what_the_job_does() -> None:
    job = analysed(each=500.0)
    job.rescale(3)
    job.turns(12)
    assert job.knowledge.learnt.health.open
    row, seen = row_now(job), job.seen()
    assert row is not None and (row.executors, row.valid) == (3, False)
    assert seen.t_max[3].value == pytest.approx(1500.0, rel=0.01) and seen.t_max[8].value == pytest.approx(4000.0, rel=0.01)
    assert row.rate_rows_per_s == pytest.approx(4000.0, rel=0.01), "2,000 rows/s are at half the pace what 4,000 are to the profile"


@pytest.mark.parametrize("downtime_s", [30.0, 110.0])
def test_a_stop_is_no_overload_however_long_it_is_known_to_last(downtime_s: float) -> None:
    job = analysed(downtime_s=downtime_s)
    job.terms = replace(job.terms, autopilot=replace(job.terms.autopilot, downtime_s=downtime_s))
    job.rescale(5)
    job.turns(30)
    assert job.knowledge.learnt.pace.share == 1.0 and not job.knowledge.learnt.health.open


def test_a_passing_overload_at_the_profiles_own_pace_changes_nothing() -> None:
    job = analysed()
    job.job.load = lambda at_s: 9000.0 if at_s < 700.0 else 2000.0
    job.turns(40)
    assert job.knowledge.learnt.pace.share == pytest.approx(1.0)


def test_a_job_that_is_faster_again_is_believed_as_soon_as_it_shows() -> None:
    job = analysed(each=500.0)
    job.rescale(3)
    job.turns(40)
    assert job.knowledge.learnt.pace.share == pytest.approx(0.5)
    job.job.each = 1000.0
    job.rescale(8, number=2)
    job.turns(10)
    assert job.knowledge.learnt.pace.share == pytest.approx(1.0)


def test_a_recovery_that_outlasts_its_promise_while_more_arrives_than_is_done_is_a_row_too() -> None:
    job = analysed(each=500.0)
    job.rescale(3)
    job.turns(12)
    last, learnt = job.knowledge.last, job.knowledge.learnt
    assert last is not None
    unknown = replace(learnt, pace=type(learnt.pace)())
    promised = {recovery_s: replace(job.terms, promises=Promises(recovery_s=recovery_s)) for recovery_s in (100.0, 600.0)}
    assert profile_row(unknown, last, promised[600.0]) is None
    row = profile_row(unknown, last, promised[100.0])
    assert row is not None and (row.valid, row.rate_rows_per_s) == (False, 2000.0)


LAW = BatchLaw(overhead_s=1.0, row_s=0.002, partitions=12)
INTERVAL_S = 5.0
NEEDS: frozenset[Need] = frozenset({"load", "capacity", "latency", "stages"})


def batched(number: int, executors: int, rate: float) -> Reading:
    """The reading of a job of one query under this law that keeps up; its tasks fill the executors evenly but for the last wave."""
    batch_s = LAW.duration_s(rate * INTERVAL_S, executors)
    latency_s = latency_by_law_s(LAW, rate_rows_per_s=rate, interval_s=INTERVAL_S, executors=executors, quantile=0.95)
    tasks = [12 // executors + (use < 12 % executors) for use in range(executors)]
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
    assert measured is not None and (measured.rows, measured.tasks, measured.executors) == (4500.0, 12, 3)
    overloaded = batch_measured(replace(reading.queries[0], batch=BatchParts(total_s=20.0)), reading, warming=False)
    assert overloaded is not None and overloaded.rows == 18_000.0


def test_of_a_query_that_runs_once_a_minute_a_batch_has_the_rows_that_it_took() -> None:
    """`availableNow` in a loop: batches follow no trigger, and between them nothing runs."""
    reading = batched(1, 3, 100.0)
    query = replace(reading.queries[0], trigger=Trigger(kind="available_now"), batch=BatchParts(total_s=4.0, rows=6000.0))
    measured = batch_measured(query, reading, warming=False)
    assert measured is not None and (measured.rows, measured.duration_s) == (6000.0, 4.0)
    assert cadence_of(query.trigger, Promises()) == Cadence(interval_s=0.0, longest_s=10.0, promised=False)


def test_batches_that_are_told_one_by_one_are_learnt_once_each() -> None:
    reading = batched(8, 3, 900.0)
    query = replace(reading.queries[0], batch=BatchParts(total_s=3.0, rows=3000.0, each=listed(6)))
    rows = {known: [each.rows for each in batches_measured(query, reading, known)] for known in (None, 2, 6, 7)}
    assert rows == {None: [1000.0, 3000.0, 5000.0], 2: [1000.0, 3000.0, 5000.0], 6: [3000.0, 5000.0], 7: [5000.0]}
    second, last = batches_measured(query, reading, 6)
    assert (second.taken, second.at_s, second.task_row_s, second.outside_s) == (0.1, reading.at_s - 6.0, 0.9 * 0.001, None)
    assert (last.taken, last.at_s, last.task_row_s, last.outside_s) == (0.2, reading.at_s - 1.0, 0.8 * 0.002, 0.5)
    plain = replace(query, batch=BatchParts(total_s=3.0, rows=3000.0))
    assert [each.rows for each in batches_measured(plain, reading, 7)] == [3000.0]


def listed(first: int) -> tuple[BatchReading, ...]:
    """Three batches, one every five seconds, of which the last ended a second ago."""
    return (
        BatchReading(number=first, rows=1000.0, took_s=2.0, since_s=11.0),
        BatchReading(number=first + 1, rows=3000.0, took_s=3.0, since_s=6.0, taken=0.1, run_s=3.0),
        BatchReading(number=first + 2, rows=5000.0, took_s=4.0, since_s=1.0, taken=0.2, run_s=10.0, outside_s=0.5),
    )


@pytest.mark.parametrize(
    ("first", "warm_ago_s", "warming"),
    [
        pytest.param(1, math.inf, [True, True, True], id="the first three of a query, however long they take"),
        pytest.param(2, math.inf, [True, True, False], id="the fourth is no first one"),
        pytest.param(9, math.inf, [False, False, False], id="long after the start"),
        pytest.param(9, 9.0, [True, False, False], id="executors were warm nine seconds ago, when the second began"),
        pytest.param(9, 7.0, [True, True, False], id="a batch that ended later began before"),
    ],
)
def test_first_batches_and_those_that_began_before_executors_were_warm_are_no_evidence(first: int, warm_ago_s: float, warming: list[bool]) -> None:
    reading = batched(8, 3, 900.0)
    query = replace(reading.queries[0], batch=BatchParts(total_s=3.0, rows=3000.0, each=listed(first)))
    assert [each.warming for each in batches_measured(query, reading, None, reading.at_s - warm_ago_s)] == warming


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
    for executors in (3, 4, 5, 6, 8):
        found = cost.capacity(executors, filling(INTERVAL_S))
        assert isinstance(found, Estimate) and found.value == pytest.approx(LAW.capacity_rows_per_s(executors, filling(INTERVAL_S)), rel=0.02), executors
    assert seen.cadence.longest_s == 2 * INTERVAL_S
    for executors in (3, 4):
        assert seen.capacities[executors].value == pytest.approx(LAW.capacity_rows_per_s(executors, seen.cadence), rel=0.05), executors


def test_the_cost_of_batches_answers_for_a_policy_that_asks_for_the_papers_regression_too() -> None:
    analysed = learnt_from(NEEDS | {"regression"})
    seen, cost = analysed.seen(), analysed.knowledge.learnt.capacity.by_batches
    assert cost is not None and seen.capacities[4] == cost.capacity(4, seen.cadence)


def test_latency_is_that_of_the_law_at_the_load() -> None:
    seen = learnt_from().seen()
    load = seen.load_rows_per_s
    assert load is not None and set(seen.latencies) == set(range(1, 9))
    for executors in (3, 4, 6):
        truth_s = latency_by_law_s(LAW, rate_rows_per_s=load, interval_s=INTERVAL_S, executors=executors, quantile=0.95)
        assert seen.latencies[executors].value == pytest.approx(truth_s, rel=0.05)


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


def test_stages_show_what_a_busy_slot_does() -> None:
    (stage,) = learnt_from().seen().stages
    assert stage.name == "scan" and stage.rate_rows_per_s == pytest.approx(500.0) and stage.selectivity == pytest.approx(1.0)


def test_cpu_counts_against_what_a_whole_executor_is() -> None:
    reading = SteadyJob().reading()
    for cores, busy in ((None, 0.5), (2.0, 0.25)):
        uses = executor_uses(reading, Autopilot(executor_cpu_cores=cores))
        assert uses is not None and uses.is_whole and [use.utilization for use in uses.uses] == pytest.approx([busy] * 4)


@pytest.mark.parametrize("missing", ["cpu_cores", "throughput_rows_per_s"])
def test_one_executor_that_is_not_known_hides_them_all(missing: str) -> None:
    reading = SteadyJob().reading()
    executors: tuple[ExecutorReading, ...] = (replace(reading.executors[0], **{missing: None}), *reading.executors[1:])  # type: ignore[arg-type]
    assert executor_uses(replace(reading, executors=executors), Autopilot()) is None
    assert executor_uses(replace(reading, executors=()), Autopilot()) is None


def test_a_changed_cost_and_a_busy_machine_are_each_said_once() -> None:
    analysed = learnt_from(turns=60)

    def said(numbers: range, taken: float, slower: float = 1.0) -> list[str]:
        analysed.events = []
        for number in numbers:
            reading = batched(number, 4, 700.0 + 400.0 * math.sin(number / 3))
            (query,) = reading.queries
            assert query.batch is not None
            rows = (query.throughput_rows_per_s or 0.0) * INTERVAL_S
            parts = replace(query.batch, total_s=query.batch.total_s * slower / (1.0 - taken), rows=rows, taken=taken)
            analysed.turn(reading=replace(reading, queries=(replace(query, batch=parts),)))
        return [event.words() for event in analysed.events if isinstance(event, (CostChanged, CpuTaken))]

    assert said(range(60, 70), 0.5) == ["others take 50% of the CPU time that the job wants: that is left out of the cost of its batches"]
    quiet, *changed = said(range(70, 84), 0.0, slower=1.6)
    assert quiet == "others leave the CPU to the job again"
    assert 1 <= len(changed) <= 2 and all(" of q" in words for words in changed)


def test_a_busy_machine_makes_tasks_run_longer_and_rows_no_dearer() -> None:
    """Batches, the run time of their tasks and the busyness of the executors all take twice as long while others take half of the CPU."""
    known: dict[float, Estimate] = {}
    for taken in (0.0, 0.5):
        analysed = learnt_from()
        for number in range(40, 70):
            reading = batched(number, 4, 700.0 + 400.0 * math.sin(number / 3))
            (query,) = reading.queries
            assert query.batch is not None
            parts = replace(query.batch, total_s=query.batch.total_s / (1.0 - taken), rows=query.throughput_rows_per_s * INTERVAL_S, taken=taken)
            stages = tuple(replace(stage, run_time_s_per_s=stage.run_time_s_per_s / (1.0 - taken)) for stage in query.stages)
            executors = tuple(replace(each, busyness=each.busyness / (1.0 - taken)) for each in reading.executors)
            analysed.turn(reading=replace(reading, queries=(replace(query, batch=parts, stages=stages),), executors=executors))
        known[taken] = analysed.seen().capacities[4]
    assert known[0.5].value == pytest.approx(known[0.0].value, rel=0.05)


def test_a_capacity_of_several_queries_that_spans_a_factor_of_three_is_not_known_either() -> None:
    chance, seen = random.Random(3), []
    for number in range(40):
        rows, noise = 500.0 + 20.0 * (number % 3), chance.lognormvariate(0.0, 0.8)
        seen.append(CapacitySeen(uses=moment(15.0 * number, (min(1.0, 0.1 * noise), rows))))
    plain = CapacityModel().learn(seen)
    found = replace(plain, in_batches=True).capacity(1, filling(INTERVAL_S))
    line = plain.capacity(1, filling(INTERVAL_S))
    assert isinstance(line, Estimate) and isinstance(found, Estimate) and line.high > VAGUE * line.low
    assert found.value == max(plain.by_utilization.carried().values()) < line.value
    assert "what is proven counts" in replace(plain, in_batches=True).choice(1, filling(INTERVAL_S)).why


@pytest.mark.parametrize("slower", [0.8, 1.0, 1.5])
def test_batches_show_a_capacity_without_an_overload(slower: float) -> None:
    """Rows that cost so much more: a prediction of the capacity is graded by any batch that is mostly rows."""
    analysed = learnt_from()
    reading = batched(50, 4, 1100.0)
    (query,) = reading.queries
    took_s = LAW.overhead_s + slower * (LAW.duration_s(1100.0 * INTERVAL_S, 4) - LAW.overhead_s)
    shown = replace(reading, queries=(replace(query, batch=BatchParts(total_s=took_s)),))
    cadence = analysed.seen().cadence
    assert capacity_shown(analysed.knowledge.learnt.capacity, shown, TERMS) == pytest.approx(LAW.capacity_rows_per_s(4, cadence) / slower, rel=0.03)
    idle = replace(reading, queries=(replace(query, batch=BatchParts(total_s=1.1, rows=100.0)),))
    assert capacity_shown(analysed.knowledge.learnt.capacity, idle, TERMS) is None, "that is mostly overhead"
    busy = replace(reading, queries=(replace(query, batch=BatchParts(total_s=took_s, taken=0.5)),))
    assert capacity_shown(analysed.knowledge.learnt.capacity, busy, TERMS) is None, "others took half of the time"


@pytest.mark.parametrize(
    ("states", "known"),
    [
        pytest.param({"q": "stopped", "r": "stopped"}, {"q", "r"}, id="all stop with their driver"),
        pytest.param({"q": "running"}, {"q", "r"}, id="a script that starts again adds one after the other"),
        pytest.param({"q": "running", "r": "restarting"}, {"q", "r"}, id="one is restarted"),
        pytest.param({"q": "running", "r": "given up"}, set(), id="one left the executors to the other"),
    ],
)
def test_what_was_learnt_of_batches_outlives_a_restart_and_not_the_departure_of_a_query(states: dict[str, str], known: set[str]) -> None:
    analysed = Analysed(SteadyJob(), TERMS, NEEDS)

    def reading(number: int, states: dict[str, str]) -> Reading:
        found = batched(number, 4, 900.0)
        return replace(found, queries=tuple(replace(found.queries[0], name=name, state=state) for name, state in states.items()))

    for number in range(8):
        analysed.turn(reading=reading(number, {"q": "running", "r": "running"}))
    before = analysed.knowledge.learnt.batches
    analysed.turn(reading=replace(reading(7, states), at_s=200.0))
    after = analysed.knowledge.learnt.batches
    assert set(after) == known and all(after[name] == before[name] for name in known)
