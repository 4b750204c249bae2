"""Open history files: one writer, any number of readers, and one line for whoever cannot."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from penstock.core.errors import UserMistake
from penstock.stores.faults import explained
from penstock.stores.schema import MIGRATIONS, OLDEST_READABLE, Migration, check_origin, migrate

LOCK_WAIT_S = 2.0
FREE_AT_START_BYTES = 1 << 20


def open_writer(path: Path, *, wal_bytes: int, migrations: Sequence[Migration] = MIGRATIONS) -> sqlite3.Connection:
    """A connection that may write: the file created or migrated, its health and its disk checked."""
    with explained("the history cannot be written", path, "put that right, or give another state folder"):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        connection = sqlite3.connect(path, timeout=LOCK_WAIT_S, isolation_level=None, check_same_thread=False)
        with _closed_on_error(connection):
            if check_origin(connection, path, known=len(migrations)) == 0:
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            check_health(connection, path)
            path.chmod(0o600)
            _use_write_ahead_log(connection, wal_bytes)
            migrate(connection, path, migrations)
            check_room(path)
    return connection


def open_reader(path: Path) -> sqlite3.Connection:
    """A connection that cannot write, while another process does, or after that was killed."""
    if not path.is_file():
        raise UserMistake(f"{path}: there is no history; it begins when the job first runs")
    with explained("the history cannot be read", path, "put that right, or restore its snapshot"):
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=LOCK_WAIT_S, isolation_level=None, check_same_thread=False)
        with _closed_on_error(connection):
            version = check_origin(connection, path)
            if version < OLDEST_READABLE:
                readable = f"{OLDEST_READABLE} to {len(MIGRATIONS)}"
                raise UserMistake(f"{path} has schema {version}, this Penstock reads {readable}: run the job once with this Penstock, that brings it up")
    return connection


def check_health(connection: sqlite3.Connection, path: Path) -> None:
    """Raise `UserMistake` if the file is damaged."""
    found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise UserMistake(f"{path}: the history is damaged ({found}): move it away, and its snapshot or an empty one takes its place")


def check_room(path: Path) -> None:
    """A few pages may still fit where nothing else does: better to say so now than in a minute."""
    free_bytes = shutil.disk_usage(path.parent).free
    if free_bytes < FREE_AT_START_BYTES:
        raise UserMistake(f"{path}: the disk under the history is full ({free_bytes // 1024} kB free): make room, or give another state folder")


def page_bytes(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA page_size").fetchone()[0])


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
