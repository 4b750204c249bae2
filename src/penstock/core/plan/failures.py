"""A phase that failed: said, and left alone for a period, so that the loop lives and operators are heard."""

from __future__ import annotations

from dataclasses import replace

from penstock.core.domain.events.autopilot import Phase, PhaseFailed
from penstock.core.domain.events.event import Event
from penstock.core.knowledge import Knowledge


def phase_failed(knowledge: Knowledge, phase: Phase, error: Exception | SystemExit, at_s: float, policy: str, period_s: float) -> tuple[Knowledge, list[Event]]:
    """Knowledge as it was before the phase, which is tried again a period of its policy later."""
    later_s = at_s + period_s
    steering = replace(knowledge.steering, failed_in_a_row=knowledge.steering.failed_in_a_row + 1, next_s=later_s)
    if phase == "analyze":
        steering = replace(steering, analyze_from_s=later_s)
    said = PhaseFailed(at_s=at_s, policy=policy, phase=phase, error=f"{type(error).__name__}: {error}", in_a_row=steering.failed_in_a_row)
    return replace(knowledge, steering=steering), [said]
