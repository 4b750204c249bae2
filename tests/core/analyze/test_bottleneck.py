from dataclasses import replace
from typing import Any

import pytest

from penstock.core.analyze.bottleneck import bottleneck
from penstock.core.domain.decision import Comparison
from penstock.core.domain.reading import BatchParts, ExecutorReading, QueryReading, Reading, StageReading
from penstock.core.domain.trigger import Trigger
from penstock.runtime.fakes import blank_reading


def stage(position: int, *, tasks: float = 12, run_s_per_s: float) -> StageReading:
    return StageReading(position=position, name=f"stage {position}", tasks=tasks, rows_per_s=900.0, run_time_s_per_s=run_s_per_s, busyness=None)


HEALTHY = QueryReading(
    name="counts", state="running", trigger=Trigger(interval_s=2.0), rate_limit_rows_per_s=None, arrival_rows_per_s=1000.0,
    throughput_rows_per_s=900.0, batch=BatchParts(total_s=4.0, parts_s={"addBatch": 3.8, "walCommit": 0.1, "commitOffsets": 0.1}),
    stages=(stage(0, run_s_per_s=2.2), stage(1, run_s_per_s=1.4)),
)  # fmt: skip
"""Four slots that work nine tenths of the time."""


def overloaded(*queries: QueryReading, rates: tuple[float, ...] = (220, 230, 220, 230), slots: int = 1) -> Reading:
    executors = tuple(
        ExecutorReading(executor_id=str(number), host="a", slots=slots, uptime_s=600.0, throughput_rows_per_s=rate) for number, rate in enumerate(rates)
    )
    known: dict[str, Any] = {"executors": executors, "queries": queries, "throughput_rows_per_s": sum(rates), "arrival_rows_per_s": 1000.0}
    return blank_reading(1000.0, **known)


def test_a_job_that_is_simply_too_small_or_unknown_has_no_bottleneck_that_a_reading_shows() -> None:
    assert bottleneck(overloaded(HEALTHY)) == Comparison(code="unknown_bottleneck", value=900.0)
    assert bottleneck(blank_reading(0.0)) == Comparison(code="unknown_bottleneck")


@pytest.mark.parametrize(("limit", "code"), [(900.0, "rate_limit"), (1000.0, "rate_limit"), (1001.0, "unknown_bottleneck")])
def test_a_rate_limit_that_lets_no_more_in_is_named(limit: float, code: str) -> None:
    found = bottleneck(overloaded(replace(HEALTHY, rate_limit_rows_per_s=limit)))
    assert found.code == code and (found.limit == 1000.0) == (code == "rate_limit")


@pytest.mark.parametrize(("tasks", "code"), [(3, "partitions"), (4, "unknown_bottleneck")])
def test_too_few_partitions_are_named(tasks: int, code: str) -> None:
    found = bottleneck(overloaded(replace(HEALTHY, stages=(stage(0, tasks=tasks, run_s_per_s=2.0), stage(1, tasks=1, run_s_per_s=0.8)))))
    assert found.code == code
    if code == "partitions":
        assert (found.value, found.limit) == (3, 4)


def test_queries_fill_the_slots_together_and_tasks_that_run_always_hold_one_for_each_stage() -> None:
    narrow = replace(HEALTHY, stages=(stage(0, tasks=2, run_s_per_s=1.8), stage(1, tasks=2, run_s_per_s=1.4)))
    assert bottleneck(overloaded(narrow)).code == "partitions"
    assert bottleneck(overloaded(narrow, replace(narrow, name="other"))).code == "unknown_bottleneck"
    assert bottleneck(overloaded(replace(narrow, trigger=Trigger(kind="real_time", interval_s=10.0)))).code == "unknown_bottleneck"
    assert bottleneck(overloaded(narrow, replace(HEALTHY, name="other", stages=()))).code == "unknown_bottleneck"


@pytest.mark.parametrize(("busiest", "code"), [(601.0, "skew"), (599.0, "unknown_bottleneck")])
def test_one_executor_that_does_most_of_the_work_is_named(busiest: float, code: str) -> None:
    others = (1200.0 - busiest) / 3
    found = bottleneck(overloaded(HEALTHY, rates=(others, busiest, others, others)))
    assert found.code == code
    if code == "skew":
        assert (found.value, found.limit) == pytest.approx((601.0, 300.0))


def test_a_slow_sink_is_named_by_the_last_of_several_stages() -> None:
    found = bottleneck(overloaded(replace(HEALTHY, stages=(stage(0, run_s_per_s=1.0), stage(1, run_s_per_s=2.6)))))
    assert found.code == "sink" and found.value == pytest.approx(2.6 / 3.6)
    assert bottleneck(overloaded(replace(HEALTHY, stages=(stage(0, run_s_per_s=3.6),)))).code == "unknown_bottleneck"


def test_a_slow_sink_is_named_by_the_time_in_which_a_batch_writes_and_no_task_runs() -> None:
    idle = (stage(0, run_s_per_s=0.8), stage(1, run_s_per_s=0.6))
    found = bottleneck(overloaded(replace(HEALTHY, stages=idle)))
    assert found.code == "sink" and found.value == pytest.approx(3.8 / 4.0 - 1.4 / 4)


def test_a_batch_that_mostly_plans_and_commits_is_named() -> None:
    busy = BatchParts(total_s=1.0, parts_s={"addBatch": 0.4, "queryPlanning": 0.35, "walCommit": 0.25})
    found = bottleneck(overloaded(replace(HEALTHY, batch=busy)))
    assert found.code == "overhead" and (found.value, found.limit) == pytest.approx((0.6, 0.4))


def test_the_first_that_holds_is_named() -> None:
    both = replace(HEALTHY, rate_limit_rows_per_s=500.0, stages=(stage(0, tasks=1, run_s_per_s=0.9),))
    assert bottleneck(overloaded(both)).code == "rate_limit"
    assert bottleneck(overloaded(replace(both, rate_limit_rows_per_s=None))).code == "partitions"


def test_every_name_has_words() -> None:
    for query in (HEALTHY, replace(HEALTHY, rate_limit_rows_per_s=500.0), replace(HEALTHY, stages=(stage(0, tasks=1, run_s_per_s=0.9),))):
        assert "{" not in bottleneck(overloaded(query)).words()
