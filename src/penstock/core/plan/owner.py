"""What the owner allows: guards that hold for every policy; a later one overrules those before it."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from penstock.core.domain.autopilot import Autopilot, Floor
from penstock.core.domain.decision import Comparison, Decision
from penstock.core.domain.hours import DAY_S, Hours
from penstock.core.domain.job_spec import Limits
from penstock.core.domain.reading import Reading
from penstock.core.knowledge.terms import Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What the owner allows, and the moment it is asked about."""

    autopilot: Autopilot
    limits: Limits
    at_s: float


def allowed_now(terms: Terms, reading: Reading | None, at_s: float) -> Allowed:
    """Return what the terms allow, given the last reading of the job."""
    limits = terms.limits if reading is None else terms.limits.at_least(reading.least_executors)
    return Allowed(autopilot=terms.autopilot, limits=limits, at_s=at_s)


OwnerGuard = Callable[[Decision, Allowed], Decision]


def owner_allows(decision: Decision, allowed: Allowed) -> Decision:
    """Return the decision with the configuration that its owner allows; it lists the guards that changed it."""
    for guard in OWNERS:
        decision = guard(decision, allowed)
    return decision


def moved(decision: Decision, executors: int, code: str, *, limit: float, value: float | None = None) -> Decision:
    """Return the decision for other executors, with the guard that moved it; as it was if they are the same. `value` is by default what was wanted before."""
    if executors == decision.executors:
        return decision
    why = Comparison(code=code, value=float(decision.executors) if value is None else value, limit=limit)
    return replace(decision, configuration=replace(decision.configuration, executors=executors), guards=(*decision.guards, why))


def kept(decision: Decision, code: str, limit: float | None = None) -> Decision:
    """Return the decision to keep the configuration, with the guard that requires it; `limit` is by default the present executors."""
    if decision.direction == "keep":
        return decision
    why = Comparison(code=code, value=float(decision.executors), limit=float(decision.current.executors) if limit is None else limit)
    return replace(decision, configuration=decision.current, guards=(*decision.guards, why))


def within_hours(decision: Decision, allowed: Allowed) -> Decision:
    """Keep the configuration in excluded hours, and outside of the allowed ones."""
    if may_change(allowed.autopilot, allowed.at_s):
        return decision
    return kept(decision, "hours")


def one_direction(decision: Decision, allowed: Allowed) -> Decision:
    """Allow only scale-ups, or only scale-downs, if the owner says so."""
    only = allowed.autopilot.only
    if only == "both" or decision.direction in (only, "keep", "change"):
        return decision
    return moved(decision, decision.current.executors, "only", limit=float(decision.current.executors))


def calendar_floor(decision: Decision, allowed: Allowed) -> Decision:
    """Raise the executors to what a calendar event asks for."""
    floor = floor_at(allowed.autopilot.calendar, allowed.at_s)
    return moved(decision, max(decision.executors, floor), "calendar", limit=float(floor))


def step_limit(decision: Decision, allowed: Allowed) -> Decision:
    """Limit the change to `max_step` executors."""
    step, current = allowed.autopilot.max_step, decision.current.executors
    if step is None:
        return decision
    return moved(decision, min(max(decision.executors, current - step), current + step), "step", limit=float(step))


def quota(decision: Decision, allowed: Allowed) -> Decision:
    """Cap the executors at the owner's quota."""
    most = allowed.autopilot.quota_executors
    return decision if most is None else moved(decision, min(decision.executors, most), "quota", limit=float(most))


def within_limits(decision: Decision, allowed: Allowed) -> Decision:
    """Keep the executors within the limits of the job."""
    clamped = allowed.limits.nearest(decision.executors)
    return moved(decision, clamped, "limits", limit=float(clamped))


OWNERS: tuple[OwnerGuard, ...] = (within_hours, one_direction, calendar_floor, step_limit, quota, within_limits)
"""The weakest first: a known event beats hours and direction; a step, the quota and the limits beat it."""


def may_change(autopilot: Autopilot, at_s: float) -> bool:
    """Return whether changes are allowed at this hour.

    >>> may_change(Autopilot(exclude=(Hours(from_s=0.0, until_s=3600.0),)), at_s=60.0)
    False
    """
    given = not autopilot.hours or any(hours.hold(at_s) for hours in autopilot.hours)
    return given and not any(hours.hold(at_s) for hours in autopilot.exclude)


def floor_at(calendar: Iterable[Floor], at_s: float) -> int:
    """Return the most executors that an event of now, or one about to begin, asks for; 0 without one.

    >>> sale = Floor(name="sale", min_executors=6, from_s=1000.0, until_s=2000.0, lead_s=300.0)
    >>> floor_at((sale,), 600.0), floor_at((sale,), 700.0), floor_at((sale,), 2000.0)
    (0, 6, 0)
    """
    return max((floor.min_executors for floor in calendar if _asks(floor, at_s)), default=0)


def _asks(floor: Floor, at_s: float) -> bool:
    within = (floor.from_s is None or at_s >= floor.from_s - floor.lead_s) and (floor.until_s is None or at_s < floor.until_s)
    return within and (not floor.hours or any(_hold_soon(hours, at_s, floor.lead_s) for hours in floor.hours))


def _hold_soon(hours: Hours, at_s: float, lead_s: float) -> bool:
    """Return whether they hold now or begin within the lead."""
    days = range(math.floor(at_s / DAY_S), math.floor((at_s + lead_s) / DAY_S) + 1)
    beginnings = [day * DAY_S + hours.from_s for day in days]
    return hours.hold(at_s) or any(at_s <= begin_s <= at_s + lead_s and hours.hold(begin_s) for begin_s in beginnings)
