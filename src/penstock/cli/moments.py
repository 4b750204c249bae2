"""Moments as people name them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from penstock.core.domain.units import parse_duration_s
from penstock.core.errors import UserMistake

DAY_S, MINUTE_S, SECOND_S = 86400.0, 60.0, 1.0
STILL_IN_IT_S = 0.001
"""Before the end of a moment: what happens at its end belongs to the next."""


def until_moment_s(text: str, last_s: float) -> float:
    """The end of the moment that is named: a time of the day or an ISO time, local unless it says otherwise, or so long before the last that is known.

    A time of the day is the last one there was; "14:05" names all of that minute.
    """
    text = text.strip()
    ago = re.fullmatch(r"(.+?)\s*ago", text)
    if ago:
        return last_s - parse_duration_s(ago[1])
    try:
        if re.fullmatch(r"\d{1,2}:\d\d(:\d\d)?", text):
            return _of_the_day(text, last_s)
        return datetime.fromisoformat(text).timestamp() + _length_s(text) - STILL_IN_IT_S
    except (ValueError, OverflowError, OSError):
        raise UserMistake(f'--at: found {text!r}, a time such as "14:05", "2026-11-16 14:05" or "10m ago" is allowed') from None


def _of_the_day(text: str, last_s: float) -> float:
    """The last such time of a day that is not after the last moment."""
    hour, minute, *second = (int(part) for part in text.split(":"))
    last = datetime.fromtimestamp(last_s)
    found = last.replace(hour=hour, minute=minute, second=second[0] if second else 0, microsecond=0)
    found = found if found <= last else found - timedelta(days=1)
    return found.timestamp() + _length_s(f"T{text}") - STILL_IN_IT_S


def _length_s(text: str) -> float:
    """How long the moment is that is named: a day, a minute or a second.

    >>> [_length_s(each) for each in ("2026-11-16", "2026-11-16 14:05", "2026-11-16T14:05:30+01:00")]
    [86400.0, 60.0, 1.0]
    """
    time_of_day = re.search(r"[T ]\d{1,2}:\d\d(:\d\d)?", text)
    return DAY_S if time_of_day is None else MINUTE_S if time_of_day[1] is None else SECOND_S
