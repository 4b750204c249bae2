"""What an event means for those who show or summarise events: routine or news, the mode and the policy from then on."""

from __future__ import annotations

from penstock.core.domain.decision import asked_policy
from penstock.core.domain.events.autopilot_events import AutopilotChanged, Decided, FitTaken, Graded
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.run_events import NothingToDo, RunStarted

CHANGES = ("shadow", "approved", "asked")
"""Effects of decisions that changed something, if only in shadow."""


def is_routine(event: Event) -> bool:
    """Return whether an event comes all the time and changes nothing: recorded, but not shown among what happened.

    A decision that is proposed is repeated as long as it waits; the proposal itself is shown.
    """
    return isinstance(event, (NothingToDo, Graded, FitTaken)) or (isinstance(event, Decided) and event.effect not in CHANGES)


def mode_in(event: Event) -> str | None:
    """Return the mode of trust from this event on; None where it does not say.

    >>> mode_in(AutopilotChanged(at_s=1.0, changes=(("mode", "shadow", "active"),)))
    'active'
    """
    if isinstance(event, AutopilotChanged):
        return {key: now for key, _, now in event.changes}.get("mode")
    return event.mode if isinstance(event, (Decided, RunStarted)) else None


def policy_in(event: Event) -> str | None:
    """Return the policy that is asked from this event on, "auto" whichever it lets decide; None where it does not say.

    >>> policy_in(AutopilotChanged(at_s=1.0, changes=(("policy", "auto", "hpa"),)))
    'hpa'
    """
    if isinstance(event, AutopilotChanged):
        return {key: now for key, _, now in event.changes}.get("policy")
    return asked_policy(event.policy) if isinstance(event, Decided) else None
