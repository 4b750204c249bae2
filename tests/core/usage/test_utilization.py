"""How busy executors are is not known while a batch runs that is longer than a reading looks back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from assessed import NOW_S, assessed

from penstock.core.analyze.learn import workers_reading
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.reading import BatchParts, ExecutorReading, QueryReading, Reading
from penstock.core.domain.trigger import Trigger
from penstock.core.models.usage import is_stalled
from penstock.core.policies.hpa import Hpa
from penstock.core.policies.spark_dra import SparkDra
from penstock.runtime.fakes import blank_reading


def stalled(**known: Any) -> Reading:
    """Rows wait, the last commit is long ago, and the executors seem to do nothing."""
    query = QueryReading(name="q", state="running", trigger=Trigger(interval_s=5.0), rate_limit_rows_per_s=None, batch_id=3, lag_rows=9000.0, batches=0)
    executors = tuple(
        ExecutorReading(executor_id=str(number), host="a", slots=1, uptime_s=900.0, throughput_rows_per_s=0.0, busyness=0.0) for number in range(4)
    )
    return blank_reading(NOW_S, queries=(replace(query, **known),), executors=executors, executors_running=4, executors_requested=4)


@pytest.mark.parametrize(
    ("known", "is_one"),
    [
        ({}, True),
        ({"lag_rows": 0.0}, False),
        ({"lag_rows": None}, False),
        ({"batch_id": None}, False),
        ({"batch": BatchParts(total_s=4.0)}, False),
        ({"trigger": Trigger(kind="real_time", interval_s=10.0)}, False),
    ],
)
def test_a_stall_is_a_batch_that_does_not_end_while_rows_wait(known: dict[str, Any], is_one: bool) -> None:
    assert is_stalled(stalled(**known)) == is_one


def test_nobody_gives_executors_away_because_a_batch_is_long() -> None:
    seen = assessed(plant="micro_batch", reading=stalled(), batch_s=None)
    assert Hpa().decide(seen).executors == 4 == SparkDra().decide(seen).executors
    idle = assessed(plant="micro_batch", reading=stalled(lag_rows=0.0))
    assert Hpa(stable_down_s=0.0).decide(idle).executors < 4, "an idle job is another matter"


def test_a_stall_teaches_no_capacity() -> None:
    assert workers_reading(stalled(), Autopilot()) is None
    assert workers_reading(stalled(lag_rows=0.0), Autopilot()) is not None
