"""Surplus executors leave between batches, whatever the number of queries."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from penstock.core.config import Config
from penstock.core.domain.instruction import Outcome, ScaleExecutors
from penstock.spark.actuator import SparkActuator
from penstock.spark.executors import Scaled

BUSY, WAITING = "Processing new data", "Waiting for next trigger"


class Query:
    """A query that does the next thing of its story at every look at it, and then the last one for ever."""

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
    actuator: Any = SparkActuator
    made = actuator(session=None, pool=Pool(), queries=queries, config=Config(gap_wait_s=gap_wait_s), redact=str, last_reading=lambda: None)
    came, outcomes = threading.Event(), list[Outcome]()

    def report(outcome: Outcome) -> None:
        outcomes.append(outcome)
        came.set()

    made.perform(ScaleExecutors(number=1, executors=1), report)
    assert came.wait(30) and outcomes[0].done, outcomes


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
