"""The SQLite file of a history: its schema, how it is opened, and its errors as one line for the user."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.core.errors import UserMistake
from penstock.stores.codec import DecodeError

APPLICATION_ID = int.from_bytes(b"PNST")
SCHEMA_VERSION = 1
SCHEMA = f"""
    PRAGMA application_id = {APPLICATION_ID};
    PRAGMA user_version = {SCHEMA_VERSION};
    CREATE TABLE readings (id INTEGER PRIMARY KEY, at_s REAL NOT NULL, json TEXT NOT NULL);
    CREATE TABLE events
        (id INTEGER PRIMARY KEY, at_s REAL NOT NULL, last_at_s REAL NOT NULL, count INTEGER NOT NULL, kind TEXT NOT NULL, json TEXT NOT NULL);
    CREATE TABLE instructions (id INTEGER PRIMARY KEY, at_s REAL NOT NULL, target TEXT NOT NULL, json TEXT NOT NULL);
    CREATE TABLE outcomes (id INTEGER PRIMARY KEY, at_s REAL NOT NULL, json TEXT NOT NULL);
    CREATE TABLE turns (id INTEGER PRIMARY KEY, at_s REAL NOT NULL, reading_id INTEGER, json TEXT NOT NULL, marks TEXT NOT NULL);
    CREATE TABLE keyframes (turn_id INTEGER PRIMARY KEY, at_s REAL NOT NULL, json TEXT NOT NULL, recorder TEXT NOT NULL);
    CREATE TABLE knowledge (id INTEGER PRIMARY KEY CHECK (id = 1), json TEXT NOT NULL, reading_id INTEGER);
    CREATE TABLE learnt (id INTEGER PRIMARY KEY CHECK (id = 1), json TEXT NOT NULL);
    CREATE INDEX readings_by_time ON readings (at_s);
    CREATE INDEX events_by_time ON events (at_s);
    CREATE INDEX events_by_last_time ON events (last_at_s);
    CREATE INDEX instructions_by_time ON instructions (at_s);
    CREATE INDEX outcomes_by_time ON outcomes (at_s);
    CREATE INDEX turns_by_time ON turns (at_s);
    CREATE INDEX keyframes_by_time ON keyframes (at_s);
"""
"""The tables of a history. A file with another schema version is refused: there are no migrations."""

LOCK_WAIT_S = 2.0
FREE_AT_START_BYTES = 1 << 20


def open_writer(path: Path, *, wal_bytes: int) -> sqlite3.Connection:
    """Return a connection that may write; create the file and its tables where needed, and check its health and its disk."""
    with explained("the history cannot be written", path, "put that right, or give another state folder"):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        connection = sqlite3.connect(path, timeout=LOCK_WAIT_S, isolation_level=None, check_same_thread=False)
        with _closed_on_error(connection):
            if is_empty(connection, path):
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            check_health(connection, path)
            path.chmod(0o600)
            _use_write_ahead_log(connection, wal_bytes)
            with transaction(connection):
                for statement in SCHEMA.split(";") if is_empty(connection, path) else ():
                    connection.execute(statement)
            check_room(path)
    return connection


def open_reader(path: Path) -> sqlite3.Connection:
    """Return a read-only connection; a writer may be at work meanwhile, or may have been killed."""
    if not path.is_file():
        raise UserMistake(f"{path}: there is no history; it begins when the job first runs")
    with explained("the history cannot be read", path, "put that right, or restore its snapshot"):
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=LOCK_WAIT_S, isolation_level=None, check_same_thread=False)
        with _closed_on_error(connection):
            if is_empty(connection, path):
                raise UserMistake(f"{path}: the history is empty; it begins when the job first runs")
    return connection


def is_empty(connection: sqlite3.Connection, path: Path) -> bool:
    """Return whether the file has no tables yet; raise `UserMistake` if it is another program's, or has another schema version."""
    version, application = (int(connection.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("user_version", "application_id"))
    if version == 0 and connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
        return True
    if application != APPLICATION_ID:
        raise UserMistake(f"{path} is a database of another program, not a history of Penstock: give another state folder")
    if version != SCHEMA_VERSION:
        needed = f"the history has schema version {version}, this Penstock needs version {SCHEMA_VERSION}"
        raise UserMistake(f"{path}: {needed}: use the Penstock that wrote it, or move it away to begin a new history")
    return False


def check_health(connection: sqlite3.Connection, path: Path) -> None:
    found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise UserMistake(f"{path}: the history is damaged ({found}): move it away, and its snapshot or an empty one takes its place")


def check_room(path: Path) -> None:
    """Raise `UserMistake` if the disk is nearly full: better at the start than a minute later."""
    free_bytes = shutil.disk_usage(path.parent).free
    if free_bytes < FREE_AT_START_BYTES:
        raise UserMistake(f"{path}: the disk under the history is full ({free_bytes // 1024} kB free): make room, or give another state folder")


def page_bytes(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA page_size").fetchone()[0])


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit at the end, roll back on any error; when the disk is full SQLite may have rolled back by itself."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def is_disk_trouble(error: sqlite3.Error) -> bool:
    """Return whether the disk or the file is at fault (full, no permission, damaged, locked for too long), not this program.

    >>> is_disk_trouble(sqlite3.OperationalError("database or disk is full")), is_disk_trouble(sqlite3.ProgrammingError("bad binding"))
    (True, False)
    """
    return isinstance(error, sqlite3.OperationalError) or type(error) is sqlite3.DatabaseError


@contextmanager
def explained(what: str, path: Path, remedy: str) -> Iterator[None]:
    """Turn errors of the operating system, of SQLite and of decoding into one line for the user."""
    try:
        yield
    except (OSError, sqlite3.Error, DecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserMistake(f"{path}: {what} ({reason}): {remedy}") from error


def _use_write_ahead_log(connection: sqlite3.Connection, wal_bytes: int) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA wal_autocheckpoint = {wal_bytes // page_bytes(connection)}")
    connection.execute(f"PRAGMA journal_size_limit = {wal_bytes}")


@contextmanager
def _closed_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise
