"""What a continuous job was asked to do, and what it refuses to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.core.domain.instruction import ChangeQuery, Outcome, ScaleExecutors
from penstock.simulator.continuous_settings import ContinuousSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """An instruction under way; `ready_s` is when it takes effect while the job works on, None: when the job is back."""

    instruction: ScaleExecutors | ChangeQuery
    report: Callable[[Outcome], None]
    asked_s: float
    before: int
    ready_s: float | None


def misfit(change: ChangeQuery, settings: ContinuousSettings) -> str:
    """Why a query whose tasks run all the time cannot become so; empty if it can."""
    if change.trigger.kind != "real_time" or change.trigger.interval_s <= settings.pause_s:
        return f"a continuous job takes checkpoints further apart than {settings.pause_s:g} s, not {change.trigger}"
    return "" if change.partitions is None else "a continuous job has no partitions of state to change"
