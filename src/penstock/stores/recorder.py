"""Which Penstock recorded a part of a history: kept with each keyframe, apart from what is compared when the turns are taken again."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from penstock.stores.codec import decode, encode
from penstock.stores.schema import version_of

SINCE_SCHEMA = 3
"""An older file does not say who recorded it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorder:
    """A version of Penstock, and a digest of the sources that decide: those change between two releases too. None: there were no sources to be read.

    >>> str(Recorder(version="0.1.0", core="5f2a90c1b7de"))
    '0.1.0, core 5f2a90c1b7de'
    """

    version: str
    core: str | None = None

    def __str__(self) -> str:
        return self.version if self.core is None else f"{self.version}, core {self.core}"


def encode_recorder(recorder: Recorder | None) -> str | None:
    return None if recorder is None else encode(recorder)


def read_recorders(connection: sqlite3.Connection) -> dict[int, Recorder]:
    """Who recorded the turns from each keyframe on, by the number of its turn; without those of which that is not known."""
    if version_of(connection) < SINCE_SCHEMA:
        return {}
    rows = connection.execute("SELECT turn_id, recorder FROM keyframes WHERE recorder IS NOT NULL ORDER BY turn_id").fetchall()
    return {number: decode(Recorder, text) for number, text in rows}
