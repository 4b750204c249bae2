"""Executors of a fake Spark: what a change of their number requests, that surplus ones leave between batches, and the cost that is reported."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from changes import changing, scaling

from penstock.core.config import Config
from penstock.core.domain.configuration import Configuration
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.domain.reading import Reading
from penstock.core.execute.reconcile import reconcile
from penstock.core.knowledge.knowledge import Knowledge
from penstock.runtime.fakes import blank_reading
from penstock.spark.actuator import SparkActuator
from penstock.spark.executors import ExecutorPool, Scaled

BUSY, WAITING = "Processing new data", "Waiting for next trigger"


class Context:
    """Spark's own account of its executors: one that is killed is no longer wanted, one that is decommissioned may be."""

    def __init__(self, executors: int) -> None:
        self.wanted = executors
        self.alive = [str(number) for number in range(executors)]

    def requestTotalExecutors(self, executors: int, tasks: int, places: object) -> bool:
        self.wanted = executors
        return True

    def killExecutor(self, executor_id: str) -> None:
        self.alive.remove(executor_id)
        self.wanted -= 1

    def schedulerBackend(self) -> "Context":
        return self

    def decommissionExecutor(self, executor_id: str, info: object, adjust: bool, by_itself: bool) -> bool:
        self.alive.remove(executor_id)
        return True

    def executors(self) -> list[dict[str, Any]]:
        return [{"id": each, "addTime": each} for each in self.alive]


@pytest.mark.parametrize("decommission", ["true", "false"])
def test_after_a_scale_down_spark_wants_as_many_as_remain_so_that_a_crashed_one_is_replaced(decommission: str) -> None:
    context = Context(3)
    driver = SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: context), master="spark://host:7077", getConf=lambda: {"spark.decommission.enabled": decommission})
    pool = ExecutorPool(SimpleNamespace(_jvm=MagicMock(), sparkContext=driver), context, 3)  # type: ignore[arg-type]
    assert pool.scale(2, timeout_s=1.0, wait_for_gap=lambda: None).done
    assert pool.running() == ["0", "1"] and context.wanted == 2


def performed(instruction: Instruction, *, pool: Any, queries: Sequence[Any] = (), last_reading: Callable[[], Reading | None], **settings: Any) -> Outcome:
    """The outcome of an instruction."""
    actuator = SparkActuator(session=None, pool=pool, queries=queries, config=Config(**settings), redact=str, last_reading=last_reading)  # type: ignore[arg-type]
    came, outcomes = threading.Event(), list[Outcome]()

    def report(outcome: Outcome) -> None:
        outcomes.append(outcome)
        came.set()

    actuator.perform(instruction, report)
    assert came.wait(30)
    return outcomes[0]


def scaled_between(before: Reading, after: Reading) -> Outcome:
    """The outcome of a scaling before and after which these were the last readings."""
    readings: Iterator[Reading] = iter((before, after))
    pool = SimpleNamespace(running=lambda: [], scale=lambda *_: Scaled(done=True, took_s=0.1))
    return performed(scaling(1, 1, 2), pool=pool, last_reading=lambda: next(readings))


def test_a_scaling_costs_what_the_excess_lag_grew_by_and_is_unknown_if_nothing_was_read_meanwhile() -> None:
    first, worse = (blank_reading(at_s, excess_lag_rows=rows) for at_s, rows in ((0.0, 100.0), (5.0, 350.0)))
    assert scaled_between(first, worse).delayed_rows == 250.0
    assert scaled_between(worse, first).delayed_rows == 0.0
    same = scaled_between(first, first)
    assert same.done and same.delayed_rows is None
    assert scaled_between(first, blank_reading(5.0)).delayed_rows is None


def test_a_knob_that_spark_cannot_apply_and_a_query_that_is_not_there_are_refused() -> None:
    queries = [SimpleNamespace(name="q")]
    shedding, absent = (performed(changing(1, name, kept_share=(1.0, 0.5)), pool=None, queries=queries, last_reading=lambda: None) for name in ("q", "z"))
    assert (shedding.done, shedding.reason) == (False, "kept-share:q cannot be set on Spark")
    assert (absent.done, absent.reason) == (False, "there is no query 'z'")


def test_where_nobody_has_said_how_many_executors_there_should_be_those_that_come_stay() -> None:
    context = Context(0)
    driver = SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: context), master="spark://host:7077", getConf=dict)
    pool = ExecutorPool(SimpleNamespace(_jvm=MagicMock(), sparkContext=driver), context, None)  # type: ignore[arg-type]
    knowledge = Knowledge(declared=Configuration(executors=1), desired=Configuration(executors=1))
    for running in (0, 2, 4, 3):
        context.alive = [str(number) for number in range(running)]
        assert pool.requested == running
        reading = blank_reading(0.0, executors_running=running, executors_requested=pool.requested, unable=pool.unable)
        assert reconcile(replace(knowledge, last=reading), 0.0)[1] == []
    assert "max_executors" in pool.unable["executors"]


class Query:
    """A query that does the next thing of its story at every look at it, and then the last one for ever."""

    name = "q"
    is_real_time = False
    state = "running"
    isActive = True  # noqa: N815

    def __init__(self, *story: str, commits_at: int | None = None) -> None:
        self._story = story
        self._commits_at = commits_at
        self.looks = 0
        self.query = self

    @property
    def status(self) -> dict[str, Any]:
        self.looks += 1
        message = self._story[min(self.looks, len(self._story)) - 1]
        return {"isTriggerActive": message == BUSY, "message": message}

    @property
    def commits(self) -> Any:
        return SimpleNamespace(count=1 if self._commits_at is not None and self.looks >= self._commits_at else 0)


class Pool:
    """Two executors, of which one is let go."""

    def running(self) -> list[str]:
        return ["0", "1"]

    def scale(self, executors: int, timeout_s: float, wait_for_gap: Callable[[], object]) -> Scaled:
        wait_for_gap()
        return Scaled(done=True, took_s=0.0)


def let_one_go(*queries: Query, gap_wait_s: float = 60.0) -> None:
    outcome = performed(scaling(1, 2, 1), pool=Pool(), queries=queries, last_reading=lambda: None, gap_wait_s=gap_wait_s)
    assert outcome.done, outcome


def test_they_wait_until_no_query_is_in_a_batch_and_no_longer() -> None:
    one, other = Query(BUSY, BUSY, WAITING), Query(WAITING, BUSY, BUSY, WAITING, commits_at=2)
    let_one_go(one, other)
    assert one.looks == other.looks == 4, "a commit of one is no gap while another works"


def test_right_after_a_commit_is_a_gap_where_there_is_one_query() -> None:
    only = Query(BUSY, commits_at=3)
    let_one_go(only)
    assert only.looks == 4, "the commit is seen at the next look, with the query in its next batch already"


def test_where_there_is_never_a_gap_they_leave_all_the_same() -> None:
    one, other = Query(BUSY), Query(BUSY)
    let_one_go(one, other, gap_wait_s=0.2)
    assert one.looks >= 2
