"""What is said of a pretended query that cannot be read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from penstock.core.domain.events.event import Event
from penstock.runtime.fakes import FakeClock
from penstock.spark.query_reader import QueryReader


def test_a_sink_that_cannot_be_looked_at_is_said_once_with_its_time() -> None:
    clock, said = FakeClock(), list[Event]()
    query: Any = SimpleNamespace(name="q", recipe=SimpleNamespace(output=None))
    reader = QueryReader(query, store=SimpleNamespace(), clock=clock, heartbeat_s=1.0, default_partitions=lambda: 4, say=said.append)  # type: ignore[arg-type]
    assert reader._outputs() == reader._outputs() == ()
    assert [(event.at_s, event.words()) for event in said] == [
        (clock.now_s(), "the latency of q at its sink is unknown: only a Kafka sink with one topic can be looked at")
    ]
