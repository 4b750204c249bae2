"""Turns in a history: what came in besides the reading, marks of what was said, and keyframes from which a replay can start."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256

from penstock.core.domain.instruction import Outcome
from penstock.core.domain.reading import Reading
from penstock.core.fitting import FitDone
from penstock.core.inputs import Inputs
from penstock.core.knowledge import Knowledge, Pending
from penstock.core.loop import Turn
from penstock.core.recorded import Keyframe, Recorded
from penstock.core.redaction import Redactor
from penstock.core.terms import Terms
from penstock.stores.codec import decode, decode_command, decode_instruction, encode
from penstock.stores.recorder import Recorder, encode_recorder

_MARK_DIGITS = 32
"""Half of a SHA-256: no two of the things that all turns ever say will share so much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRow:
    """A turn as a history has it; `inputs` is None if its reading was dropped since, `keyframe` if a replay cannot start with it.

    `marks` has one for each thing it said, in their order.
    """

    number: int
    at_s: float
    marks: tuple[str, ...]
    inputs: Inputs | None
    keyframe: Keyframe | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CameIn:
    """Inputs that are neither the time nor the reading; commands by kind, each as JSON."""

    commands: tuple[tuple[str, str], ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    fits: tuple[FitDone, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownBefore:
    """A keyframe; what was under way by kind, as JSON, and since when."""

    knowledge: Knowledge
    terms: Terms
    pending: tuple[tuple[str, str, float], ...] = ()


def said(done: Turn, redactor: Redactor = Redactor()) -> Iterator[str]:
    """All that a turn said, a line each: its events, its instructions and the fit it asked for."""
    for each in (*done.events, *done.instructions):
        yield f"{type(each).__name__} {encode(each, redactor)}"
    if done.fit is not None:
        yield f"FitAsked {done.fit.number}"


def mark(line: str) -> str:
    """What tells a line from any other, byte for byte."""
    return sha256(line.encode()).hexdigest()[:_MARK_DIGITS]


def write_turn(
    connection: sqlite3.Connection, recorded: Recorded, reading_id: int | None, redactor: Redactor, *, keyframe: bool, recorder: Recorder | None
) -> None:
    """Insert a turn, inside the caller's transaction."""
    inputs = recorded.inputs
    marks = " ".join(mark(line) for line in said(recorded.done, redactor))
    row = (inputs.at_s, reading_id, _came_in(inputs, redactor), marks)
    number = connection.execute("INSERT INTO turns (at_s, reading_id, json, marks) VALUES (?, ?, ?, ?)", row).lastrowid
    if keyframe:
        text = _known_before(recorded.before, redactor, with_last=inputs.reading is None)
        known = (number, inputs.at_s, text, encode_recorder(recorder))
        connection.execute("INSERT OR REPLACE INTO keyframes (turn_id, at_s, json, recorder) VALUES (?, ?, ?, ?)", known)


def read_turns(connection: sqlite3.Connection, after: int, most: int) -> list[TurnRow]:
    """The turns after one of that number, in the order in which they were taken."""
    query = """SELECT turns.id, turns.at_s, turns.marks, turns.json, turns.reading_id, readings.json, keyframes.json FROM turns
        LEFT JOIN readings ON readings.id = turns.reading_id LEFT JOIN keyframes ON keyframes.turn_id = turns.id
        WHERE turns.id > ? ORDER BY turns.id LIMIT ?"""
    return [_turn_row(*row) for row in connection.execute(query, (after, most))]


def _turn_row(number: int, at_s: float, marks: str, came_in: str, reading_id: int | None, reading: str | None, keyframe: str | None) -> TurnRow:
    dropped = reading_id is not None and reading is None
    inputs = None if dropped else _inputs(at_s, None if reading is None else decode(Reading, reading), decode(CameIn, came_in))
    return TurnRow(number=number, at_s=at_s, marks=tuple(marks.split()), inputs=inputs, keyframe=None if keyframe is None else _keyframe(keyframe))


def _came_in(inputs: Inputs, redactor: Redactor) -> str:
    commands = tuple((type(each).__name__, encode(each, redactor)) for each in inputs.commands)
    came = CameIn(commands=commands, outcomes=inputs.outcomes, fits=inputs.fits)
    return encode(came, redactor, without=[name for name in ("commands", "outcomes", "fits") if not getattr(came, name)])


def _inputs(at_s: float, reading: Reading | None, came: CameIn) -> Inputs:
    commands = tuple(decode_command(kind, text) for kind, text in came.commands)
    return Inputs(at_s=at_s, reading=reading, outcomes=came.outcomes, commands=commands, fits=came.fits)


def _known_before(before: Keyframe, redactor: Redactor, *, with_last: bool) -> str:
    """The last reading is left out where the turn has one of its own: that takes its place before anybody looks."""
    knowledge = before.knowledge
    pending = tuple((type(each.instruction).__name__, encode(each.instruction, redactor), each.since_s) for each in knowledge.pending)
    known = replace(knowledge, pending=(), last=knowledge.last if with_last else None)
    return encode(KnownBefore(knowledge=known, terms=before.terms, pending=pending), redactor)


def _keyframe(text: str) -> Keyframe:
    known = decode(KnownBefore, text)
    pending = tuple(Pending(instruction=decode_instruction(kind, json), since_s=since_s) for kind, json, since_s in known.pending)
    return Keyframe(knowledge=replace(known.knowledge, pending=pending), terms=known.terms)
