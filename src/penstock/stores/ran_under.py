"""The terms a job last ran under, as its history has them."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from penstock.core.terms import Terms
from penstock.stores.codec import decode


@dataclass(frozen=True, slots=True, kw_only=True)
class RanUnder:
    """Of a keyframe only the terms."""

    terms: Terms


def read_terms(connection: sqlite3.Connection) -> Terms | None:
    """Those of the last keyframe; None if there is none."""
    row = connection.execute("SELECT json_object('terms', json_extract(json, '$.terms')) FROM keyframes ORDER BY turn_id DESC LIMIT 1").fetchone()
    return None if row is None else decode(RanUnder, row[0]).terms
