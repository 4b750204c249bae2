"""What the controller asks of an actuator, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.core.domain.trigger import Trigger

MISSING = "missing"
"""The reason of an outcome whose executors have not come: they still may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """Something to be done; `number` tells its outcome from others'."""

    number: int

    @property
    def knob(self) -> str:
        """What it turns: at most one instruction for a knob is under way at any time."""
        raise TypeError(f"{type(self).__name__} names no knob")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleExecutors(Instruction):
    executors: int

    @property
    def knob(self) -> str:
        return "executors"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeQuery(Instruction):
    """New settings for a query, by stop right after a commit and start from the checkpoint."""

    query: str
    trigger: Trigger
    rate_limit_rows_per_s: float | None
    partitions: int | None = None

    @property
    def knob(self) -> str:
        return f"query:{self.query}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How an instruction ended: how long it took, for how long of that the job stood still (None: it worked on), and how many rows were delayed
    (None: unknown)."""

    number: int
    done: bool
    took_s: float
    down_s: float | None = None
    delayed_rows: float | None = None
    reason: str = ""
