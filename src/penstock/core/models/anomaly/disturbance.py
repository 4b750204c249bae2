"""What disturbs a job, by name: the one list that detection, downtimes and recoveries share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

DisturbanceKind = Literal["task_retry", "executor_loss", "query_restart", "driver_restart", "rescale_up", "rescale_down"]
"""Each has a downtime of its own (PAPER-NOTES "Downtime D depends on the fault")."""
UNANNOUNCED: Final = "unannounced"
"""The readings show that something struck; nobody said what."""
AnyDisturbance = DisturbanceKind | Literal["unannounced"]

SURVIVED: Final[tuple[DisturbanceKind, ...]] = ("executor_loss", "query_restart")
"""Failures that the controller lives to see the end of: a driver takes it along."""
FAILURES: Final[tuple[AnyDisturbance, ...]] = (*SURVIVED, "driver_restart")
"""Those that stop the job, which then repeats what was not committed; a task that is tried again or a live rescale does not."""
RESCALES: Final[tuple[DisturbanceKind, ...]] = ("rescale_down", "rescale_up")


@dataclass(frozen=True, slots=True, kw_only=True)
class Disturbance:
    """Something that makes a job fall behind: a kind of failure, or a rescaling."""

    kind: AnyDisturbance
    at_s: float
