"""Moments are found as people name them."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.cli.moments import until_moment_s
from penstock.core.errors import UserMistake

LAST = datetime(2026, 11, 16, 14, 5, 30)


def until(text: str) -> datetime:
    """The end of the moment, which does not belong to it."""
    return datetime.fromtimestamp(round(until_moment_s(text, LAST.timestamp()) + 0.001, 3))


def test_a_time_of_the_day_is_the_last_one_there_was_to_the_end_of_its_minute() -> None:
    assert until("14:05") == datetime(2026, 11, 16, 14, 6)
    assert until("14:06") == datetime(2026, 11, 15, 14, 7)
    assert until("9:30:10") == datetime(2026, 11, 16, 9, 30, 11)


def test_an_iso_time_is_local_unless_it_says_otherwise() -> None:
    assert until("2026-11-15T08:00") == until("2026-11-15 08:00") == datetime(2026, 11, 15, 8, 1)
    assert until_moment_s("1970-01-01T00:01:00+00:00", 0.0) == pytest.approx(61.0, abs=0.01)
    assert until("2026-11-15") == datetime(2026, 11, 16)


@given(st.integers(0, 100_000))
def test_ago_is_counted_from_the_last_moment(seconds: int) -> None:
    assert until_moment_s(f"{seconds}s ago", LAST.timestamp()) == (LAST.timestamp() - seconds)


@pytest.mark.parametrize("text", ["", "soon", "24:00", "12:60", "yesterday", "14:5", "-3"])
def test_what_is_no_time_is_one_line(text: str) -> None:
    with pytest.raises(UserMistake, match=r"^--at: found .* a time such as"):
        until_moment_s(text, LAST.timestamp())
