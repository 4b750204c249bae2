"""Keep a history file within an age and a size: the oldest rows are dropped, the knowledge stays."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from penstock.core.config import Config
from penstock.stores.database import page_bytes, transaction

_AGES = {"readings": "at_s", "events": "last_at_s", "instructions": "at_s", "outcomes": "at_s", "turns": "at_s", "keyframes": "at_s"}
_LEAST_SHARE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The maximum age and size of a history: four fifths for the file, the rest for its write-ahead log, which a clean-up fills for a moment."""

    age_s: float
    size_bytes: float

    @classmethod
    def of(cls, config: Config) -> Bounds:
        return cls(age_s=config.history_days * 86400, size_bytes=config.history_mb * 1e6)

    @property
    def file_bytes(self) -> float:
        return 0.8 * self.size_bytes

    @property
    def wal_bytes(self) -> int:
        """The size at which the write-ahead log is moved into the file: SQLite's usual 4 MB, less in a small history."""
        return int(min(4e6, 0.05 * self.size_bytes))


def is_too_large(connection: sqlite3.Connection, bounds: Bounds) -> bool:
    """Return whether the file is too large; cheap enough for every turn."""
    return _used_bytes(connection) > bounds.file_bytes


def keep_within(connection: sqlite3.Connection, bounds: Bounds, now_s: float) -> None:
    """Drop rows that are too old, then the oldest until the file is small enough, and free the space."""
    with transaction(connection):
        _drop_until(connection, now_s - bounds.age_s)
    while is_too_large(connection, bounds):
        share = max(_LEAST_SHARE, 1 - bounds.file_bytes / _used_bytes(connection))
        cut_s = _time_at_share(connection, share)
        if cut_s is None:
            break
        with transaction(connection):
            _drop_until(connection, cut_s)
    _return_space(connection)


def _used_bytes(connection: sqlite3.Connection) -> int:
    pages, free = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count"))
    return int(pages - free) * page_bytes(connection)


def _drop_until(connection: sqlite3.Connection, cut_s: float) -> None:
    for table, age in _AGES.items():
        connection.execute(f"DELETE FROM {table} WHERE {age} <= ?", (cut_s,))


def _time_at_share(connection: sqlite3.Connection, share: float) -> float | None:
    """Return the time before which the given share of all rows lies; None if there is no row."""
    times = " UNION ALL ".join(f"SELECT {age} AS at_s FROM {table}" for table, age in _AGES.items())
    rows = connection.execute(f"SELECT count(*) FROM ({times})").fetchone()[0]
    found = connection.execute(f"SELECT at_s FROM ({times}) ORDER BY at_s LIMIT 1 OFFSET ?", (min(int(share * rows), max(rows - 1, 0)),)).fetchone()
    return None if found is None else float(found[0])


def _return_space(connection: sqlite3.Connection) -> None:
    """Return free pages to the disk; only a script runs the pragma to its end, which frees one page a step."""
    connection.executescript("PRAGMA incremental_vacuum")
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
