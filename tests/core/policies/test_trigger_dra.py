from typing import Any

import pytest
from assessed import NOW_S, assessed
from hypothesis import given
from hypothesis import strategies as st
from laws import filling

from penstock.core.domain.policy_memory import TriggerDraMemory
from penstock.core.domain.reading import QueryReading, StageReading
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge.assessment import Assessment
from penstock.core.policies.trigger_dra import TriggerDra
from penstock.runtime.fakes import blank_reading


def batches(*tasks: float, batch_s: float | None = 6.0, executors: int = 4, running: int | None = None, **known: Any) -> Assessment:
    """A query whose batches have stages of so many tasks, every ten seconds."""
    stages = tuple(
        StageReading(position=number, name=str(number), tasks=each, rows_per_s=1.0, run_time_s_per_s=1.0, busyness=0.5) for number, each in enumerate(tasks)
    )
    query = QueryReading(name="q", state="running", trigger=Trigger(interval_s=10.0), rate_limit_rows_per_s=None, stages=stages)
    reading = blank_reading(NOW_S, queries=(query,), executors_running=running or executors, executors_requested=executors)
    usual = {"plant": "micro_batch", "reading": reading, "executors": executors, "batch_s": batch_s, "stops": frozenset(), "cadence": filling(10.0)}
    return assessed(**{**usual, **known})


EXPLAINED: dict[str, tuple[Assessment, tuple[Any, ...]]] = {
    "tasks still wait late in the interval": (batches(12.0, 12.0, batch_s=8.6), (5, "backlogged_tasks", 24, 4)),
    "and longer: three more": (batches(12.0, 12.0, batch_s=10.0), (7, "backlogged_tasks", 24, 4)),
    "tasks of later stages wait too": (batches(4.0, 4.0, batch_s=15.0), (5, "backlogged_tasks", 8, 4)),
    "they have all begun by then": (batches(12.0, 12.0, batch_s=6.0), (4, "no_backlog", 5.0, 7.0)),
    "idle for half of the interval": (batches(12.0, batch_s=3.0), (3, "idle_executors", 4, 7.0)),
    "no fewer are allowed": (batches(12.0, batch_s=3.0, executors=1), (1, "limits", 0, 1)),
    "no more are allowed": (batches(40.0, batch_s=12.0, executors=12), (12, "limits", 13, 12)),
    "an executor is on its way": (batches(12.0, batch_s=3.0, running=3), (4, "no_backlog", 2.0, 7.0)),
    "executors left in this interval": (batches(12.0, batch_s=3.0, memory=TriggerDraMemory(removed_s=NOW_S - 4.0)), (4, "too_soon", 4.0, 10.0)),
    "no interval": (batches(12.0, cadence=filling(0.0)), (4, "no_trigger_interval", None, None)),
    "no batch is known": (batches(12.0, batch_s=None), (4, "not_ready", None, None)),
    "no stage is known": (batches(), (4, "not_ready", None, None)),
    "tasks never end": (batches(12.0, plant="continuous"), (4, "tasks_run_always", None, None)),
}


@pytest.mark.parametrize(("seen", "expected"), EXPLAINED.values(), ids=EXPLAINED)
def test_a_decision_names_its_reason_with_its_numbers(seen: Assessment, expected: tuple[Any, ...]) -> None:
    decision = TriggerDra().decide(seen)
    value = decision.why.value
    assert (decision.executors, decision.why.code, None if value is None else round(value, 3), decision.why.limit) == expected


def test_a_tenth_of_many_executors_leaves_at_once() -> None:
    assert TriggerDra(deallocation_ratio=0.25).decide(batches(24.0, batch_s=3.0, executors=12)).executors == 9


@given(tasks=st.integers(1, 60), batch_s=st.floats(0.0, 100.0), executors=st.integers(1, 12), longer=st.floats(1.0, 3.0))
def test_longer_batches_never_mean_fewer_executors(tasks: int, batch_s: float, executors: int, longer: float) -> None:
    now, then = (TriggerDra().decide(batches(float(tasks), batch_s=each, executors=executors)) for each in (batch_s, longer * batch_s))
    assert 1 <= now.executors <= then.executors <= 12
    assert {"up": "backlogged_tasks", "down": "idle_executors"}.get(now.direction, now.why.code) == now.why.code
