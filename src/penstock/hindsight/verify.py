"""Replay the turns of a recorded run, and compare their output byte for byte."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from penstock.core.domain.events.run_events import NothingToDo
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
    """The first output of a turn that differs from the recorded one, each as its kind and its JSON.

    None: that side has no more output; for `recorded` also that the history does not have it in the same words.
    """

    turn: int
    at_s: float
    recorded: str | None
    replayed: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """The number of turns and keyframes replayed up to the first difference, if any; `recorder` is the Penstock that recorded the turn that differs."""

    turns: int
    keyframes: int
    first_difference: Difference | None = None
    recorder: Recorder | None = None


def verify(reader: HistoryReader, *, policy: Policy | None = None, progress: Callable[[int, int], None] = lambda done, total: None) -> Verified:
    """Replay every turn from the first keyframe on; each keyframe sets the knowledge anew.

    A user's own policy is imported by its name; one that a program made must be given as `policy`. `progress` is called with the turns done and their total.
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
    """Return the user's own policy, unless the mode is observe; raise `UserMistake` if it cannot be imported."""
    return None if known.terms.autopilot.mode == "observe" else own_policy(known.terms.autopilot)


def again(known: Keyframe, inputs: Inputs, policy: Policy | None) -> tuple[tuple[str, ...], Keyframe | None]:
    """Return the output lines of a turn, and the keyframe after it; None if the turn raises."""
    try:
        done = turn(known.knowledge, inputs, known.terms, policy)
    except Exception as error:
        return (f"TurnFailed {type(error).__name__}: {error}",), None
    return tuple(said(done)), replace(known, knowledge=done.knowledge)


def first_difference(reader: HistoryReader, row: TurnRow, replayed: Sequence[str]) -> Difference:
    """Return the first difference. The record has only marks of the output; the words are looked up among the events of that time."""
    pairs = zip_longest(row.marks, replayed)
    found, line = next((found, line) for found, line in pairs if line is None or mark(line) != found)
    recorded = next((each for each in lines_at(reader, row.at_s) if mark(each) == found), None)
    return Difference(turn=row.number, at_s=row.at_s, recorded=recorded, replayed=line)


def lines_at(reader: HistoryReader, at_s: float) -> Iterator[str]:
    """Yield the recorded events and instructions of a time; turns that did nothing are recorded once for a run of them."""
    for row in reader.events(at_s, at_s):
        event = replace(row.event, at_s=at_s) if isinstance(row.event, NothingToDo) else row.event
        yield f"{type(event).__name__} {encode(event)}"
    for instruction, _ in reader.instructions(at_s, at_s):
        yield f"{type(instruction).__name__} {encode(instruction)}"
