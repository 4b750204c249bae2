"""What was predicted, to be graded when its time has come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PredictionKind = Literal["capacity", "latency", "forecast", "recovery"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """`due_s`: when it can be graded, None for when the event comes (a recovery); from `expires_s` on it is void.

    `about` is the lead of a forecast ("900 s") or the disturbance of a recovery.
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
