from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from typing import Any

import pytest
from assessed import NOW_S, assessed
from changes import scaled_to
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.domain.decision import Decision
from penstock.core.domain.policy_memory import DraMemory
from penstock.core.domain.reading import ExecutorReading, QueryReading, StageReading
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge.assessment import Assessment
from penstock.core.policies.spark_dra import SparkDra
from penstock.runtime.fakes import blank_reading

EXECUTORS = st.integers(1, 12)


def query(*tasks: float) -> QueryReading:
    stages = tuple(
        StageReading(position=number, name=str(number), tasks=each, rows_per_s=1.0, run_time_s_per_s=1.0, busyness=0.5) for number, each in enumerate(tasks)
    )
    return QueryReading(name=f"q{tasks}", state="running", trigger=Trigger(interval_s=10.0), rate_limit_rows_per_s=None, stages=stages)


def batches(
    tasks: float, batch_s: float | None = 6.0, *, shares: Sequence[float | None] = (0.5,) * 4, queries: tuple[QueryReading, ...] | None = None, **known: Any
) -> Assessment:
    listed = tuple(ExecutorReading(executor_id=str(each), host="a", slots=1, uptime_s=3600.0, busyness=share) for each, share in enumerate(shares))
    at_s = known.get("at_s", NOW_S)
    reading = blank_reading(at_s, executors=listed, executors_running=len(listed), queries=(query(tasks),) if queries is None else queries)
    return assessed(**{"plant": "micro_batch", "reading": reading, "executors": len(listed), "batch_s": batch_s, "stops": frozenset(), **known})


@pytest.mark.parametrize(("batch_s", "added"), [(1.0, 0), (1.2, 1), (2.4, 3), (3.6, 7)])
def test_rounds_double_while_tasks_wait(batch_s: float, added: int) -> None:
    assert SparkDra().decide(batches(24.0, batch_s)).executors == 4 + added, "tasks in six waves wait five sixths of a batch"


EXPLAINED: dict[str, tuple[Assessment, tuple[Any, ...]]] = {
    "tasks wait for slots": (batches(24.0), (12, "backlogged_tasks", 24, 4)),
    "tasks fit into the slots": (batches(4.0, 60.0), (4, "no_backlog", 0.0, 1.0)),
    "at its limit": (batches(40.0, shares=(1.0,) * 12), (12, "limits", 13, 12)),
    "tasks never end": (batches(24.0, plant="continuous"), (4, "tasks_run_always", None, None)),
    "no batch is known": (batches(24.0, None), (4, "not_ready", None, None)),
    "no executor is known": (batches(0.0, shares=(), executors=4), (4, "not_ready", None, None)),
}


@pytest.mark.parametrize(("seen", "expected"), EXPLAINED.values(), ids=EXPLAINED)
def test_a_decision_names_its_reason_with_its_numbers(seen: Assessment, expected: tuple[Any, ...]) -> None:
    decision = SparkDra().decide(seen)
    assert (decision.executors, decision.why.code, decision.why.value, decision.why.limit) == expected


@given(
    tasks=st.integers(0, 60), batch_s=st.floats(0.0, 600.0), current=EXECUTORS, slots_each=st.integers(1, 4), ratio=st.sampled_from([0.25, 0.5, 1.0])
)  # fmt: skip
def test_it_never_asks_for_more_than_the_tasks_can_fill(tasks: int, batch_s: float, current: int, slots_each: int, ratio: float) -> None:
    decision = SparkDra(ratio=ratio).decide(batches(float(tasks), batch_s, executors=current, slots_each=slots_each))
    assert decision.executors <= max(current, ceil(tasks * ratio / slots_each))
    assert current <= decision.executors <= 12
    assert decision.why.code in ({"backlogged_tasks"} if decision.direction == "up" else {"no_backlog", "limits"})


@given(tasks=st.integers(0, 60), more=st.integers(0, 60), batch_s=st.floats(0.0, 600.0), current=EXECUTORS)
def test_more_tasks_never_mean_fewer_executors(tasks: int, more: int, batch_s: float, current: int) -> None:
    executor_counts = [SparkDra().decide(batches(float(each), batch_s, executors=current)).executors for each in (tasks, tasks + more)]
    assert executor_counts[0] <= executor_counts[1]


def test_queries_run_beside_each_other_and_the_stages_of_one_do_not() -> None:
    assert SparkDra().decide(batches(0.0, 600.0, queries=(query(4.0, 3.0), query(2.0)))).executors == 6
    assert SparkDra().decide(batches(0.0, 600.0, queries=(query(4.0, 3.0),))).executors == 4


def follow(readings: Sequence[tuple[float, Sequence[float]]], *, tasks: float = 2.0, current: int | None = None) -> list[int]:
    memory: Any = None
    executor_counts = []
    for after_s, shares in readings:
        seen = batches(tasks, shares=shares, at_s=NOW_S + after_s, memory=memory)
        decision = SparkDra().decide(seen if current is None else replace(seen, current=scaled_to(current)))
        executor_counts.append(decision.executors)
        memory = decision.memory
    return executor_counts


def test_an_executor_that_was_idle_for_a_minute_leaves() -> None:
    two_idle = (0.5, 0.5, 0.0, 0.0)
    assert follow([(0.0, two_idle), (15.0, two_idle), (59.0, two_idle), (60.0, two_idle)]) == [4, 4, 4, 2]


def test_a_task_in_between_begins_the_minute_anew() -> None:
    idle, at_work = (0.5, 0.5, 0.0), (0.5, 0.5, 0.1)
    assert follow([(0.0, idle), (30.0, at_work), (60.0, idle), (90.0, idle), (120.0, idle)]) == [3, 3, 3, 3, 2]


def test_those_that_are_leaving_are_not_taken_twice() -> None:
    two_idle = (0.5, 0.5, 0.0, 0.0)
    assert follow([(0.0, two_idle), (60.0, two_idle), (61.0, two_idle)], tasks=0.0, current=2) == [2, 2, 2]


def test_not_more_leave_than_the_tasks_leave_over_and_never_the_fewest_allowed() -> None:
    all_idle = (0.0,) * 4
    assert follow([(0.0, all_idle), (60.0, all_idle)], tasks=3.0) == [4, 3]
    assert follow([(0.0, all_idle), (60.0, all_idle)], tasks=0.0) == [4, 1]
    assert follow([(0.0, (0.0,)), (60.0, (0.0,))], tasks=0.0) == [1, 1]


def test_the_reason_names_the_idle_ones() -> None:
    seen = batches(2.0, shares=(0.5, 0.0), memory=DraMemory(idle_since_s={"1": NOW_S - 75.0}))
    assert (SparkDra().decide(seen).why.code, SparkDra().decide(seen).why.value, SparkDra().decide(seen).why.limit) == ("limits", 1, 2)
    seen = batches(1.0, shares=(0.5, 0.0), memory=DraMemory(idle_since_s={"1": NOW_S - 75.0}))
    assert (SparkDra().decide(seen).why.code, SparkDra().decide(seen).why.value, SparkDra().decide(seen).why.limit) == ("idle_executors", 1, 60.0)


def test_executors_that_are_gone_or_busy_are_forgotten() -> None:
    memory = DraMemory(idle_since_s={"0": 1.0, "9": 2.0})
    kept = SparkDra().decide(batches(2.0, shares=(0.5, 0.0), memory=memory)).memory
    assert kept == DraMemory(idle_since_s={"1": NOW_S}, tasks={"q(2.0,)": 2})


def overdue(since_commit_s: float = 120.0, *, stages: bool = False, **known: Any) -> QueryReading:
    """A query of 24 tasks whose batch runs on and on; with its stages while the reading still shows the batch before."""
    late: dict[str, Any] = {"batch_id": 7, "since_commit_s": since_commit_s, "lag_s": since_commit_s + 5.0, "lag_rows": 9000.0, "excess_lag_rows": 8000.0}
    return replace(query(24.0) if stages else replace(query(), name="q(24.0,)"), **{**late, **known})


def after_a_short_batch(late: QueryReading, **known: Any) -> Decision:
    """What is decided while a batch is overdue, after one that took half a second; no task time is known before it commits."""
    before = SparkDra().decide(batches(24.0, 0.5, **known))
    assert before.why.code == "no_backlog"
    batch_s = 0.5 if late.stages else None
    return SparkDra().decide(batches(0.0, batch_s, shares=(0.0,) * 4, queries=(late,), at_s=NOW_S + (late.since_commit_s or 0.0), memory=before.memory))


@pytest.mark.parametrize("stages", [True, False])
def test_in_a_batch_that_does_not_end_tasks_wait_as_long_as_it_has_run(stages: bool) -> None:
    decision = after_a_short_batch(overdue(stages=stages))
    assert (decision.executors, decision.why.code, decision.why.value, decision.why.limit) == (12, "backlogged_tasks", 24, 4)
    assert after_a_short_batch(overdue(10.0 + 1.3, stages=stages)).executors == 5, "1.3 s at least, in six waves"


def test_between_two_batches_no_task_waits() -> None:
    waiting = after_a_short_batch(overdue(9.0, stages=True))
    assert (waiting.executors, waiting.why.code) == (4, "no_backlog")
    late_row = after_a_short_batch(overdue(stages=True, lag_s=2.0))
    assert (late_row.executors, late_row.why.code) == (4, "no_backlog"), "the first row after a quiet time"


@pytest.mark.parametrize("state", ["restarting", "failed", "stopped"])
def test_a_query_that_is_down_has_no_tasks(state: str) -> None:
    down = after_a_short_batch(overdue(state=state))
    assert (down.executors, down.why.code) == (4, "no_backlog")


def test_in_a_batch_that_does_not_end_no_executor_is_idle() -> None:
    decision = SparkDra().decide(batches(0.0, shares=(0.0,) * 4, queries=(overdue(),), memory=DraMemory(idle_since_s={str(each): 1.0 for each in range(4)})))
    assert (decision.executors, decision.why.code, decision.memory) == (4, "not_ready", DraMemory()), "nor is it known how many tasks there are"


def test_an_idle_query_needs_no_executors_however_many_tasks_it_had() -> None:
    idle = replace(overdue(), lag_rows=0.0, excess_lag_rows=0.0, lag_s=0.0)
    memory = DraMemory(tasks={"q(24.0,)": 24}, idle_since_s={str(each): NOW_S - 61.0 for each in range(4)})
    decision = SparkDra().decide(batches(0.0, None, shares=(0.0,) * 4, queries=(idle,), memory=memory))
    assert (decision.executors, decision.why.code) == (1, "idle_executors")
    assert isinstance(decision.memory, DraMemory) and decision.memory.tasks == {"q(24.0,)": 24}
