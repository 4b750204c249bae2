"""What went wrong with the CPU of executors is said once, and once more when it is over."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from penstock.core.config import Config
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.executors import CpuKnown, CpuUnknown
from penstock.runtime.fakes import FakeClock
from penstock.spark.monitor import SparkMonitor


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
