"""What a second look at the job file found while the job runs."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.events.event import Event
from penstock.core.domain.profile import ProfileSeen


@dataclass(frozen=True, slots=True, kw_only=True)
class Reread:
    """`autopilot` and `profile` are followed from now on; None keeps the old ones (a file with a mistake changes nothing but is told)."""

    event: Event
    autopilot: Autopilot | None = None
    profile: tuple[ProfileSeen, ...] | None = None
