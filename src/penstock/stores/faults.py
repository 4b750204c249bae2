"""What can go wrong with a file on a disk, in words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.core.errors import UserMistake


class DecodeError(ValueError):
    """A value in the file that this version of Penstock cannot read."""


def is_disk_trouble(error: sqlite3.Error) -> bool:
    """Whether the world is at fault (full disk, lost rights, damage, a lock that stays), not this program.

    >>> is_disk_trouble(sqlite3.OperationalError("database or disk is full")), is_disk_trouble(sqlite3.ProgrammingError("bad binding"))
    (True, False)
    """
    return isinstance(error, sqlite3.OperationalError) or type(error) is sqlite3.DatabaseError


def reason(error: Exception) -> str:
    """What went wrong, without the number and the path that the system adds.

    >>> reason(OSError(28, "No space left on device", "/tmp/x"))
    'No space left on device'
    """
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


@contextmanager
def explained(what: str, path: Path, remedy: str) -> Iterator[None]:
    """Turn the errors of the system, of SQLite and of decoding into one line."""
    try:
        yield
    except (OSError, sqlite3.Error, DecodeError) as error:
        raise UserMistake(f"{path}: {what} ({reason(error)}): {remedy}") from error
