"""Turn a recorded run again, and see whether it says the same, byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from penstock.core.domain.events.run import NothingToDo
from penstock.core.knowledge.inputs import Inputs
from penstock.core.knowledge.policy import Policy
from penstock.core.loop import Keyframe, turn
from penstock.runtime.jobfile import own_policy
from penstock.stores.codec import encode
from penstock.stores.reader import HistoryReader
from penstock.stores.recorder import Recorder
from penstock.stores.turn_rows import TurnRow, mark, said


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The first thing that a turn said otherwise than it is recorded, each side as its kind and its JSON.

    None: that side said nothing more, or, of the record, something that the history does not hold as it was said.
    """

    turn: int
    at_s: float
    recorded: str | None
    replayed: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """How many turns were turned again, from how many keyframes, and where that first gave something else; it ends there.

    `recorder` is who recorded the turn that differs; None if none does.
    """

    turns: int
    keyframes: int
    first_difference: Difference | None = None
    recorder: Recorder | None = None


def verify(reader: HistoryReader, *, policy: Policy | None = None, progress: Callable[[int, int], None] = lambda done, total: None) -> Verified:
    """Turn again every turn from the first keyframe left on; each keyframe puts in place what happened between turns.

    A policy of the owner's own is looked up where it was; one that only a program has made must be given here too.
    Progress is told in turns, of how many.
    """
    total, turns, keyframes, recorders = reader.count_turns(), 0, 0, reader.recorders()
    known: Keyframe | None = None
    own: Policy | None = None
    recorder: Recorder | None = None
    for looked_at, row in enumerate(reader.turns(), 1):
        if row.keyframe is not None:
            keyframes += 1
            known, own, recorder = row.keyframe, policy or policy_of_owner(row.keyframe), recorders[row.number]
        if row.inputs is None:
            known = None
        if known is not None and row.inputs is not None:
            lines, known = again(known, row.inputs, own)
            turns += 1
            if known is None or tuple(mark(line) for line in lines) != row.marks:
                return Verified(turns=turns, keyframes=keyframes, first_difference=first_difference(reader, row, lines), recorder=recorder)
        progress(looked_at, total)
    return Verified(turns=turns, keyframes=keyframes)


def policy_of_owner(known: Keyframe) -> Policy | None:
    """The policy that the job's owner wrote himself, where that decides anything; `UserMistake` if it is not to be found any more."""
    return None if known.terms.autopilot.mode == "observe" else own_policy(known.terms.autopilot)


def again(known: Keyframe, inputs: Inputs, policy: Policy | None) -> tuple[tuple[str, ...], Keyframe | None]:
    """What a turn says, a line each, and what is known after it; None after one that cannot be turned."""
    try:
        done = turn(known.knowledge, inputs, known.terms, policy)
    except Exception as error:
        return (f"TurnFailed {type(error).__name__}: {error}",), None
    return tuple(said(done)), replace(known, knowledge=done.knowledge)


def first_difference(reader: HistoryReader, row: TurnRow, replayed: Sequence[str]) -> Difference:
    """Where the two sides part; the record has only marks of what it said, by which the words are found among what is remembered of that moment."""
    pairs = zip_longest(row.marks, replayed)
    found, line = next((found, line) for found, line in pairs if line is None or mark(line) != found)
    recorded = next((each for each in lines_at(reader, row.at_s) if mark(each) == found), None)
    return Difference(turn=row.number, at_s=row.at_s, recorded=recorded, replayed=line)


def lines_at(reader: HistoryReader, at_s: float) -> Iterator[str]:
    """All that is remembered of a moment; a turn that did nothing is one of a run."""
    for row in reader.events(at_s, at_s):
        event = replace(row.event, at_s=at_s) if isinstance(row.event, NothingToDo) else row.event
        yield f"{type(event).__name__} {encode(event)}"
    for instruction, _ in reader.instructions(at_s, at_s):
        yield f"{type(instruction).__name__} {encode(instruction)}"
