"""The tables of a history file, and how a file of an older Penstock becomes one of this."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from penstock.core.errors import UserMistake
from penstock.stores.transaction import transaction

Migration = tuple[str, ...]
"""The statements that lead from one schema version to the next."""

APPLICATION_ID = int.from_bytes(b"PNST")

MIGRATIONS: tuple[Migration, ...] = (
    (
        f"PRAGMA application_id = {APPLICATION_ID}",
        "CREATE TABLE readings (id INTEGER PRIMARY KEY, at_s REAL NOT NULL, json TEXT NOT NULL)",
        """CREATE TABLE events
            (id INTEGER PRIMARY KEY, at_s REAL NOT NULL, last_at_s REAL NOT NULL, count INTEGER NOT NULL, kind TEXT NOT NULL, json TEXT NOT NULL)""",
        "CREATE TABLE instructions (id INTEGER PRIMARY KEY, at_s REAL NOT NULL, kind TEXT NOT NULL, json TEXT NOT NULL)",
        "CREATE TABLE outcomes (id INTEGER PRIMARY KEY, at_s REAL NOT NULL, json TEXT NOT NULL)",
        "CREATE TABLE knowledge (id INTEGER PRIMARY KEY CHECK (id = 1), json TEXT NOT NULL)",
        "CREATE INDEX readings_by_time ON readings (at_s)",
        "CREATE INDEX events_by_time ON events (at_s)",
        "CREATE INDEX events_by_last_time ON events (last_at_s)",
        "CREATE INDEX instructions_by_time ON instructions (at_s)",
        "CREATE INDEX outcomes_by_time ON outcomes (at_s)",
    ),
    (
        "CREATE TABLE turns (id INTEGER PRIMARY KEY, at_s REAL NOT NULL, reading_id INTEGER, json TEXT NOT NULL, marks TEXT NOT NULL)",
        "CREATE TABLE keyframes (turn_id INTEGER PRIMARY KEY, at_s REAL NOT NULL, json TEXT NOT NULL)",
        "CREATE TABLE learnt (id INTEGER PRIMARY KEY CHECK (id = 1), json TEXT NOT NULL)",
        "ALTER TABLE knowledge ADD COLUMN reading_id INTEGER",
        "CREATE INDEX turns_by_time ON turns (at_s)",
        "CREATE INDEX keyframes_by_time ON keyframes (at_s)",
    ),
    ("ALTER TABLE keyframes ADD COLUMN recorder TEXT",),
)
"""Entry n leads from version n to n + 1; version 0 is an empty file. Entries are added, never changed."""

OLDEST_READABLE = 2
"""A reader, which cannot migrate, makes do with what a file of this schema lacks."""


def version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def check_origin(connection: sqlite3.Connection, path: Path, *, known: int = len(MIGRATIONS)) -> int:
    """The schema version of the file; `UserMistake` if it is another program's or a newer Penstock's."""
    version = version_of(connection)
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if application != APPLICATION_ID and not (empty and version == 0):
        raise UserMistake(f"{path} is a database of another program, not a history of Penstock: give another state folder")
    if version > known:
        raise UserMistake(f"{path} was written by a newer Penstock (schema {version}, this one knows {known}): upgrade, or give another state folder")
    return version


def migrate(connection: sqlite3.Connection, path: Path, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring the file to the newest schema, step by step in one transaction: all of it or nothing."""
    with transaction(connection):
        version = check_origin(connection, path, known=len(migrations))
        for statement in (each for migration in migrations[version:] for each in migration):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(migrations)}")
