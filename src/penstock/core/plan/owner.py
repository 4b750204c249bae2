"""What the owner allows: these guards hold for every policy, and a later one has the last word over those before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.decision import Comparison, Decision
from penstock.core.domain.job import Limits
from penstock.core.domain.reading import Reading
from penstock.core.plan.calendar import floor_at, may_change
from penstock.core.terms import Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What the owner said, and the moment it is asked about."""

    autopilot: Autopilot
    limits: Limits
    at_s: float


def allowed_now(terms: Terms, reading: Reading | None, at_s: float) -> Allowed:
    """What the terms allow of the job as it was last seen."""
    limits = terms.limits if reading is None else terms.limits.at_least(reading.least_executors)
    return Allowed(autopilot=terms.autopilot, limits=limits, at_s=at_s)


OwnerGuard = Callable[[Decision, Allowed], Decision]


def owner_allows(decision: Decision, allowed: Allowed) -> Decision:
    """The decision with the size that its owner allows; the guards that changed it are in it."""
    for guard in OWNERS:
        decision = guard(decision, allowed)
    return decision


def moved(decision: Decision, executors: int, code: str, *, limit: float, value: float | None = None) -> Decision:
    """The decision for another size, and the guard that wanted it so; as it was if the size is the same. Without a value that is the size wanted before."""
    if executors == decision.executors:
        return decision
    why = Comparison(code=code, value=float(decision.executors) if value is None else value, limit=limit)
    return replace(decision, executors=executors, guards=(*decision.guards, why))


def within_hours(decision: Decision, allowed: Allowed) -> Decision:
    """No change at an hour that is excluded, or outside of those that are given."""
    if may_change(allowed.autopilot, allowed.at_s):
        return decision
    return moved(decision, decision.current, "hours", limit=float(decision.current))


def one_direction(decision: Decision, allowed: Allowed) -> Decision:
    """Only up, or only down, where the owner says so."""
    only = allowed.autopilot.only
    if only == "both" or decision.direction in (only, "keep"):
        return decision
    return moved(decision, decision.current, "only", limit=float(decision.current))


def calendar_floor(decision: Decision, allowed: Allowed) -> Decision:
    """At least what a known event asks for."""
    floor = floor_at(allowed.autopilot.calendar, allowed.at_s)
    return moved(decision, max(decision.executors, floor), "calendar", limit=float(floor))


def step_limit(decision: Decision, allowed: Allowed) -> Decision:
    """At most so many more or fewer at once."""
    step = allowed.autopilot.max_step
    if step is None:
        return decision
    return moved(decision, min(max(decision.executors, decision.current - step), decision.current + step), "step", limit=float(step))


def quota(decision: Decision, allowed: Allowed) -> Decision:
    """At most the owner's share of the cluster."""
    most = allowed.autopilot.quota_executors
    return decision if most is None else moved(decision, min(decision.executors, most), "quota", limit=float(most))


def within_limits(decision: Decision, allowed: Allowed) -> Decision:
    """What the job file allows at all."""
    clamped = min(max(decision.executors, allowed.limits.min_executors), allowed.limits.max_executors)
    return moved(decision, clamped, "limits", limit=float(clamped))


OWNERS: tuple[OwnerGuard, ...] = (within_hours, one_direction, calendar_floor, step_limit, quota, within_limits)
"""The weakest first: a known event beats hours and direction; a step, the quota and the limits beat it."""
