"""The mode of trust and the policy that it is put in, as events tell of them."""

from __future__ import annotations

from penstock.core.domain.decision import asked_policy
from penstock.core.domain.events.autopilot import AutopilotChanged, Decided
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.run import RunStarted


def mode_in(event: Event) -> str | None:
    """The mode of trust from this event on; None where it says nothing about that.

    >>> mode_in(AutopilotChanged(at_s=1.0, changes=(("mode", "shadow", "active"),)))
    'active'
    """
    if isinstance(event, AutopilotChanged):
        return {key: now for key, _, now in event.changes}.get("mode")
    return event.mode if isinstance(event, (Decided, RunStarted)) else None


def policy_in(event: Event) -> str | None:
    """The policy that is asked from this event on, "auto" whichever it lets decide; None where it says nothing about that.

    >>> policy_in(AutopilotChanged(at_s=1.0, changes=(("policy", "auto", "hpa"),)))
    'hpa'
    """
    if isinstance(event, AutopilotChanged):
        return {key: now for key, _, now in event.changes}.get("policy")
    return asked_policy(event.policy) if isinstance(event, Decided) else None
