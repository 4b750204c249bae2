"""Read a history: typed values in the order of time."""

import math
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeVar

from penstock.core.domain.events.event import Event
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.domain.reading import Reading
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.knowledge.terms import Terms
from penstock.stores.codec import decode, decode_event
from penstock.stores.database import explained, open_reader
from penstock.stores.recorder import Recorder
from penstock.stores.turn_rows import TurnRow, read_knowledge, read_recorders, read_terms, read_turns

Value = TypeVar("Value")

_ROWS_AT_ONCE = 500
_TURNS_AT_ONCE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """An event, how often it occurred in a row, and when last."""

    event: Event
    count: int
    last_at_s: float


class HistoryReader:
    """Reads a history while its job runs, or after it was killed; never writes and never blocks the writer."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open the history at `path`; `UserMistake` if there is none or it cannot be read."""
        return cls(path, open_reader(path))

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def readings(self, since_s: float = -math.inf, until_s: float = math.inf) -> Iterator[Reading]:
        return self._values("readings", "json", since_s, until_s, lambda json: decode(Reading, json))

    def reading_of_turn(self, at_s: float) -> Reading | None:
        """Return the reading taken in the turn at that moment; None if it was not kept."""
        query = "SELECT readings.json FROM turns JOIN readings ON readings.id = turns.reading_id WHERE turns.at_s = ?"
        with self._explained():
            row = self._connection.execute(query, (at_s,)).fetchone()
            return None if row is None else decode(Reading, row[0])

    def events(self, since_s: float = -math.inf, until_s: float = math.inf) -> Iterator[EventRow]:
        """Yield the events of a span; a run of equal events is in the span if any of them is."""
        return self._values("events", "kind, json, count, last_at_s", since_s, until_s, _event_row, age="last_at_s")

    def instructions(self, since_s: float = -math.inf, until_s: float = math.inf) -> Iterator[tuple[Instruction, float]]:
        return self._values("instructions", "json, at_s", since_s, until_s, lambda json, at_s: (decode(Instruction, json), at_s))

    def outcomes(self, since_s: float = -math.inf, until_s: float = math.inf) -> Iterator[tuple[Outcome, float]]:
        return self._values("outcomes", "json, at_s", since_s, until_s, lambda json, at_s: (decode(Outcome, json), at_s))

    def knowledge(self) -> Knowledge | None:
        with self._explained():
            return read_knowledge(self._connection)

    def terms(self) -> Terms | None:
        """Return the terms under which the job last ran; None if no turn was recorded."""
        with self._explained():
            return read_terms(self._connection)

    def recorders(self) -> dict[int, Recorder]:
        """Return which Penstock recorded the turns from each keyframe on, by the number of the keyframe's turn."""
        with self._explained():
            return read_recorders(self._connection)

    def turns(self) -> Iterator[TurnRow]:
        last = 0
        while True:
            with self._explained():
                rows = read_turns(self._connection, last, _TURNS_AT_ONCE)
            if not rows:
                return
            yield from rows
            last = rows[-1].number

    def count_turns(self) -> int:
        with self._explained():
            return int(self._connection.execute("SELECT count(*) FROM turns").fetchone()[0])

    def span(self) -> tuple[float, float] | None:
        """Return the first and the last moment of the history; None if it is empty."""
        both = "SELECT at_s, at_s AS last_at_s FROM readings UNION ALL SELECT at_s, last_at_s FROM events"
        with self._explained():
            first_s, last_s = self._connection.execute(f"SELECT min(at_s), max(last_at_s) FROM ({both})").fetchone()
        return None if first_s is None else (first_s, last_s)

    def _values(self, table: str, columns: str, since_s: float, until_s: float, make: Callable[..., Value], *, age: str = "at_s") -> Iterator[Value]:
        """Yield values by time, a few hundred rows a query: a slow consumer must not keep the write-ahead log from being recycled."""
        query = f"""SELECT at_s, id, {columns} FROM {table}
            WHERE {age} >= ? AND at_s <= ? AND (at_s, id) > (?, ?) ORDER BY at_s, id LIMIT {_ROWS_AT_ONCE}"""
        last: tuple[float, int] = (-math.inf, 0)
        while True:
            with self._explained():
                rows = self._connection.execute(query, (since_s, until_s, *last)).fetchall()
                values = [make(*row[2:]) for row in rows]
            if not rows:
                return
            yield from values
            last = rows[-1][:2]

    def _explained(self) -> AbstractContextManager[None]:
        return explained("the history cannot be read", self.path, "use the Penstock that wrote it, or restore its snapshot")


def _event_row(kind: str, json: str, count: int, last_at_s: float) -> EventRow:
    return EventRow(event=decode_event(kind, json), count=count, last_at_s=last_at_s)


def read_history(path: Path) -> tuple[tuple[Reading, ...], tuple[Event, ...]]:
    """Return all readings and events of a history."""
    with HistoryReader.open(path) as reader:
        return tuple(reader.readings()), tuple(row.event for row in reader.events())
