"""Hours of the week as people write them."""

from __future__ import annotations

import re

from penstock.core.domain.hours import DAY_S, Hours

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def parse_hours(text: str) -> Hours:
    """Hours in UTC, written as days, as a span of the day, or as both; `ValueError` for anything else.

    >>> parse_hours("mon-fri 08:00-18:00")
    Hours(days=(0, 1, 2, 3, 4), from_s=28800.0, until_s=64800.0)
    >>> parse_hours("sat, sun"), parse_hours("22:00-06:00").until_s
    (Hours(days=(5, 6), from_s=0.0, until_s=86400.0), 21600.0)
    """
    found = re.fullmatch(r"(?P<days>[a-z,-]+)?\s*(?P<span>[\d:-]+)?", re.sub(r"\s*([,-])\s*", r"\1", text.strip().lower()))
    if found is None or not found[0]:
        raise ValueError
    days = tuple(range(7)) if found["days"] is None else _days(found["days"])
    from_s, until_s = (0.0, DAY_S) if found["span"] is None else _span(found["span"])
    return Hours(days=days, from_s=from_s, until_s=until_s)


def _days(text: str) -> tuple[int, ...]:
    """The days of a list; a range may run past Sunday.

    >>> _days("mon,wed-thu"), _days("sat-mon")
    ((0, 2, 3), (0, 5, 6))
    """
    days: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        begin, end = DAYS.index(first), DAYS.index(last if dash else first)
        days.update(each % 7 for each in range(begin, end + 1 if end >= begin else end + 8))
    return tuple(sorted(days))


def _span(text: str) -> tuple[float, float]:
    from_s, until_s = map(_second, text.split("-"))
    if from_s in (until_s, DAY_S):
        raise ValueError
    return from_s, until_s


def _second(text: str) -> float:
    """The second of the day; its last moment is 24:00.

    >>> _second("08:30"), _second("24:00")
    (30600.0, 86400.0)
    """
    found = re.fullmatch(r"(\d?\d):([0-5]\d)", text)
    second = DAY_S + 1 if found is None else 3600.0 * int(found[1]) + 60.0 * int(found[2])
    if second > DAY_S:
        raise ValueError
    return second
