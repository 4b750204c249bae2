"""Predictions made with a decision or at a failure, to be graded when they are due."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from penstock.core.domain.configuration import Configuration

PredictionKind = Literal["capacity", "latency", "forecast", "recovery", "recovery_bound", "learnt_recovery"]
"""A bound is the recovery from a failure at the worst moment: only more than it is an error. `learnt_recovery` (Khaos's M_R) is only graded."""
UNITS: Mapping[PredictionKind, str] = {
    "capacity": "rows/s",
    "latency": "s",
    "forecast": "rows/s",
    "recovery": "s",
    "recovery_bound": "s",
    "learnt_recovery": "s",
}
GOOD_ERROR: Mapping[PredictionKind, float] = {
    "capacity": 0.25,
    "latency": 0.25,
    "forecast": 0.25,
    "recovery": 0.35,
    "recovery_bound": 0.35,
    "learnt_recovery": 0.35,
}
"""A mean relative error up to this is good enough to decide by."""
FEWEST_GRADES = 20
"""Fewer grades than this prove little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """A number that was predicted of a configuration.

    `id` identifies it among all of a job: the decision or failure it was made with, and its place there. `due_s`: from when it can be graded, None until its
    event comes (a recovery); without `expires_s` that is the moment, else it waits until then. `about` is the lead of a forecast ("900 s") or the kind of
    disturbance of a recovery, `cause` the disturbance itself once that is known. `policy` is the one that decided, by its whole name.
    """

    id: str = ""
    decision: int | None = None
    kind: PredictionKind
    made_s: float
    value: float
    low: float
    high: float
    configuration: Configuration
    due_s: float | None = None
    expires_s: float | None = None
    about: str = ""
    cause: str = ""
    policy: str = ""

    @property
    def void_from_s(self) -> float | None:
        return self.due_s if self.expires_s is None else self.expires_s

    def replaces(self, earlier: Prediction) -> bool:
        """Return whether this is a newer prediction on the same subject: a capacity, or a bound that no failure has tested yet."""
        same = self.kind == earlier.kind and self.about == earlier.about and self.configuration == earlier.configuration
        return same and self.made_s > earlier.made_s and self.kind in ("capacity", "recovery_bound") and not earlier.cause


def subject(kind: PredictionKind, about: str) -> str:
    """Return what was predicted, in words.

    >>> [subject("forecast", "60 s"), subject("recovery", "rescale_up"), subject("latency", "p95"), subject("capacity", "")]
    ['load 60 s ahead', 'recovery from rescale up', 'latency p95', 'capacity']
    >>> subject("learnt_recovery", "executor_loss")
    'recovery from executor loss, as learnt'
    """
    if kind == "forecast":
        return f"load {about} ahead"
    if kind == "learnt_recovery":
        return f"{subject('recovery', about)}, as learnt"
    if kind == "recovery_bound":
        return f"{subject('recovery', about)}, at worst"
    if kind == "recovery" and about:
        return f"recovery from {about.replace('_', ' ')}"
    return f"{kind} {about}".rstrip()
