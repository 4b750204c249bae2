"""What a script says about the autopilot: the keys of the job file's table, with the same checks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.job import Limits, Promises
from penstock.core.domain.profile import ProfileSeen
from penstock.core.errors import UserMistake
from penstock.runtime.jobfile.autopilot import TABLE, AutopilotBuilder
from penstock.runtime.jobfile.check import checked
from penstock.runtime.jobfile.mistakes import Mistakes


def scripted_autopilot(given: Mapping[str, Any], limits: Limits, promises: Promises, folder: Path) -> tuple[Autopilot, tuple[ProfileSeen, ...]]:
    """The autopilot and its profile; `UserMistake` with a line for each mistake.

    >>> autopilot, _ = scripted_autopilot({"mode": "shadow", "ask_expiry": "5m"}, Limits(), Promises(), Path())
    >>> autopilot.mode, autopilot.ask_expiry_s
    ('shadow', 300.0)
    """
    tree = {TABLE: dict(given) if isinstance(given, Mapping) else given}
    mistakes = Mistakes("", tree)
    table = checked(tree, mistakes).autopilot
    builder = AutopilotBuilder(folder=folder, mistakes=mistakes)
    autopilot, profile = builder.autopilot(table, limits), builder.profile(table)
    if promises.recovery_s is not None and autopilot.downtime_s is not None and promises.recovery_s <= autopilot.downtime_s:
        mistakes.add(("recovery_s",), f"found {promises.recovery_s:g}, no size can keep it: more than autopilot.downtime is allowed")
    if mistakes.lines:
        raise UserMistake(*mistakes.lines)
    return autopilot, profile
