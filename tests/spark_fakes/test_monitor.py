import json
import time
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.core.config import Config
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.executor_events import CpuKnown, CpuUnknown
from penstock.core.domain.job_spec import Promises
from penstock.eventlog.lines import wall_s
from penstock.runtime.fakes import EPOCH_S, FakeClock
from penstock.spark.monitor import SparkMonitor
from penstock.spark.progress import CommitListener, Commits, batch_fact
from penstock.spark.query_reader import QueryReader, order_of

BEGAN = "2026-11-16T08:00:00.000Z"
REPORT = {"runId": "run", "batchId": 3, "timestamp": BEGAN, "durationMs": {"addBatch": 1500, "triggerExecution": 2000}, "numInputRows": 7}


def monitor_of(executors: list[dict[str, Any]], clock: FakeClock, cpu: Any, emit: Callable[[Sequence[Event]], None] = lambda events: None) -> SparkMonitor:
    """A monitor of these executors and no queries."""
    store: Any = SimpleNamespace(executors=lambda: executors)
    pool: Any = SimpleNamespace(requested=len(executors), dismissed=set(), unable={})
    return SparkMonitor(
        store=store, pool=pool, queries=[], config=Config(), promises=Promises(), clock=clock, cpu=cpu, default_partitions=lambda: 4, emit=emit,
        disturbed_s=lambda: None, redact=str, heartbeat_s=1.0,
    )  # fmt: skip


def no_cpu() -> SimpleNamespace:
    """Knows the CPU of no executor."""
    return SimpleNamespace(problem=None, cores=lambda executor_id, host: None, cpu_s=lambda executor_id, host: None, wanted=lambda hosts: None)


def test_each_change_of_what_is_wrong_is_one_event() -> None:
    cpu, said = no_cpu(), list[Event]()
    monitor = monitor_of([], FakeClock(), cpu, said.extend)
    for cpu.problem in (None, "no answer in time", "no answer in time", "HTTP 401", None, None):
        monitor.read()
    assert [event.problem for event in said if isinstance(event, CpuUnknown)] == ["no answer in time", "HTTP 401"]
    assert [type(event) for event in said] == [CpuUnknown, CpuUnknown, CpuKnown]
    assert [event.words() for event in said][1:] == ["the CPU of executors is unknown: HTTP 401", "the CPU of executors is known again"]


def test_a_sink_that_cannot_be_looked_at_is_said_once_with_its_time() -> None:
    clock, said = FakeClock(), list[Event]()
    query: Any = SimpleNamespace(name="q", recipe=SimpleNamespace(output=None))
    reader = QueryReader(query, store=SimpleNamespace(), clock=clock, heartbeat_s=1.0, default_partitions=lambda: 4, say=said.append)  # type: ignore[arg-type]
    assert reader._outputs() == reader._outputs() == ()
    assert [(event.at_s, event.words()) for event in said] == [
        (clock.now_s(), "the latency of q at its sink is unknown: only a Kafka sink with one topic can be looked at")
    ]


def test_which_task_reads_which_partition_is_learnt_from_counts() -> None:
    assert order_of([5, 5, 9], {"a-0": 9.0, "a-1": 5.0, "a-2": 5.0}) == ("a-1", "a-2", "a-0")
    assert order_of([5, 5, 8], {"a-0": 9.0, "a-1": 5.0, "a-2": 5.0}) is None


def test_a_step_of_the_systems_time_after_a_report_moves_nothing_that_was_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, commits = FakeClock(), Commits()
    listener = CommitListener(clock)
    listener.follow("run", commits)

    def reported(wall_s: float, **differs: Any) -> None:
        monkeypatch.setattr(time, "time", lambda: wall_s)
        listener.reported(json.dumps({**REPORT, **differs}))

    reported(wall_s(BEGAN) + 2.0)
    clock.wait(10.0)
    reported(wall_s(BEGAN) - 3600.0, durationMs={"triggerExecution": 0})

    (progress,) = commits.take()
    fact = batch_fact(progress, rows=None, stages=())
    assert (fact.started_s, fact.committed_s, fact.committed_wall_s) == (EPOCH_S - 2.0, EPOCH_S, wall_s(BEGAN) + 2.0)
    assert commits.idle_s == EPOCH_S + 10.0


def test_an_executor_is_as_old_as_it_is_whatever_the_systems_time_says(monkeypatch: pytest.MonkeyPatch) -> None:
    began_s = wall_s(BEGAN)
    executor = {"id": "0", "hostPort": "here:7000", "maxTasks": 1, "totalCores": 1, "addTime": began_s * 1000}
    clock = FakeClock()
    monitor = monitor_of([executor], clock, no_cpu())

    def age_s(wall_s: float) -> float:
        monkeypatch.setattr(time, "time", lambda: wall_s)
        return monitor.read().executors[0].uptime_s

    assert age_s(began_s + 20.0) == 20.0
    clock.wait(10.0)
    assert age_s(began_s + 3600.0) == 30.0
