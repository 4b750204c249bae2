"""The kinds of disturbances, shared by detection, downtimes and recoveries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

DisturbanceKind = Literal["task_retry", "executor_loss", "query_restart", "driver_restart", "rescale_up", "rescale_down"]
"""Each has a downtime of its own (PAPER-NOTES "Downtime D depends on the fault")."""
UNANNOUNCED: Final = "unannounced"
"""A disturbance that only the readings show."""
AnyDisturbance = DisturbanceKind | Literal["unannounced"]

SURVIVED: Final[tuple[DisturbanceKind, ...]] = ("executor_loss", "query_restart")
"""Failures that the controller survives; it ends with its driver."""
FAILURES: Final[tuple[AnyDisturbance, ...]] = (*SURVIVED, "driver_restart")
"""Disturbances after which the job repeats uncommitted work, unlike after a retried task or a live rescale."""
RESCALES: Final[tuple[DisturbanceKind, ...]] = ("rescale_down", "rescale_up")


@dataclass(frozen=True, slots=True, kw_only=True)
class Disturbance:
    """A failure or a rescale that may make the job fall behind."""

    kind: AnyDisturbance
    at_s: float
