import pytest
from planned import LIMITS, wants

from penstock.core.domain.autopilot import Autopilot, Floor
from penstock.core.domain.hours import Hours
from penstock.core.plan.owner import Allowed, floor_at, may_change, owner_allows

HOUR_S, DAY_S = 3600.0, 86400.0
THURSDAY, FRIDAY = 3, 4
"""1970 began on a Thursday: its day 0 is one, its day 1 a Friday."""


def left(wanted: int, at_s: float = 0.0, **autopilot: object) -> int:
    return owner_allows(wants(wanted), Allowed(autopilot=Autopilot(**autopilot), limits=LIMITS, at_s=at_s)).executors  # type: ignore[arg-type]


def test_a_calendar_floor_beats_excluded_hours_and_direction() -> None:
    sale = Floor(name="sale", min_executors=6)
    assert left(2, calendar=(sale,), exclude=(Hours(),)) == 6
    assert left(2, calendar=(sale,), hours=(Hours(days=()),)) == 6
    assert left(2, calendar=(sale,), only="down") == 6
    assert left(7, calendar=(sale,)) == 7


def test_a_step_a_quota_and_the_limits_beat_a_calendar_floor() -> None:
    sale = Floor(name="sale", min_executors=20)
    assert left(2, calendar=(sale,)) == LIMITS.max_executors
    assert left(2, calendar=(sale,), quota_executors=5) == 5
    assert left(2, calendar=(sale,), max_step=1) == 4


@pytest.mark.parametrize(("hour", "holds"), [(21, False), (22, True), (23, True), (24, True), (29, True), (30, False), (46, False), (48, False)])
def test_hours_past_midnight_hold_on_both_days(hour: int, holds: bool) -> None:
    night = Hours(days=(THURSDAY,), from_s=22 * HOUR_S, until_s=6 * HOUR_S)
    assert may_change(Autopilot(hours=(night,)), hour * HOUR_S) is holds
    assert may_change(Autopilot(exclude=(night,)), hour * HOUR_S) is not holds


def test_excluded_hours_win_over_given_ones() -> None:
    day, noon = Hours(from_s=8 * HOUR_S, until_s=18 * HOUR_S), Hours(from_s=12 * HOUR_S, until_s=13 * HOUR_S)
    assert [may_change(Autopilot(hours=(day,), exclude=(noon,)), hour * HOUR_S) for hour in (7, 11, 12, 13, 18)] == [False, True, False, True, False]


@pytest.mark.parametrize(("at_s", "floor"), [(17.9 * HOUR_S, 0), (17.95 * HOUR_S, 6), (18 * HOUR_S, 6), (21.99 * HOUR_S, 6), (22 * HOUR_S, 0)])
def test_a_weekly_event_asks_for_executors_from_its_lead_to_its_end(at_s: float, floor: int) -> None:
    sale = Floor(name="sale", min_executors=6, hours=(Hours(days=(FRIDAY,), from_s=18 * HOUR_S, until_s=22 * HOUR_S),), lead_s=300.0)
    assert floor_at((sale,), at_s) == 0, "on a Thursday there is none"
    assert floor_at((sale,), DAY_S + at_s) == floor


def test_an_event_shorter_than_its_lead_is_not_missed() -> None:
    minute = Floor(name="opening", min_executors=6, hours=(Hours(days=(FRIDAY,), from_s=60.0, until_s=120.0),), lead_s=600.0)
    assert [floor_at((minute,), DAY_S + at_s) for at_s in (-600.0, -540.0, -300.0, 0.0, 119.0, 120.0)] == [0, 6, 6, 6, 6, 0]


def test_of_several_events_the_largest_counts() -> None:
    once = Floor(name="match", min_executors=4, from_s=1000.0, until_s=2000.0, lead_s=100.0)
    always = Floor(name="base", min_executors=2)
    assert [floor_at((once, always), at_s) for at_s in (899.0, 900.0, 1999.0, 2000.0)] == [2, 4, 4, 2]
