"""What was predicted, to be graded when its time has come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

PredictionKind = Literal["capacity", "latency", "forecast", "recovery", "learnt_recovery"]
"""A recovery is predicted by a formula, and once recoveries were seen also as these teach (Khaos's M_R): that one is graded, and nothing rests on it."""
UNITS: Mapping[PredictionKind, str] = {"capacity": "rows/s", "latency": "s", "forecast": "rows/s", "recovery": "s", "learnt_recovery": "s"}
GOOD_ERROR: Mapping[PredictionKind, float] = {"capacity": 0.25, "latency": 0.25, "forecast": 0.25, "recovery": 0.35, "learnt_recovery": 0.35}
"""A mean relative error up to this is good enough to decide by."""
FEWEST_GRADES = 20
"""Fewer grades than this say little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """`due_s`: from when it can be graded, None for when the event comes (a recovery). Without `expires_s` that is the moment, else it waits until then.

    `about` is the lead of a forecast ("900 s") or the disturbance of a recovery. `policy` is who decided, by its whole name; it is empty in histories recorded
    before the field existed.
    """

    kind: PredictionKind
    made_s: float
    value: float
    low: float
    high: float
    executors: int
    due_s: float | None = None
    expires_s: float | None = None
    about: str = ""
    policy: str = ""

    @property
    def void_from_s(self) -> float | None:
        return self.due_s if self.expires_s is None else self.expires_s


def subject(kind: PredictionKind, about: str) -> str:
    """What was predicted, in words.

    >>> [subject("forecast", "60 s"), subject("recovery", "rescale_up"), subject("latency", "p95"), subject("capacity", "")]
    ['load 60 s ahead', 'recovery from rescale up', 'latency p95', 'capacity']
    >>> subject("learnt_recovery", "executor_loss")
    'recovery from executor loss, as learnt'
    """
    if kind == "forecast":
        return f"load {about} ahead"
    if kind == "learnt_recovery":
        return f"{subject('recovery', about)}, as learnt"
    if kind == "recovery" and about:
        return f"recovery from {about.replace('_', ' ')}"
    return f"{kind} {about}".rstrip()
