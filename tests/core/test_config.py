import math
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.cli.generated_pages import settings_table
from penstock.core.config import Config, check
from penstock.core.errors import UserMistake

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
SETTINGS = fields(Config)
NAMES = [each.name for each in SETTINGS]


def test_the_page_of_settings_is_as_they_are_declared() -> None:
    assert PAGE.read_text() == settings_table(), "renew it: .venv/bin/python -m penstock.cli.generated_pages"


def test_every_setting_is_in_the_page_with_its_meaning() -> None:
    rows = [line for line in settings_table().splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == NAMES
    assert all(each.metadata["meaning"] in row for each, row in zip(SETTINGS, rows, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_a_setting_takes_its_bounds_and_nothing_beyond_them(name: str) -> None:
    bounds: Any = next(each for each in SETTINGS if each.name == name).metadata
    assert bounds["lowest"] <= getattr(Config(), name) <= bounds["highest"]
    for allowed in (bounds["lowest"], bounds["highest"]):
        assert getattr(Config(**{name: allowed}), name) == allowed
    beyond: Any
    for beyond in (bounds["lowest"] - 1, bounds["highest"] + 1, math.nan, math.inf, "5", None, True):
        with pytest.raises(UserMistake, match=rf"^settings\.{name}: found .*, a (whole )?number from [\d.]+ to \d+ is allowed$"):
            Config(**{name: beyond})


def test_counts_are_whole_numbers() -> None:
    with pytest.raises(UserMistake, match=r"settings\.restart_budget: found 2\.5, a whole number from 0 to 1000 is allowed"):
        Config(restart_budget=2.5)  # type: ignore[arg-type]


def test_a_large_bound_is_written_as_people_write_it() -> None:
    with pytest.raises(UserMistake, match="from 1 to 2592000 is allowed"):
        Config(hold_s=1e9)


def test_a_setting_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(UserMistake, match=r"settings\.reading_interval: there is no such setting; there are reading_interval_s, "):
        check("reading_interval", 5)


@given(st.one_of(st.floats(), st.integers(), st.text(), st.booleans(), st.none(), st.lists(st.integers())))
@settings(deadline=None)
def test_whatever_is_found_gets_an_answer_in_one_line(value: object) -> None:
    try:
        check("restart_budget", value)
    except UserMistake as mistake:
        assert "\n" not in str(mistake)
