"""What the owner said about hours and known events."""

from __future__ import annotations

import math
from collections.abc import Iterable

from penstock.core.domain.autopilot import Autopilot, Floor
from penstock.core.domain.hours import DAY_S, Hours


def may_change(autopilot: Autopilot, at_s: float) -> bool:
    """Whether the size may be changed at this hour.

    >>> may_change(Autopilot(exclude=(Hours(from_s=0.0, until_s=3600.0),)), at_s=60.0)
    False
    """
    given = not autopilot.hours or any(hours.hold(at_s) for hours in autopilot.hours)
    return given and not any(hours.hold(at_s) for hours in autopilot.exclude)


def floor_at(calendar: Iterable[Floor], at_s: float) -> int:
    """The most executors that an event of now, or one about to begin, asks for; 0 without one.

    >>> sale = Floor(name="sale", min_executors=6, from_s=1000.0, until_s=2000.0, lead_s=300.0)
    >>> floor_at((sale,), 600.0), floor_at((sale,), 700.0), floor_at((sale,), 2000.0)
    (0, 6, 0)
    """
    return max((floor.min_executors for floor in calendar if _asks(floor, at_s)), default=0)


def _asks(floor: Floor, at_s: float) -> bool:
    within = (floor.from_s is None or at_s >= floor.from_s - floor.lead_s) and (floor.until_s is None or at_s < floor.until_s)
    return within and (not floor.hours or any(_hold_soon(hours, at_s, floor.lead_s) for hours in floor.hours))


def _hold_soon(hours: Hours, at_s: float, lead_s: float) -> bool:
    """Whether they hold now or begin within the lead."""
    days = range(math.floor(at_s / DAY_S), math.floor((at_s + lead_s) / DAY_S) + 1)
    beginnings = [day * DAY_S + hours.from_s for day in days]
    return hours.hold(at_s) or any(at_s <= begin_s <= at_s + lead_s and hours.hold(begin_s) for begin_s in beginnings)
