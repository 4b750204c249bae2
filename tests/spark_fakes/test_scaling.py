"""Executors of a fake Spark: what a change of their number requests, and the cost that is reported."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from penstock.core.config import Config
from penstock.core.domain.instruction import Outcome, ScaleExecutors
from penstock.core.domain.reading import Reading
from penstock.core.execute.reconcile import reconcile
from penstock.core.knowledge.knowledge import Desired, Knowledge
from penstock.runtime.fakes import blank_reading
from penstock.spark.actuator import SparkActuator
from penstock.spark.executors import ExecutorPool, Scaled


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

    def schedulerBackend(self) -> Context:
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


def scaled_between(before: Reading, after: Reading) -> Outcome:
    """The outcome of a scaling before and after which these were the last readings."""
    readings: Iterator[Reading] = iter((before, after))
    pool = SimpleNamespace(running=lambda: [], scale=lambda *_: Scaled(done=True, took_s=0.1))
    actuator = SparkActuator(
        session=None, pool=pool, queries=[], config=Config(), redact=str, last_reading=lambda: next(readings)  # type: ignore[arg-type]
    )  # fmt: skip
    outcomes: list[Outcome] = []
    done = threading.Event()

    def report(outcome: Outcome) -> None:
        outcomes.append(outcome)
        done.set()

    actuator.perform(ScaleExecutors(number=1, executors=2), report)
    assert done.wait(10)
    return outcomes[0]


def test_a_scaling_costs_what_the_excess_lag_grew_by_and_is_unknown_if_nothing_was_read_meanwhile() -> None:
    first, worse = (blank_reading(at_s, excess_lag_rows=rows) for at_s, rows in ((0.0, 100.0), (5.0, 350.0)))
    assert scaled_between(first, worse).delayed_rows == 250.0
    assert scaled_between(worse, first).delayed_rows == 0.0
    same = scaled_between(first, first)
    assert same.done and same.delayed_rows is None
    assert scaled_between(first, blank_reading(5.0)).delayed_rows is None


def test_where_nobody_has_said_how_many_executors_there_should_be_those_that_come_stay() -> None:
    context = Context(0)
    driver = SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: context), master="spark://host:7077", getConf=dict)
    pool = ExecutorPool(SimpleNamespace(_jvm=MagicMock(), sparkContext=driver), context, None)  # type: ignore[arg-type]
    knowledge = Knowledge(declared=Desired(executors=1), desired=Desired(executors=1))
    for running in (0, 2, 4, 3):
        context.alive = [str(number) for number in range(running)]
        assert pool.requested == running
        reading = blank_reading(0.0, executors_running=running, executors_requested=pool.requested, unable=pool.unable)
        assert reconcile(replace(knowledge, last=reading), 0.0)[1] == []
    assert "max_executors" in pool.unable["executors"]
