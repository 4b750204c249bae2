"""A decision of the past: what it rested on, how its predictions turned out, and what came after it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from penstock.core.domain.events.autopilot import Decided, Graded, PromiseBroken, ProposalEnded, Proposed, RolledBack, ScalingIneffective
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.executors import ExecutorsMissing
from penstock.core.domain.events.steering import InstructionDone, InstructionFailed, InstructionGiven
from penstock.core.domain.prediction import Prediction
from penstock.core.domain.reading import Reading

Fate = Literal["graded", "not yet due", "replaced", "void"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A prediction and what became of it; `graded` is None unless its time has come and the truth was seen.

    One that was replaced had a newer one of the same size's capacity after it; one that is void can no longer be judged.
    """

    made: Prediction
    fate: Fate
    graded: Graded | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """`reading` is the one it was made by, or the last one before it; `afterwards` what happened to its size until another one was decided."""

    decided: Decided
    reading: Reading | None
    predictions: tuple[Judged, ...]
    afterwards: tuple[Event, ...]


def decisions(events: Sequence[Event]) -> list[Decided]:
    """All decisions that a policy made; an operator's approval repeats one, and is none itself."""
    return [event for event in events if isinstance(event, Decided) and event.effect != "approved"]


def explained(decided: Decided, events: Sequence[Event], reading: Reading | None, now_s: float) -> Explained:
    """A decision with all that is known of it at a time; the events are those of the history in their order, the decision among them."""
    place = events.index(decided)
    before, after = events[:place], events[place + 1 :]
    return Explained(
        decided=decided,
        reading=reading,
        predictions=tuple(judged(made, after, now_s) for made in decided.predictions),
        afterwards=afterwards(decided, before, after),
    )


def judged(made: Prediction, after: Sequence[Event], now_s: float) -> Judged:
    """What became of a prediction by the events after it."""
    for event in after:
        if isinstance(event, Graded) and (event.made_s, event.kind, event.about, event.executors) == (made.made_s, made.kind, made.about, made.executors):
            return Judged(made=made, fate="graded", graded=event)
    newer = (each for one in decisions(after) for each in one.predictions)
    if made.kind == "capacity" and any(each.kind == "capacity" and each.executors == made.executors for each in newer):
        return Judged(made=made, fate="replaced")
    waits = made.void_from_s is not None and now_s < made.void_from_s
    return Judged(made=made, fate="not yet due" if waits else "void")


def afterwards(decided: Decided, before: Sequence[Event], after: Sequence[Event]) -> tuple[Event, ...]:
    """What came of a decision that changes something: the answer to its proposal, the rescale and its end, promises broken, steps back."""
    if decided.decision.direction == "keep" or decided.mode == "shadow":
        return ()
    executors = decided.decision.executors
    until_s = next((each.at_s for each in decisions(after) if each.decision.executors != executors), math.inf)
    span = [event for event in after if event.at_s < until_s]
    proposals = {event.proposal for event in (*before, *span) if isinstance(event, Proposed) and event.executors == executors}
    return tuple(event for event in span if follows(event, proposals))


def follows(event: Event, proposals: set[int]) -> bool:
    if isinstance(event, (Proposed, ProposalEnded)):
        return event.proposal in proposals
    if isinstance(event, (InstructionGiven, InstructionDone, InstructionFailed)):
        return event.knob == "executors"
    return isinstance(event, (ExecutorsMissing, PromiseBroken, RolledBack, ScalingIneffective))
