"""The K of MAPE-K: what the controller knows between two turns, as frozen values that survive it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from penstock.core.domain.instruction import Instruction
from penstock.core.domain.reading import Reading
from penstock.core.domain.trigger import Trigger

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Desired:
    """How the job should be. `None` for partitions: as the checkpoint has it."""

    executors: int
    triggers: Mapping[str, Trigger] = field(default_factory=dict)
    rate_limits_rows_per_s: Mapping[str, float | None] = field(default_factory=dict)
    partitions: Mapping[str, int | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """An operator's value for one knob, and until when it is his."""

    knob: str
    value: str
    who: str
    until_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """An instruction under way."""

    instruction: Instruction
    since_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """`declared` is what the job file said when `desired` was formed: a changed file wins over what was remembered."""

    declared: Desired
    desired: Desired
    holds: tuple[Hold, ...] = ()
    pending: tuple[Pending, ...] = ()
    next_number: int = 1
    missing_since_s: float | None = None
    missing_reported: bool = False
    last: Reading | None = None


def begin(declared: Desired, remembered: Knowledge | None) -> Knowledge:
    """The knowledge a controller starts with: what an earlier one left, but for knobs whose declaration has changed since."""
    if remembered is None:
        return Knowledge(declared=declared, desired=declared)
    before, then = remembered.declared, remembered.desired

    def kept(now: Mapping[str, T], was: Mapping[str, T], wanted: Mapping[str, T]) -> dict[str, T]:
        return {name: wanted[name] if name in wanted and was.get(name) == value else value for name, value in now.items()}

    desired = Desired(
        executors=then.executors if before.executors == declared.executors else declared.executors,
        triggers=kept(declared.triggers, before.triggers, then.triggers),
        rate_limits_rows_per_s=kept(declared.rate_limits_rows_per_s, before.rate_limits_rows_per_s, then.rate_limits_rows_per_s),
        partitions=kept(declared.partitions, before.partitions, then.partitions),
    )
    return Knowledge(declared=declared, desired=desired, holds=remembered.holds, next_number=remembered.next_number)
