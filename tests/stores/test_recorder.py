"""Which Penstock recorded a history is kept with its keyframes, and apart from what is compared."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from penstock.core.config import Config
from penstock.core.domain.events.run import NothingToDo
from penstock.core.inputs import Inputs
from penstock.core.knowledge import Desired, Knowledge
from penstock.core.loop import Turn
from penstock.core.recorded import Keyframe, Recorded
from penstock.core.redaction import Redactor
from penstock.core.terms import Terms
from penstock.runtime.fakes import blank_reading
from penstock.stores.connection import open_writer
from penstock.stores.history import History
from penstock.stores.reader import HistoryReader
from penstock.stores.recorder import Recorder
from penstock.stores.schema import MIGRATIONS, version_of
from penstock.stores.snapshot import restore_snapshot, take_snapshot

KNOWLEDGE = Knowledge(declared=Desired(executors=1), desired=Desired(executors=2))
OLD, NEW = Recorder(version="0.1.0", core="5f2a90c1b7de"), Recorder(version="0.2.0")


def run(path: Path, recorder: Recorder | None, first_s: float = 5.0) -> None:
    """Two turns, of which the first has a keyframe."""
    with History.open(path, config=Config(), redactor=Redactor(), recorder=recorder) as history:
        knowledge, terms = KNOWLEDGE, Terms()
        for at_s in (first_s, first_s + 5.0):
            reading, events = blank_reading(at_s), (NothingToDo(at_s=at_s),)
            done = Turn(knowledge=knowledge, instructions=(), events=events)
            recorded = Recorded(before=Keyframe(knowledge=knowledge, terms=terms), inputs=Inputs(at_s=at_s, reading=reading), done=done)
            history.append(at_s, reading=reading, events=events, knowledge=knowledge, recorded=recorded)


def recorders(path: Path) -> dict[int, Recorder]:
    with HistoryReader.open(path) as reader:
        return reader.recorders()


def rows(path: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def as_the_second_schema(path: Path) -> Path:
    """The file as a Penstock wrote it that did not say which it was."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("ALTER TABLE keyframes DROP COLUMN recorder")
        connection.execute("PRAGMA user_version = 2")
    return path


def test_each_run_says_who_recorded_it(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    run(path, OLD)
    run(path, None, first_s=100.0)
    run(path, NEW, first_s=200.0)
    assert recorders(path) == {1: OLD, 5: NEW}, "each run begins with a keyframe"


def test_what_is_compared_is_the_same_whoever_recorded_it(tmp_path: Path) -> None:
    histories = [tmp_path / "old.db", tmp_path / "new.db", tmp_path / "unknown.db"]
    for path, recorder in zip(histories, (OLD, NEW, None), strict=True):
        run(path, recorder)
    compared = ("SELECT * FROM turns", "SELECT * FROM readings", "SELECT turn_id, at_s, json FROM keyframes", "SELECT * FROM events")
    first, *others = [[rows(path, query) for query in compared] for path in histories]
    assert others == [first, first] and first[0][0][-1], "with marks"


def test_a_history_of_the_schema_before_is_read_as_one_that_does_not_say(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    run(path, OLD)
    before = as_the_second_schema(path).read_bytes()
    with HistoryReader.open(path) as reader:
        assert reader.recorders() == {} and [turn.keyframe is not None for turn in reader.turns()] == [True, False]
        assert reader.terms() == Terms() and reader.knowledge() is not None
    assert path.read_bytes() == before, "nothing is migrated by reading"


def test_a_history_of_the_schema_before_goes_on_with_who_records_it_now(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    run(path, OLD)
    as_the_second_schema(path)
    run(path, NEW, first_s=100.0)
    assert recorders(path) == {3: NEW}
    with closing(open_writer(path, wal_bytes=1 << 20)) as connection:
        assert version_of(connection) == len(MIGRATIONS)


def test_a_snapshot_carries_who_recorded_it(tmp_path: Path) -> None:
    path, copy, elsewhere = (tmp_path / name for name in ("history.db", "snapshot.db", "elsewhere.db"))
    run(path, OLD)
    take_snapshot(path, copy)
    assert restore_snapshot(copy, elsewhere) and recorders(elsewhere) == {1: OLD}
