import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from histories import opened

from penstock.core.errors import UserMistake
from penstock.stores.database import SCHEMA_VERSION, open_writer
from penstock.stores.reader import HistoryReader


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.db"


def refused(path: Path, line: str) -> None:
    with pytest.raises(UserMistake, match=line):
        opened(path)


def test_a_new_file_has_the_schema_and_a_second_opening_leaves_its_rows(path: Path) -> None:
    for number in (1, 2):
        with closing(open_writer(path, wal_bytes=1 << 20)) as connection:
            assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
            connection.execute("INSERT INTO readings (at_s, json) VALUES (1.0, '{}')")
            assert connection.execute("SELECT count(*) FROM readings").fetchone() == (number,)


@pytest.mark.parametrize("version", [0, SCHEMA_VERSION + 2])
def test_another_schema_version_is_refused_by_writer_and_reader_and_left_alone(path: Path, version: int) -> None:
    with closing(open_writer(path, wal_bytes=1 << 20)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    before = path.read_bytes()
    line = rf"^{path}: the history has schema version {version}, this Penstock needs version 1: use the Penstock that wrote it, or move it away to begin a new"
    refused(path, line)
    with pytest.raises(UserMistake, match=line):
        HistoryReader.open(path)
    assert path.read_bytes() == before


def test_an_empty_file_a_database_of_another_program_and_a_file_that_is_none_are_refused(path: Path) -> None:
    path.touch()
    with pytest.raises(UserMistake, match="the history is empty; it begins when the job first runs"):
        HistoryReader.open(path)
    assert path.stat().st_size == 0
    with closing(sqlite3.connect(path)) as foreign:
        foreign.execute("CREATE TABLE mine (x)")
    refused(path, "is a database of another program")
    path.write_bytes(b"just a letter to a friend " * 100)
    refused(path, "file is not a database")


def test_a_damaged_file_is_refused(path: Path) -> None:
    with closing(open_writer(path, wal_bytes=1 << 20)) as connection:
        connection.executemany("INSERT INTO readings (at_s, json) VALUES (?, ?)", [(each, "x" * 500) for each in range(200)])
    damaged = bytearray(path.read_bytes())
    damaged[8192:40960] = b"\xff" * (40960 - 8192)
    path.write_bytes(damaged)
    refused(path, rf"{path}.*(damaged|malformed)")
    assert path.read_bytes() == damaged, "it is left as it is"
