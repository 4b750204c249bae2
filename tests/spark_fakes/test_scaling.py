import queue
from collections.abc import Callable, Sequence
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


def pool_of(context: Context, executors: int | None, **conf: str) -> ExecutorPool:
    driver = SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: context), master="spark://host:7077", getConf=lambda: conf)
    return ExecutorPool(SimpleNamespace(_jvm=MagicMock(), sparkContext=driver), context, executors)  # type: ignore[arg-type]


@pytest.mark.parametrize("decommission", ["true", "false"])
def test_after_a_scale_down_spark_wants_as_many_as_remain_so_that_a_crashed_one_is_replaced(decommission: str) -> None:
    context = Context(3)
    pool = pool_of(context, 3, **{"spark.decommission.enabled": decommission})
    assert pool.scale(2, timeout_s=1.0, wait_for_gap=lambda: None).done and pool.running() == ["0", "1"] and context.wanted == 2


def performed(instruction: Instruction, *, pool: Any, queries: Sequence[Any] = (), last_reading: Callable[[], Reading | None], **settings: Any) -> Outcome:
    """The outcome of an instruction."""
    actuator = SparkActuator(session=None, pool=pool, queries=queries, config=Config(**settings), redact=str, last_reading=last_reading)  # type: ignore[arg-type]
    outcomes: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
    actuator.perform(instruction, outcomes.put)
    return outcomes.get(timeout=30)


def test_a_scaling_costs_what_the_excess_lag_grew_by_and_is_unknown_if_nothing_was_read_meanwhile() -> None:
    first, worse = (blank_reading(at_s, excess_lag_rows=rows) for at_s, rows in ((0.0, 100.0), (5.0, 350.0)))
    pool = SimpleNamespace(running=lambda: [], scale=lambda *_: Scaled(done=True, took_s=0.1))
    for before, after, delayed_rows in ((first, worse, 250.0), (worse, first, 0.0), (first, first, None), (first, blank_reading(5.0), None)):
        readings = iter((before, after))
        outcome = performed(scaling(1, 1, 2), pool=pool, last_reading=lambda readings=readings: next(readings))  # type: ignore[misc]
        assert outcome.done and outcome.delayed_rows == delayed_rows


def test_a_knob_that_spark_cannot_apply_and_a_query_that_is_not_there_are_refused() -> None:
    queries = [SimpleNamespace(name="q")]
    shedding, absent = (performed(changing(1, name, kept_share=(1.0, 0.5)), pool=None, queries=queries, last_reading=lambda: None) for name in ("q", "z"))
    assert (shedding.done, shedding.reason) == (False, "kept-share:q cannot be set on Spark")
    assert (absent.done, absent.reason) == (False, "there is no query 'z'")


def test_where_the_number_of_executors_is_not_declared_those_that_come_stay() -> None:
    context = Context(0)
    pool = pool_of(context, None)
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
        self._story, self._commits_at = story, commits_at
        self.looks, self.query = 0, self

    @property
    def status(self) -> dict[str, Any]:
        self.looks += 1
        message = self._story[min(self.looks, len(self._story)) - 1]
        return {"isTriggerActive": message == BUSY, "message": message}

    @property
    def commits(self) -> Any:
        return SimpleNamespace(count=1 if self._commits_at is not None and self.looks >= self._commits_at else 0)


def let_one_go(*queries: Query, gap_wait_s: float = 60.0) -> None:
    """Let one of two executors go."""

    def scale(executors: int, timeout_s: float, wait_for_gap: Callable[[], object]) -> Scaled:
        wait_for_gap()
        return Scaled(done=True, took_s=0.0)

    pool = SimpleNamespace(running=lambda: ["0", "1"], scale=scale)
    outcome = performed(scaling(1, 2, 1), pool=pool, queries=queries, last_reading=lambda: None, gap_wait_s=gap_wait_s)
    assert outcome.done, outcome


def test_they_wait_until_no_query_is_in_a_batch_and_leave_where_there_is_never_a_gap() -> None:
    one, other = Query(BUSY, BUSY, WAITING), Query(WAITING, BUSY, BUSY, WAITING, commits_at=2)
    let_one_go(one, other)
    assert one.looks == other.looks == 4, "a commit of one is no gap while another works"
    only = Query(BUSY, commits_at=3)
    let_one_go(only)
    assert only.looks == 4, "the commit is seen at the next look, with the query in its next batch already"
    one, other = Query(BUSY), Query(BUSY)
    let_one_go(one, other, gap_wait_s=0.2)
    assert one.looks >= 2
