"""A past decision explained: its inputs, the errors of its predictions, and the events that follow from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from penstock.core.domain.events.autopilot_events import Decided, Graded
from penstock.core.domain.events.event import Event
from penstock.core.domain.prediction import Prediction
from penstock.core.domain.reading import Reading

Fate = Literal["graded", "not yet due", "replaced", "void"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A prediction and its fate; `graded` is None unless it was due and its actual value is known.

    One that was replaced had a newer one on the same subject after it; one that is void can no longer be graded.
    """

    made: Prediction
    fate: Fate
    graded: Graded | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """`reading` is the one it was made by, or the last one before it; `afterwards` are the events that follow from it."""

    decided: Decided
    reading: Reading | None
    predictions: tuple[Judged, ...]
    afterwards: tuple[Event, ...]


def decisions(events: Sequence[Event]) -> list[Decided]:
    """Return all decisions that a policy made; an operator's approval repeats one, and is none itself."""
    return [event for event in events if isinstance(event, Decided) and event.effect != "approved"]


def explained(decided: Decided, events: Sequence[Event], reading: Reading | None, now_s: float) -> Explained:
    """Return a decision with all that is known of it at a time; the events are those of the history in their order, the decision among them."""
    after = events[events.index(decided) + 1 :]
    return Explained(
        decided=decided,
        reading=reading,
        predictions=tuple(judged(made, after, now_s) for made in decided.predictions),
        afterwards=() if decided.mode == "shadow" else tuple(event for event in after if follows(event, decided.id)),
    )


def judged(made: Prediction, after: Sequence[Event], now_s: float) -> Judged:
    """Return the fate of a prediction by the events after it."""
    graded = next((event for event in after if isinstance(event, Graded) and event.prediction == made.id), None)
    if graded is not None:
        return Judged(made=made, fate="graded", graded=graded)
    if any(newer.replaces(made) for one in decisions(after) for newer in one.predictions):
        return Judged(made=made, fate="replaced")
    waits = made.void_from_s is not None and now_s < made.void_from_s
    return Judged(made=made, fate="not yet due" if waits else "void")


def follows(event: Event, decision_id: int) -> bool:
    """Return whether an event follows from a decision: the answer to its proposal, its instructions and outcomes, broken promises, changes taken back."""
    return not isinstance(event, Graded) and getattr(event, "decision_id", None) == decision_id
