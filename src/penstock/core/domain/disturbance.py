"""Kinds of disturbance: detection, downtimes, recoveries and the cost of a change share this list."""

from dataclasses import dataclass
from typing import Final, Literal

DisturbanceKind = Literal["task_retry", "executor_loss", "query_restart", "driver_restart", "rescale_up", "rescale_down", "reconfiguration"]
"""Each has its own downtime (PAPER-NOTES "Downtime D depends on the fault"). A reconfiguration is a planned stop and start of a query."""
UNANNOUNCED: Final = "unannounced"
"""The readings show a disturbance that no event announced."""
AnyDisturbance = DisturbanceKind | Literal["unannounced"]

SURVIVED: Final[tuple[DisturbanceKind, ...]] = ("executor_loss", "query_restart")
"""Failures that the controller outlives."""
FAILURES: Final[tuple[AnyDisturbance, ...]] = (*SURVIVED, "driver_restart")
"""Disturbances that make the job repeat what was not committed; a task retry or a live rescale does not."""
RESCALES: Final[tuple[DisturbanceKind, ...]] = ("rescale_down", "rescale_up")


@dataclass(frozen=True, slots=True, kw_only=True)
class Disturbance:
    """A disturbance at a moment. `cause` identifies it: the instruction that caused it ("instruction 7"), or the failure ("failure 2")."""

    kind: AnyDisturbance
    at_s: float
    cause: str = ""
