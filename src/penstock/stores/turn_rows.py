"""How a turn of the loop is stored as rows of a history, and how turns, knowledge and terms are read back."""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from penstock.core.domain.events.event import Event
from penstock.core.domain.events.run_events import NothingToDo
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.domain.reading import Reading
from penstock.core.knowledge.fitting import FitDone
from penstock.core.knowledge.inputs import Inputs
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.knowledge.learnt import Learnt
from penstock.core.knowledge.terms import Terms
from penstock.core.loop import Keyframe, Recorded, Turn
from penstock.core.redaction import Redactor
from penstock.stores.codec import decode, decode_command, encode, encode_knowledge
from penstock.stores.recorder import Recorder

_MARK_DIGITS = 32
"""Half of a SHA-256: enough to tell any two lines apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What is written at once: usually one turn, with its reading, its events, its instructions and the outcomes it took in, each with its time.

    `recorded` is the turn itself, for a replay. `keyframe_by` is set if a replay may start at this turn: the Penstock that recorded it. `learnt` is
    the part of the knowledge that is not written every time.
    """

    reading: Reading | None = None
    events: Sequence[Event] = ()
    instructions: Sequence[tuple[Instruction, float]] = ()
    outcomes: Sequence[tuple[Outcome, float]] = ()
    knowledge: Knowledge | None = None
    learnt: Learnt | None = None
    recorded: Recorded | None = None
    keyframe_by: Recorder | None = None

    @property
    def rows(self) -> int:
        """The number of rows lost if this is not written. Knowledge does not count: it is written later."""
        return (self.reading is not None) + len(self.events) + len(self.instructions) + len(self.outcomes)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRow:
    """A turn as stored; `inputs` is None if its reading was dropped since, `keyframe` is None if a replay cannot start here.

    `marks` has one digest for each line of `said`, in their order.
    """

    number: int
    at_s: float
    marks: tuple[str, ...]
    inputs: Inputs | None
    keyframe: Keyframe | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredInputs:
    """The inputs of a turn but for the time and the reading; commands as pairs of kind and JSON."""

    commands: tuple[tuple[str, str], ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    fits: tuple[FitDone, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTerms:
    """The terms alone, out of a keyframe."""

    terms: Terms


def write_entry(connection: sqlite3.Connection, entry: Entry, redactor: Redactor) -> None:
    """Insert the rows of an entry, inside the caller's transaction."""
    reading_id = None
    if entry.reading is not None:
        row = (entry.reading.at_s, encode(entry.reading, redactor))
        reading_id = connection.execute("INSERT INTO readings (at_s, json) VALUES (?, ?)", row).lastrowid
    if entry.recorded is not None:
        _write_turn(connection, entry.recorded, reading_id, redactor, entry.keyframe_by)
    for event in entry.events:
        _write_event(connection, event, redactor)
    for instruction, at_s in entry.instructions:
        given = (at_s, redactor.text(instruction.target), encode(instruction, redactor))
        connection.execute("INSERT INTO instructions (at_s, target, json) VALUES (?, ?, ?)", given)
    for outcome, at_s in entry.outcomes:
        connection.execute("INSERT INTO outcomes (at_s, json) VALUES (?, ?)", (at_s, encode(outcome, redactor)))
    if entry.knowledge is not None:
        _write_knowledge(connection, entry.knowledge, reading_id if entry.knowledge.last is entry.reading else None, redactor)
    if entry.learnt is not None:
        connection.execute("INSERT OR REPLACE INTO learnt (id, json) VALUES (1, ?)", (encode(entry.learnt, redactor),))


def read_knowledge(connection: sqlite3.Connection) -> Knowledge | None:
    query = """SELECT knowledge.json, learnt.json, readings.json FROM knowledge
        LEFT JOIN learnt ON learnt.id = knowledge.id LEFT JOIN readings ON readings.id = knowledge.reading_id"""
    row = connection.execute(query).fetchone()
    if row is None:
        return None
    knowledge = decode(Knowledge, row[0])
    if row[1] is not None:
        knowledge = replace(knowledge, learnt=decode(Learnt, row[1]))
    return knowledge if row[2] is None else replace(knowledge, last=decode(Reading, row[2]))


def read_terms(connection: sqlite3.Connection) -> Terms | None:
    row = connection.execute("SELECT json_object('terms', json_extract(json, '$.terms')) FROM keyframes ORDER BY turn_id DESC LIMIT 1").fetchone()
    return None if row is None else decode(StoredTerms, row[0]).terms


def read_recorders(connection: sqlite3.Connection) -> dict[int, Recorder]:
    """Return which Penstock recorded the turns from each keyframe on, by the number of the keyframe's turn."""
    return {number: decode(Recorder, text) for number, text in connection.execute("SELECT turn_id, recorder FROM keyframes ORDER BY turn_id")}


def read_turns(connection: sqlite3.Connection, after: int, most: int) -> list[TurnRow]:
    """Return at most `most` turns with a number above `after`, in their order."""
    query = """SELECT turns.id, turns.at_s, turns.marks, turns.json, turns.reading_id, readings.json, keyframes.json FROM turns
        LEFT JOIN readings ON readings.id = turns.reading_id LEFT JOIN keyframes ON keyframes.turn_id = turns.id
        WHERE turns.id > ? ORDER BY turns.id LIMIT ?"""
    return [_turn_row(*row) for row in connection.execute(query, (after, most))]


def said(done: Turn, redactor: Redactor = Redactor()) -> Iterator[str]:
    """Yield a line for each event and instruction of a turn, and one for the fit it asks for."""
    for each in (*done.events, *done.instructions):
        yield f"{type(each).__name__} {encode(each, redactor)}"
    if done.fit is not None:
        yield f"FitAsked {done.fit.number}"


def mark(line: str) -> str:
    """Return the digest by which a replay compares a line."""
    return sha256(line.encode()).hexdigest()[:_MARK_DIGITS]


def _write_turn(connection: sqlite3.Connection, recorded: Recorded, reading_id: int | None, redactor: Redactor, keyframe_by: Recorder | None) -> None:
    inputs = recorded.inputs
    marks = " ".join(mark(line) for line in said(recorded.done, redactor))
    row = (inputs.at_s, reading_id, _encode_inputs(inputs, redactor), marks)
    number = connection.execute("INSERT INTO turns (at_s, reading_id, json, marks) VALUES (?, ?, ?, ?)", row).lastrowid
    if keyframe_by is not None:
        text = _encode_keyframe(recorded.before, redactor, with_last=inputs.reading is None)
        keyframe = (number, inputs.at_s, text, encode(keyframe_by))
        connection.execute("INSERT OR REPLACE INTO keyframes (turn_id, at_s, json, recorder) VALUES (?, ?, ?, ?)", keyframe)


def _write_event(connection: sqlite3.Connection, event: Event, redactor: Redactor) -> None:
    kind, json = type(event).__name__, encode(event, redactor)
    if not (isinstance(event, NothingToDo) and _lengthen_run(connection, event.at_s, kind, json)):
        row = (event.at_s, event.at_s, 1, kind, json)
        connection.execute("INSERT INTO events (at_s, last_at_s, count, kind, json) VALUES (?, ?, ?, ?, ?)", row)


def _lengthen_run(connection: sqlite3.Connection, at_s: float, kind: str, json: str) -> bool:
    """Count the event in the last row and return True, if that row is a turn that did nothing for the same reason."""
    same = "id = (SELECT max(id) FROM events) AND kind = ? AND json_extract(json, '$.reason') = json_extract(?, '$.reason')"
    return connection.execute(f"UPDATE events SET count = count + 1, last_at_s = ? WHERE {same}", (at_s, kind, json)).rowcount == 1


def _write_knowledge(connection: sqlite3.Connection, knowledge: Knowledge, last_id: int | None, redactor: Redactor) -> None:
    """Replace the knowledge, without what was learnt, and without its last reading if that has a row of its own, `last_id`."""
    text = encode_knowledge(knowledge, redactor, without=("learnt",) if last_id is None else ("learnt", "last"))
    connection.execute("INSERT OR REPLACE INTO knowledge (id, json, reading_id) VALUES (1, ?, ?)", (text, last_id))


def _turn_row(number: int, at_s: float, marks: str, came_in: str, reading_id: int | None, reading: str | None, keyframe: str | None) -> TurnRow:
    dropped = reading_id is not None and reading is None
    inputs = None if dropped else _inputs(at_s, None if reading is None else decode(Reading, reading), decode(StoredInputs, came_in))
    return TurnRow(number=number, at_s=at_s, marks=tuple(marks.split()), inputs=inputs, keyframe=None if keyframe is None else decode(Keyframe, keyframe))


def _encode_inputs(inputs: Inputs, redactor: Redactor) -> str:
    commands = tuple((type(each).__name__, encode(each, redactor)) for each in inputs.commands)
    stored = StoredInputs(commands=commands, outcomes=inputs.outcomes, fits=inputs.fits)
    return encode(stored, redactor, without=[name for name in ("commands", "outcomes", "fits") if not getattr(stored, name)])


def _inputs(at_s: float, reading: Reading | None, stored: StoredInputs) -> Inputs:
    commands = tuple(decode_command(kind, text) for kind, text in stored.commands)
    return Inputs(at_s=at_s, reading=reading, outcomes=stored.outcomes, commands=commands, fits=stored.fits)


def _encode_keyframe(before: Keyframe, redactor: Redactor, *, with_last: bool) -> str:
    """Encode a keyframe; its last reading is left out where the turn has one of its own, which replaces it at once."""
    knowledge = before.knowledge
    return encode(replace(before, knowledge=knowledge if with_last else replace(knowledge, last=None)), redactor)
