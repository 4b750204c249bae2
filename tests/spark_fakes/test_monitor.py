"""What the monitor reports of a fake Spark, once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from penstock.core.config import Config
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.executors import CpuKnown, CpuUnknown
from penstock.runtime.fakes import FakeClock
from penstock.spark.monitor import SparkMonitor
from penstock.spark.query_reader import QueryReader, order_of


class FakeCpu:
    """Knows nothing of any executor, for this reason."""

    problem: str | None = None

    def cores(self, executor_id: str, host: str) -> float | None:
        return None

    def cpu_s(self, executor_id: str, host: str) -> float | None:
        return None


def test_each_change_of_what_is_wrong_is_one_event() -> None:
    cpu, said = FakeCpu(), list[Event]()
    store: Any = SimpleNamespace(executors=list)
    pool: Any = SimpleNamespace(requested=2, dismissed=set(), unable={})
    monitor = SparkMonitor(
        store=store, pool=pool, queries=[], config=Config(), clock=FakeClock(), cpu=cpu, default_partitions=lambda: 4, emit=said.extend,
        disturbed_s=lambda: None, redact=str, heartbeat_s=1.0,
    )  # fmt: skip
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
