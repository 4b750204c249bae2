"""How many tasks are there at one time, and how many executors they fill."""

from __future__ import annotations

from typing import Any

from assessed import NOW_S, assessed

from penstock.core.domain.reading import QueryReading, StageReading
from penstock.core.domain.trigger import Trigger
from penstock.core.policies.choosing import executors_filled, tasks_at_once
from penstock.runtime.fakes import blank_reading


def query(name: str, *tasks: float) -> QueryReading:
    stages = tuple(StageReading(position=at, name=str(at), tasks=each, rows_per_s=1.0, run_time_s_per_s=1.0, busyness=0.5) for at, each in enumerate(tasks))
    return QueryReading(name=name, state="running", trigger=Trigger(interval_s=10.0), rate_limit_rows_per_s=None, stages=stages)


def filled(*queries: QueryReading, **known: Any) -> int | None:
    return executors_filled(assessed(**{"plant": "micro_batch", "reading": blank_reading(NOW_S, queries=queries), **known}))


def test_the_stages_of_a_query_follow_each_other_and_one_without_a_batch_is_not_known() -> None:
    assert tasks_at_once(blank_reading(NOW_S, queries=(query("q", 4.0, 6.5), query("r", 3.0), query("s")))) == {"q": 7, "r": 3}


def test_queries_run_beside_each_other_and_fill_slots_together() -> None:
    assert filled(query("q", 4.0, 6.5), query("r", 3.0)) == 10
    assert filled(query("q", 4.0, 6.5), query("r", 3.0), slots_each=4) == 3
    assert filled(query("q", 0.0)) == 1


def test_unless_all_tasks_are_known_and_end_nothing_follows_from_them() -> None:
    assert filled() is None
    assert filled(query("q", 4.0), query("r")) is None
    assert filled(query("q", 4.0), plant="continuous") is None
