from dataclasses import replace

import pytest
from laws import filling
from steady_job import Analysed, SteadyJob

from penstock.core.analyze.capacities import batch_laws, by_slowest_query, by_waves, t_max_of, table_of
from penstock.core.domain.cadence import Cadence
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.reading import ExecutorReading, QueryReading, Reading, StageReading
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge.learnt import Learnt
from penstock.core.models.capacity.batch_cost import BatchCost, BatchMeasured
from penstock.core.models.capacity.batch_law import BatchLaw, LikelyLaws
from penstock.core.models.capacity.capacity_by_executors import CapacityByExecutors, CapacityMeasured
from penstock.core.models.capacity.capacity_model import CapacityModel
from penstock.core.models.capacity.pace import Pace, PaceSeen
from penstock.core.models.estimate import Estimate
from penstock.core.models.latency.latency_table import LatencyTable
from penstock.runtime.fakes import blank_reading

INTERVAL_S, EXECUTOR_COUNTS = 5.0, range(1, 13)
LAW = BatchLaw(overhead_s=0.5, row_s=0.0002, partitions=24)
PROFILED = (1, 3, 4, 6, 7, 9, 10, 12)
TABLE = LatencyTable(executor_counts=(1,), rates_rows_per_s=(100.0, 200.0), latency_s=((1.0, 2.0),), valid=((True, False),), rows=4)


def carried(executors: int) -> float:
    return LAW.capacity_rows_per_s(executors, filling(INTERVAL_S))


def profile(share: float = 1.0) -> CapacityByExecutors:
    return CapacityByExecutors().learn([CapacityMeasured(executors=executors, throughput_rows_per_s=share * carried(executors)) for executors in PROFILED])


def batches(*, stages: bool = True) -> Reading:
    stage = StageReading(position=0, name="scan", tasks=24.0, rows_per_s=1.0, run_time_s_per_s=1.0, busyness=0.5)
    query = QueryReading(name="q", state="running", trigger=Trigger(interval_s=INTERVAL_S), rate_limit_rows_per_s=None, stages=(stage,) if stages else ())
    return blank_reading(0.0, queries=(query,), executors=(ExecutorReading(executor_id="0", host="a", slots=1, uptime_s=9.0),))


def laws_learnt() -> LikelyLaws:
    seen = [BatchMeasured(rows=rows, duration_s=LAW.duration_s(rows, 6), executors=6) for rows in (20_000.0, 50_000.0, 90_000.0, 120_000.0) * 3]
    laws = batch_laws(CapacityModel(by_batches=BatchCost(partitions=24).learn(seen)), batches())
    assert laws is not None and batch_laws(CapacityModel(), batches()) is None
    return laws


def test_a_job_can_do_what_it_does_now_whatever_its_batches_have_cost() -> None:
    """So a job that catches up is never said to recover in an infinite time."""
    seen = [BatchMeasured(rows=rows, duration_s=LAW.duration_s(rows, 6), executors=6) for rows in (20_000.0, 50_000.0, 90_000.0, 120_000.0) * 3]
    now = 1.5 * LAW.saturated_rows_per_s(6, INTERVAL_S)
    faster = replace(batches(), executors_running=6, throughput_rows_per_s=now)
    laws = batch_laws(CapacityModel(by_batches=BatchCost(partitions=24).learn(seen)), faster)
    assert laws is not None and laws.best.saturated_rows_per_s(6, INTERVAL_S) == pytest.approx(now)
    assert all(law.saturated_rows_per_s(6, INTERVAL_S) >= now * (1 - 1e-9) for law in laws.drawn)


def test_before_the_law_of_batches_is_known_the_profile_is_read_by_waves() -> None:
    found = t_max_of(Learnt(t_max=profile()), batches(), None, EXECUTOR_COUNTS, filling(INTERVAL_S))
    for executors in EXECUTOR_COUNTS:
        assert found[executors].value == pytest.approx(carried(executors), rel=0.05)
    assert found[11].value == found[8].value < found[12].value


def test_the_law_of_batches_answers_once_it_is_known_whatever_the_profile_claims() -> None:
    found = t_max_of(Learnt(t_max=profile(share=2.0)), batches(), laws_learnt(), EXECUTOR_COUNTS, filling(INTERVAL_S))
    for executors in EXECUTOR_COUNTS:
        assert found[executors].value == pytest.approx(carried(executors), rel=0.01)


def test_several_queries_carry_no_more_than_the_first_that_reaches_its_longest_batch() -> None:
    def cost(law: BatchLaw, sizes: tuple[float, ...] = (5_000.0, 20_000.0, 50_000.0)) -> BatchCost:
        return BatchCost(partitions=24).learn([BatchMeasured(rows=rows, duration_s=law.duration_s(rows, 6), executors=6) for rows in sizes * 4])

    slow, quick = replace(LAW, overhead_s=3.5), LAW
    (query,) = batches().queries
    queries = (replace(query, name="slow", arrival_rows_per_s=250.0), replace(query, name="quick", arrival_rows_per_s=750.0))
    reading = replace(batches(), queries=queries, arrival_rows_per_s=1000.0)
    promises, cadence = Promises(latency_p95_s=9.0), Cadence(interval_s=INTERVAL_S, longest_s=9.0 - 0.95 * INTERVAL_S)
    by_utilisation = {each: Estimate.exactly(10_000.0 * each) for each in (3, 6)}
    found = by_slowest_query(by_utilisation, {"slow": cost(slow), "quick": cost(quick)}, reading, promises, 0.0)
    for executors, answer in found.items():
        assert answer.value == pytest.approx(min(10_000.0 * executors, 4 * slow.capacity_rows_per_s(executors, cadence)), rel=0.02)
    assert found[6].value < 60_000.0, "the overhead leaves little of what the promise allows"
    idle = (replace(queries[0], state="given up"), *queries[1:], replace(query, name="third", arrival_rows_per_s=0.0))
    left = by_slowest_query(by_utilisation, {"slow": cost(slow), "quick": cost(quick)}, replace(reading, queries=idle, arrival_rows_per_s=750.0), promises, 0.0)
    assert left[6].value == pytest.approx(quick.capacity_rows_per_s(6, cadence), rel=0.02), "one that was given up bounds nothing"
    open_ = {"slow": cost(slow, (5_000.0,)), "quick": cost(quick)}
    without = by_slowest_query(by_utilisation, open_, reading, promises, 0.0)
    assert without[6].value == pytest.approx(quick.capacity_rows_per_s(6, cadence) / 0.75, rel=0.02), "a cost that is not known bounds nothing"
    assert by_slowest_query(by_utilisation, {"q": cost(slow)}, batches(), promises, 0.0) == by_utilisation, "a single query has its own model"


def test_without_a_profile_the_law_alone_says_nothing() -> None:
    assert t_max_of(Learnt(), batches(), laws_learnt(), EXECUTOR_COUNTS, filling(INTERVAL_S)) == {}


def test_where_the_tasks_are_not_known_the_profile_is_read_as_it_is() -> None:
    plain = profile()
    assert t_max_of(Learnt(t_max=plain), batches(stages=False), None, [11], filling(INTERVAL_S))[11] == plain.predict(11)


def test_where_tasks_run_all_the_time_it_is_the_papers_curve_until_an_overload_was_seen() -> None:
    job, plain = Analysed(SteadyJob()), profile()
    reading, learnt = job.job.reading(), Learnt(t_max=plain, table=TABLE)
    assert t_max_of(learnt, reading, laws_learnt(), EXECUTOR_COUNTS, filling(INTERVAL_S)) == {
        executors: plain.predict(executors) for executors in EXECUTOR_COUNTS
    }
    assert table_of(learnt, reading, {}) is TABLE
    slow = replace(learnt, pace=Pace().learn([PaceSeen(share=0.5, overloaded=True)] * 3))
    assert t_max_of(slow, reading, None, [6], filling(INTERVAL_S))[6].value == pytest.approx(plain.predict(6).value / 2)  # type: ignore[union-attr]
    at_pace = table_of(slow, reading, {})
    assert at_pace is not None and at_pace.at(1, 50.0).valid and not at_pace.at(1, 51.0).valid


def test_no_executors_keep_up_with_more_than_their_waves_carry() -> None:
    rates = tuple(3000.0 * number for number in range(1, 20))
    claims_all = LatencyTable(executor_counts=tuple(EXECUTOR_COUNTS), rates_rows_per_s=rates, latency_s=((1.0,) * 19,) * 12, valid=((True,) * 19,) * 12, rows=4)
    learnt = Learnt(t_max=profile(), table=claims_all)
    table = table_of(learnt, batches(), t_max_of(learnt, batches(), laws_learnt(), EXECUTOR_COUNTS, filling(INTERVAL_S)))
    assert table is not None
    assert [table.at(executors, 33_000.0).valid for executors in (7, 8, 11)] == [False, True, True]
    assert [table.at(executors, 46_000.0).valid for executors in (8, 11, 12)] == [False, False, True]


def test_a_profile_of_one_number_of_executors_predicts_others() -> None:
    assert by_waves(CapacityByExecutors().learn([CapacityMeasured(executors=6, throughput_rows_per_s=60.0)]), [12], 24, 1)[12].value == pytest.approx(120.0)
