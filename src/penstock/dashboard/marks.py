"""The events that a picture marks, and the rows of their labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from penstock.core.domain.events.autopilot_events import AutopilotChanged, PolicyPaused, PolicyResumed, PromiseBroken, Proposed, RolledBack, ScalingIneffective
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.executor_events import ExecutorLost
from penstock.core.domain.events.meaning import mode_in
from penstock.core.domain.events.query_events import QueryFailed, QueryGivenUp, QueryRestarted
from penstock.core.domain.events.steering_events import InstructionGiven

LABEL_CHARACTERS = 18


class Kind(Enum):
    RESCALE = "rescale"
    CHANGE = "change"
    RESTART = "restart"
    FAILURE = "failure"
    TRUST = "trust"


LABELS: dict[type[Event], tuple[Kind, str]] = {
    QueryRestarted: (Kind.RESTART, "restarted"),
    QueryFailed: (Kind.FAILURE, "failed"),
    QueryGivenUp: (Kind.FAILURE, "given up"),
    ExecutorLost: (Kind.FAILURE, "executor lost"),
    PromiseBroken: (Kind.FAILURE, "promise broken"),
    RolledBack: (Kind.FAILURE, "rolled back"),
    ScalingIneffective: (Kind.FAILURE, "no effect"),
    PolicyPaused: (Kind.TRUST, "paused"),
    PolicyResumed: (Kind.TRUST, "resumed"),
}
"""Events whose mark does not depend on their numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A vertical line in the picture with its label."""

    at_s: float
    kind: Kind
    label: str


def marks(events: Sequence[Event]) -> list[Mark]:
    """Return marks for rescales, changes, restarts, failures and changes of trust in the policy, in order of time."""
    return sorted((mark for event in events if (mark := _mark(event))), key=lambda mark: mark.at_s)


def rows_for_labels(starts: Sequence[float], widths: Sequence[float], at_most: int) -> list[int | None]:
    """Return a row for each label so that no two overlap and no mark's line crosses another label; None if there is no room.

    A label extends to the right of its mark and its line goes down from its row, so the left one of two that collide sits higher.

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


def _mark(event: Event) -> Mark | None:
    kind, label = LABELS.get(type(event), (Kind.CHANGE, ""))
    match event:
        case InstructionGiven(change=change) if change.executors is not None:
            kind, label = Kind.RESCALE, "{} → {}".format(*change.executors)
        case InstructionGiven(change=change):
            label = change.sides()[1]
        case Proposed(change=change):
            kind, label = Kind.TRUST, f"{change.words() if change.executors is None else change.executors[1]} proposed"
        case AutopilotChanged() if mode := mode_in(event):
            kind, label = Kind.TRUST, f"mode {mode}"
    return Mark(at_s=event.at_s, kind=kind, label=_short(label)) if label else None


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LABEL_CHARACTERS else text[: LABEL_CHARACTERS - 1] + "…"
