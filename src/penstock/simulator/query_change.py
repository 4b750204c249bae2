"""What a job in micro-batches is asked to change, and what it refuses to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.core.domain.instruction import ChangeQuery, Outcome


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Changing:
    """New settings of the query that wait for a commit, and from `stopped_s` on for the query to be back."""

    instruction: ChangeQuery
    report: Callable[[Outcome], None]
    asked_s: float
    stopped_s: float | None = None


def misfit(change: ChangeQuery) -> str:
    """Why a query in micro-batches cannot become so; empty if it can."""
    return "" if change.trigger.kind == "processing_time" else f"a job in micro-batches has no trigger {change.trigger}"
