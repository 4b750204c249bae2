"""Snapshots of a history: single files that replace a history that is lost or older."""

import math
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Lock

from penstock.core.errors import UserMistake
from penstock.stores.database import check_health, explained, is_empty, open_reader

_one_at_a_time = Lock()


def take_snapshot(path: Path, target: Path) -> None:
    """Copy the history at `path`, as of one moment, into the single file `target`; its writer goes on meanwhile."""
    trouble = explained("no snapshot of the history could be taken", target, "make room, or see who may write there")
    with _one_at_a_time, trouble, _put_in_place(target) as fresh:
        _copy(path, fresh)


def restore_snapshot(snapshot: Path, path: Path) -> bool:
    """Put a snapshot in place of a missing or empty history; return whether it did."""
    if path.exists() and path.stat().st_size > 0:
        return False
    _restore(snapshot, path)
    return True


def take_newer(snapshot: Path, path: Path, aside: Path) -> bool:
    """Replace the history by a snapshot that is newer, keeping the old one at `aside`; return whether it did."""
    if newest_s(snapshot) <= newest_s(path):
        return False
    take_snapshot(path, aside)
    _restore(snapshot, path)
    return True


def newest_s(path: Path) -> float:
    """Return the time of the last row of a history; minus infinity if there is none, or the file is damaged."""
    last = "SELECT max(at_s) FROM (SELECT max(at_s) AS at_s FROM readings UNION ALL SELECT max(last_at_s) FROM events)"
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            found = None if is_empty(connection, path) else connection.execute(last).fetchone()[0]
    except sqlite3.DatabaseError:
        return -math.inf
    return -math.inf if found is None else float(found)


def _restore(snapshot: Path, path: Path) -> None:
    with explained("the snapshot of the history cannot be restored", snapshot, "put that right, or move it away to begin a new history"):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _put_in_place(path) as fresh:
            shutil.copyfile(snapshot, fresh)
            _check(fresh, snapshot)
            for left_over in ("-wal", "-shm"):
                path.with_name(path.name + left_over).unlink(missing_ok=True)


def _copy(path: Path, fresh: Path) -> None:
    """Make a consistent copy without a write-ahead log."""
    with closing(open_reader(path)) as history, closing(sqlite3.connect(fresh, isolation_level=None)) as copy:
        history.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")


def _check(fresh: Path, snapshot: Path) -> None:
    with closing(sqlite3.connect(f"{fresh.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        if is_empty(connection, snapshot):
            raise UserMistake(f"{snapshot}: the snapshot of the history is empty: move it away to begin a new history")
        check_health(connection, snapshot)


@contextmanager
def _put_in_place(target: Path) -> Iterator[Path]:
    """Yield a new private file beside `target` that takes its name once it is complete and on the disk."""
    fresh = target.with_name(f".{target.name}.part")
    try:
        os.close(os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600))
        yield fresh
        with fresh.open("rb") as written:
            os.fsync(written.fileno())
        fresh.replace(target)
    finally:
        fresh.unlink(missing_ok=True)
