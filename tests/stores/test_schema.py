from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.core.config import Config
from penstock.core.domain.events.run import NothingToDo
from penstock.core.errors import UserMistake
from penstock.core.knowledge import Desired, Knowledge
from penstock.core.learnt import Learnt
from penstock.core.models.capacity.scaleout_capacity import ScaleoutCapacity, ScaleoutMeasured
from penstock.core.redaction import Redactor
from penstock.runtime.fakes import blank_reading
from penstock.stores.codec import encode, encode_knowledge
from penstock.stores.connection import open_writer
from penstock.stores.history import History
from penstock.stores.reader import HistoryReader
from penstock.stores.schema import MIGRATIONS, OLDEST_READABLE, Migration, version_of

LATER: tuple[Migration, ...] = (
    *MIGRATIONS,
    ("ALTER TABLE readings ADD COLUMN policy TEXT", "UPDATE readings SET policy = 'none'"),
    ("ALTER TABLE readings RENAME COLUMN policy TO decided_by",),
)


def open_at(path: Path, migrations: tuple[Migration, ...]) -> sqlite3.Connection:
    return open_writer(path, wal_bytes=1 << 20, migrations=migrations)


def file_with_one_reading(path: Path) -> None:
    with closing(open_at(path, MIGRATIONS)) as connection:
        connection.execute("INSERT INTO readings (at_s, json) VALUES (1.0, '{}')")


def test_an_older_file_is_brought_up_step_by_step_with_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    file_with_one_reading(path)
    with closing(open_at(path, LATER)) as connection:
        assert version_of(connection) == len(LATER)
        assert connection.execute("SELECT at_s, decided_by FROM readings").fetchall() == [(1.0, "none")]


def test_a_migration_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    file_with_one_reading(path)
    with pytest.raises(UserMistake, match="no such table: nowhere"):
        open_at(path, (*LATER, ("DROP TABLE nowhere",)))
    with closing(open_at(path, MIGRATIONS)) as connection:
        assert version_of(connection) == len(MIGRATIONS)
        assert [column[1] for column in connection.execute("PRAGMA table_info(readings)")] == ["id", "at_s", "json"]


def test_a_newer_file_is_refused_by_writer_and_reader_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    open_at(path, LATER).close()
    before = path.read_bytes()
    line = rf"was written by a newer Penstock \(schema {len(LATER)}, this one knows {len(MIGRATIONS)}\): upgrade, or give another state folder"
    with pytest.raises(UserMistake, match=line):
        History.open(path, config=Config(), redactor=Redactor())
    with pytest.raises(UserMistake, match=line):
        HistoryReader.open(path)
    assert path.read_bytes() == before


def test_a_reader_does_not_migrate_but_says_who_does(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    path.touch()
    with pytest.raises(UserMistake, match=rf"has schema 0, this Penstock reads {OLDEST_READABLE} to {len(MIGRATIONS)}: run the job once"):
        HistoryReader.open(path)


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with closing(sqlite3.connect(path)) as foreign:
        foreign.execute("CREATE TABLE mine (x)")
    with pytest.raises(UserMistake, match="is a database of another program"):
        History.open(path, config=Config(), redactor=Redactor())


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    path.write_bytes(b"just a letter to a friend " * 100)
    with pytest.raises(UserMistake, match="file is not a database"):
        History.open(path, config=Config(), redactor=Redactor())


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with closing(open_at(path, MIGRATIONS)) as connection:
        connection.executemany("INSERT INTO readings (at_s, json) VALUES (?, ?)", [(each, "x" * 500) for each in range(200)])
    damaged = bytearray(path.read_bytes())
    damaged[8192:40960] = b"\xff" * (40960 - 8192)
    path.write_bytes(damaged)
    with pytest.raises(UserMistake) as refusal:
        History.open(path, config=Config(), redactor=Redactor())
    assert str(path) in str(refusal.value)
    assert "damaged" in str(refusal.value) or "malformed" in str(refusal.value)


def test_old_histories_are_migrated(tmp_path: Path) -> None:
    """A file of the first schema: knowledge in one piece, and nothing of how its turns came about."""
    path = tmp_path / "history.db"
    capacity = ScaleoutCapacity().learn([ScaleoutMeasured(scaleout=2, throughput_rows_per_s=900.0)])
    knowledge = Knowledge(declared=Desired(executors=1), desired=Desired(executors=2), next_number=7, learnt=Learnt(t_max=capacity), last=blank_reading(1.0))
    with closing(open_at(path, MIGRATIONS[:1])) as connection:
        connection.execute("INSERT INTO readings (at_s, json) VALUES (1.0, ?)", (encode(blank_reading(1.0)),))
        connection.execute("INSERT INTO knowledge (id, json) VALUES (1, ?)", (encode_knowledge(knowledge),))
    with History.open(path, config=Config(), redactor=Redactor()) as history:
        assert history.load() == knowledge
        later = replace(knowledge, next_number=8)
        history.append(2.0, events=[NothingToDo(at_s=2.0)], knowledge=later)
    with HistoryReader.open(path) as reader:
        assert reader.knowledge() == later, "what was learnt has moved to its own table"
        assert list(reader.turns()) == []


def test_an_old_history_that_knows_nothing_of_an_autopilot_is_read(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    old = '{"declared":{"executors":1},"desired":{"executors":2},"holds":[],"pending":[],"next_number":3,"last":null}'
    with closing(open_at(path, MIGRATIONS[:1])) as connection:
        connection.execute("INSERT INTO knowledge (id, json) VALUES (1, ?)", (old,))
    with History.open(path, config=Config(), redactor=Redactor()) as history:
        assert history.load() == Knowledge(declared=Desired(executors=1), desired=Desired(executors=2), next_number=3)
