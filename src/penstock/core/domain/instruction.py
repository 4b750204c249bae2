"""What the controller asks of an actuator, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.core.domain.configuration import Change

MISSING = "missing"
"""The reason of an outcome whose executors have not come: they still may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """A change to be applied: live where the plant can, the rest in one stop and start. `decision` is the one that wants it, None for an operator or the owner.

    >>> from penstock.core.domain.configuration import Move
    >>> Instruction(number=7, change=Change(moves=(Move(knob="partitions", query="counts", before=4, after=8),))).targets
    ('query:counts',)
    """

    number: int
    decision: int | None = None
    change: Change

    @property
    def targets(self) -> tuple[str, ...]:
        """What it works on: at most one instruction for a target is under way at any time."""
        executors = ("executors",) if self.change.executors is not None else ()
        return (*executors, *(f"query:{name}" for name in self.change.queries))

    @property
    def target(self) -> str:
        return ", ".join(self.targets)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How an instruction ended: its duration, how long of that the job stood still (None: it worked on), and how many rows were delayed (None: unknown)."""

    number: int
    done: bool
    took_s: float
    down_s: float | None = None
    delayed_rows: float | None = None
    reason: str = ""
