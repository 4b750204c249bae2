"""What one turn of the loop leaves in the history."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.core.domain.events.event import Event
from penstock.core.domain.events.run import NothingToDo
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.domain.reading import Reading
from penstock.core.knowledge import Knowledge
from penstock.core.learnt import Learnt
from penstock.core.recorded import Recorded
from penstock.core.redaction import Redactor
from penstock.stores.codec import encode
from penstock.stores.knowing import write_knowledge, write_learnt
from penstock.stores.recorder import Recorder
from penstock.stores.turns import write_turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One turn: what was seen, what happened, what was asked and what came of it, each with its time.

    `recorded` is the turn itself, to be turned again, with a keyframe where that may start, which says by which `recorder`; `learnt` is what of the
    knowledge is not written every time.
    """

    reading: Reading | None = None
    events: Sequence[Event] = ()
    instructions: Sequence[tuple[Instruction, float]] = ()
    outcomes: Sequence[tuple[Outcome, float]] = ()
    knowledge: Knowledge | None = None
    learnt: Learnt | None = None
    recorded: Recorded | None = None
    keyframe: bool = False
    recorder: Recorder | None = None

    @property
    def rows(self) -> int:
        """How much is forgotten if it is not written; knowledge is not counted, it is written later."""
        return (self.reading is not None) + len(self.events) + len(self.instructions) + len(self.outcomes)


def write_entry(connection: sqlite3.Connection, entry: Entry, redactor: Redactor) -> None:
    """Insert the rows of one turn, inside the caller's transaction."""
    reading_id = None
    if entry.reading is not None:
        row = (entry.reading.at_s, encode(entry.reading, redactor))
        reading_id = connection.execute("INSERT INTO readings (at_s, json) VALUES (?, ?)", row).lastrowid
    if entry.recorded is not None:
        write_turn(connection, entry.recorded, reading_id, redactor, keyframe=entry.keyframe, recorder=entry.recorder)
    for event in entry.events:
        _write_event(connection, event, redactor)
    for instruction, at_s in entry.instructions:
        given = (at_s, type(instruction).__name__, encode(instruction, redactor))
        connection.execute("INSERT INTO instructions (at_s, kind, json) VALUES (?, ?, ?)", given)
    for outcome, at_s in entry.outcomes:
        connection.execute("INSERT INTO outcomes (at_s, json) VALUES (?, ?)", (at_s, encode(outcome, redactor)))
    if entry.knowledge is not None:
        write_knowledge(connection, entry.knowledge, reading_id if entry.knowledge.last is entry.reading else None, redactor)
    if entry.learnt is not None:
        write_learnt(connection, entry.learnt, redactor)


def _write_event(connection: sqlite3.Connection, event: Event, redactor: Redactor) -> None:
    kind, json = type(event).__name__, encode(event, redactor)
    if not (isinstance(event, NothingToDo) and _lengthen_run(connection, event.at_s, kind, json)):
        row = (event.at_s, event.at_s, 1, kind, json)
        connection.execute("INSERT INTO events (at_s, last_at_s, count, kind, json) VALUES (?, ?, ?, ?, ?)", row)


def _lengthen_run(connection: sqlite3.Connection, at_s: float, kind: str, json: str) -> bool:
    """Count the event in the last row, if that is a turn that did nothing for the same reason."""
    same = "id = (SELECT max(id) FROM events) AND kind = ? AND json_extract(json, '$.reason') = json_extract(?, '$.reason')"
    return connection.execute(f"UPDATE events SET count = count + 1, last_at_s = ? WHERE {same}", (at_s, kind, json)).rowcount == 1
