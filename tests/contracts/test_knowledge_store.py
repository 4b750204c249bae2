from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from changes import scaled_to, scaling

from penstock.core.config import Config
from penstock.core.domain.configuration import Configuration, QueryConfiguration
from penstock.core.domain.events.run_events import RunEnded
from penstock.core.domain.instruction import Outcome
from penstock.core.domain.reading import QueryReading
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge.knowledge import Hold, Knowledge, Missing, Pending
from penstock.core.redaction import Redactor
from penstock.runtime.controller import Memory
from penstock.runtime.fakes import blank_reading
from penstock.stores.history import History
from penstock.stores.in_memory import MemoryStore

Open = Callable[[], Memory]


@cache
def memory_store(folder: Path) -> Memory:
    return MemoryStore()


def history(folder: Path) -> Memory:
    return History.open(folder / "history.db", config=Config(), redactor=Redactor())


STORES = [pytest.param(memory_store, id="memory"), pytest.param(history, id="history")]
QUERY = QueryReading(name="a", state="running", trigger=Trigger(kind="real_time", interval_s=15.0), rate_limit_rows_per_s=0.1, unable={"trigger": "no"})
KNOWLEDGE = Knowledge(
    declared=scaled_to(2, a="0s"),
    desired=Configuration(
        executors=3,
        queries={"a": QueryConfiguration(trigger=Trigger(interval_s=0.1), partitions=8), "b": QueryConfiguration(rate_limit_rows_per_s=1e-9, kept_share=0.7)},
    ),
    holds=(Hold(knob="executors", value="3", who="Zoë", until_s=1_700_000_000.123456),),
    next_number=12,
    missing=Missing(since_s=5.5, reported=True),
    last=blank_reading(7.0, executors_running=2, lag_rows=1.5, queries=(QUERY,)),
)


@pytest.fixture(params=STORES)
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    opener: Callable[[Path], Memory] = request.param
    return lambda: opener(tmp_path)


def test_a_new_store_knows_nothing(open_store: Open) -> None:
    assert open_store().load() is None


def test_what_was_saved_last_is_loaded_exactly_and_outlives_who_saved_it(open_store: Open) -> None:
    store = open_store()
    for saved in (KNOWLEDGE, replace(KNOWLEDGE, next_number=13)):
        store.save(saved)
        assert store.load() == open_store().load() == saved


def test_what_is_under_way_is_not_kept(open_store: Open) -> None:
    open_store().save(replace(KNOWLEDGE, pending=(Pending(instruction=scaling(1, 2, 3), since_s=1.0),)))
    assert open_store().load() == KNOWLEDGE


def test_a_turn_is_remembered_with_its_knowledge_and_one_without_leaves_that_as_it_was(open_store: Open) -> None:
    store, events = open_store(), [RunEnded(at_s=8.0, job="j", reason="x")]
    outcomes = [(Outcome(number=1, done=True, took_s=1.0), 8.0)]
    said = store.append(8.0, reading=KNOWLEDGE.last, events=events, instructions=[(scaling(1, 2, 3), 8.0)], outcomes=outcomes, knowledge=KNOWLEDGE)
    assert list(said) == []
    store.append(9.0, events=events)
    assert open_store().load() == KNOWLEDGE
