"""What happens all the time."""

from __future__ import annotations

from penstock.core.domain.events.autopilot import Decided, FitTaken, Graded
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.run import NothingToDo

CHANGES = ("shadow", "approved", "asked")
"""Effects of decisions that changed something, if only in shadow."""


def is_routine(event: Event) -> bool:
    """Whether it comes all the time and changes nothing: for the record, not to be told among what happened.

    A decision that is proposed is repeated as long as it waits; the proposal itself is told.
    """
    return isinstance(event, (NothingToDo, Graded, FitTaken)) or (isinstance(event, Decided) and event.effect not in CHANGES)
