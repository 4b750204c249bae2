"""Arrivals and lag are told by partition, in both modes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.config import Config
from penstock.core.domain.reading import PartitionReading
from penstock.core.domain.trigger import Trigger
from penstock.core.monitor.facts import Observation, PartitionFact, QueryFacts
from penstock.core.monitor.observe import Memory, observe

CONFIG = Config(reading_interval_s=5.0, reading_window_s=15.0)
MODES = [Trigger(interval_s=5.0), Trigger(kind="real_time", interval_s=15.0)]


def look(memory: Memory, at_s: float, trigger: Trigger, *partitions: PartitionFact, **more: Any) -> tuple[Memory, tuple[PartitionReading, ...]]:
    query = QueryFacts(name="q", state="running", trigger=trigger, rate_limit_rows_per_s=None, started_s=0.0, source_partitions=partitions, **more)
    seen = Observation(at_s=at_s, started_s=0.0, disturbed_s=None, executors_requested=0, executors=(), queries=(query,))
    memory, reading = observe(memory, seen, CONFIG)
    return memory, reading.queries[0].source_partitions


@pytest.mark.parametrize("trigger", MODES, ids=str)
@given(rates=st.lists(st.floats(0.0, 1e5), min_size=1, max_size=5), gaps_s=st.lists(st.floats(0.5, 30.0), min_size=1, max_size=12))
@settings(max_examples=40, deadline=None)
def test_each_partition_has_its_own_arrival_rate_however_often_it_is_read(trigger: Trigger, rates: list[float], gaps_s: list[float]) -> None:
    memory, at_s = Memory(), 0.0
    for gap_s in (1.0, *gaps_s):
        at_s += gap_s
        facts = [PartitionFact(name=f"clicks-{i}", newest_rows=rate * at_s, processed_rows=None) for i, rate in enumerate(rates)]
        memory, found = look(memory, at_s, trigger, *facts)
    assert [each.name for each in found] == [f"clicks-{i}" for i in range(len(rates))]
    assert [each.arrival_rows_per_s for each in found] == pytest.approx(rates, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("trigger", MODES, ids=str)
def test_the_lag_of_a_partition_is_what_waits_there_and_unknown_where_nobody_knows(trigger: Trigger) -> None:
    facts = [PartitionFact(name=f"clicks-{i}", newest_rows=100.0, processed_rows=done) for i, done in enumerate((40.0, 100.0, 130.0, None))]
    _, found = look(Memory(), 1.0, trigger, *facts)
    assert [each.lag_rows for each in found] == [60.0, 0.0, 0.0, None]
    assert all(each.arrival_rows_per_s is None for each in found)


def test_the_rate_is_that_of_the_last_window() -> None:
    memory, rows = Memory(), 0.0
    for number in range(12):
        rows += 5.0 * (100.0 if number < 6 else 400.0)
        memory, found = look(memory, 5.0 * number, MODES[0], PartitionFact(name="clicks-0", newest_rows=rows, processed_rows=0.0))
    assert found[0].arrival_rows_per_s == pytest.approx(400.0)
    assert len(memory.partitions["q"]["clicks-0"]) <= 4


def test_partitions_that_are_gone_are_forgotten_and_new_ones_begin_unknown() -> None:
    old, new = (PartitionFact(name=name, newest_rows=50.0, processed_rows=50.0) for name in ("clicks-0", "clicks-1"))
    memory, _ = look(Memory(), 0.0, MODES[0], old)
    memory, both = look(memory, 5.0, MODES[0], old, new)
    assert [each.arrival_rows_per_s for each in both] == [0.0, None]
    memory, _ = look(memory, 10.0, MODES[0], new)
    assert set(memory.partitions["q"]) == {"clicks-1"}
    memory, none = look(memory, 15.0, MODES[0])
    assert none == () and memory.partitions["q"] == {}


def test_a_topic_that_was_made_anew_has_no_negative_rate() -> None:
    memory = Memory()
    rates = []
    for number, rows in enumerate((900.0, 1000.0, 10.0, 60.0)):
        memory, found = look(memory, 5.0 * number, MODES[0], PartitionFact(name="clicks-0", newest_rows=rows, processed_rows=None))
        rates.append(found[0].arrival_rows_per_s)
    assert rates == [None, pytest.approx(20.0), None, pytest.approx(10.0)]
