"""The mode of trust, as events tell of it."""

from __future__ import annotations

from penstock.core.domain.autopilot_event import AutopilotChanged, Decided
from penstock.core.domain.event import Event, RunStarted


def mode_in(event: Event) -> str | None:
    """The mode of trust from this event on; None where it says nothing about that.

    >>> mode_in(AutopilotChanged(at_s=1.0, changes=(("mode", "shadow", "active"),)))
    'active'
    """
    if isinstance(event, AutopilotChanged):
        return {key: now for key, _, now in event.changes}.get("mode")
    return event.mode if isinstance(event, (Decided, RunStarted)) else None
