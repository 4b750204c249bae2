"""The moments a picture points at, and where their labels go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from penstock.core.domain.events.autopilot import AutopilotChanged, PolicyPaused, PolicyResumed, PromiseBroken, Proposed, RolledBack, ScalingIneffective
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.executors import ExecutorLost
from penstock.core.domain.events.meaning import mode_in
from penstock.core.domain.events.queries import QueryFailed, QueryGivenUp, QueryRestarted
from penstock.core.domain.events.steering import InstructionGiven

LABEL_CHARACTERS = 18


class Kind(Enum):
    """What a mark stands for."""

    RESCALE = "rescale"
    CHANGE = "change"
    RESTART = "restart"
    FAILURE = "failure"
    TRUST = "trust"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A moment worth a line through the picture."""

    at_s: float
    kind: Kind
    label: str


def marks(events: Sequence[Event]) -> list[Mark]:
    """The rescales, changes, restarts and failures among the events, and what became of the trust in the policy, in the order of time."""
    return sorted((mark for event in events for mark in (*_mark(event), *_trust(event))), key=lambda mark: mark.at_s)


def rows_for_labels(starts: Sequence[float], widths: Sequence[float], at_most: int) -> list[int | None]:
    """A row for each label so that no two touch and no line of a mark runs through another's label; None where there is no room.

    A label begins at its mark and runs to the right, and its line comes down from its row: of two that collide the left one sits higher.

    >>> rows_for_labels([0, 5, 50], [20, 20, 20], at_most=3)
    [1, 0, 0]
    >>> rows_for_labels([0, 1, 2], [20, 20, 20], at_most=2)
    [None, 1, 0]
    """
    rows: list[int | None] = [None] * len(starts)
    for i in reversed(range(len(starts))):
        blocked = [row for row, start in zip(rows[i + 1 :], starts[i + 1 :], strict=True) if row is not None and start <= starts[i] + widths[i]]
        row = max(blocked, default=-1) + 1
        rows[i] = row if row < at_most else None
    return rows


def _mark(event: Event) -> Iterator[Mark]:
    match event:
        case InstructionGiven(knob="executors", before=before, after=after):
            yield Mark(at_s=event.at_s, kind=Kind.RESCALE, label=_short(f"{before} → {after}"))
        case InstructionGiven(after=after):
            yield Mark(at_s=event.at_s, kind=Kind.CHANGE, label=_short(after))
        case QueryRestarted():
            yield Mark(at_s=event.at_s, kind=Kind.RESTART, label="restarted")
        case QueryFailed():
            yield Mark(at_s=event.at_s, kind=Kind.FAILURE, label="failed")
        case QueryGivenUp():
            yield Mark(at_s=event.at_s, kind=Kind.FAILURE, label="given up")
        case ExecutorLost():
            yield Mark(at_s=event.at_s, kind=Kind.FAILURE, label="executor lost")


def _trust(event: Event) -> Iterator[Mark]:
    match event:
        case PromiseBroken():
            yield Mark(at_s=event.at_s, kind=Kind.FAILURE, label="promise broken")
        case RolledBack():
            yield Mark(at_s=event.at_s, kind=Kind.FAILURE, label="rolled back")
        case ScalingIneffective():
            yield Mark(at_s=event.at_s, kind=Kind.FAILURE, label="brought nothing")
        case Proposed(change=change):
            wanted = change.words() if change.executors is None else change.executors[1]
            yield Mark(at_s=event.at_s, kind=Kind.TRUST, label=_short(f"{wanted} proposed"))
        case PolicyPaused():
            yield Mark(at_s=event.at_s, kind=Kind.TRUST, label="paused")
        case PolicyResumed():
            yield Mark(at_s=event.at_s, kind=Kind.TRUST, label="resumed")
        case AutopilotChanged() if mode := mode_in(event):
            yield Mark(at_s=event.at_s, kind=Kind.TRUST, label=_short(f"mode {mode}"))


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LABEL_CHARACTERS else text[: LABEL_CHARACTERS - 1] + "…"
