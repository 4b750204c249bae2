from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from penstock.cli.generated_pages import knobs_table
from penstock.core.domain.configuration import Configuration, QueryConfiguration
from penstock.core.domain.knobs import KNOBS, Knob, address_of, knob_at, knob_set_by
from penstock.core.domain.trigger import Trigger
from penstock.core.errors import UserMistake

GOOD: dict[str, list[Any]] = {
    "executors": [1, 30], "trigger": [Trigger(), Trigger(interval_s=0.5), Trigger(interval_s=90.0), Trigger(kind="real_time", interval_s=5.0)],
    "rate-limit": [None, 7.0, 20_000.0], "partitions": [1, 400], "kept-share": [0.01, 0.6, 1.0],
}  # fmt: skip
BAD: dict[str, list[Any]] = {
    "executors": [0, -1], "trigger": [Trigger(kind="real_time", interval_s=4.0)], "rate-limit": [0.0, -1.0, float("nan"), float("inf")],
    "partitions": [0, -8], "kept-share": [0.0, -0.1, 1.01, float("nan")],
}  # fmt: skip
PAGE = Path(__file__).parents[3] / "docs" / "knobs.md"
ROWS = pytest.mark.parametrize("knob", KNOBS.values(), ids=list(KNOBS))


@ROWS
def test_what_is_shown_is_parsed_again(knob: Knob) -> None:
    for value in GOOD[knob.name]:
        assert knob.parse(knob.show(value)) == value
    if knob.example:
        assert knob.refuse(knob.parse(knob.example)) is None


@ROWS
def test_values_within_bounds_are_taken_and_others_refused_with_the_bounds(knob: Knob) -> None:
    assert [knob.refuse(value) for value in GOOD[knob.name]] == [None] * len(GOOD[knob.name])
    for value in BAD[knob.name]:
        assert "allowed" in (knob.refuse(value) or ""), value


@ROWS
def test_what_is_no_value_is_a_mistake_in_one_line(knob: Knob) -> None:
    with pytest.raises(UserMistake) as raised:
        knob.parse("a lot")
    assert "\n" not in str(raised.value) and "a lot" in str(raised.value)


def test_every_field_of_a_configuration_has_its_row() -> None:
    of_queries = [knob.field for knob in KNOBS.values() if knob.scope == "query"]
    of_jobs = [knob.field for knob in KNOBS.values() if knob.scope == "job"]
    assert of_queries == [each.name for each in fields(QueryConfiguration)]
    assert of_jobs == [each.name for each in fields(Configuration) if each.name != "queries"]


@ROWS
def test_a_knob_is_found_by_its_address_and_by_its_command(knob: Knob) -> None:
    query = "counts" if knob.scope == "query" else None
    assert knob_at(address_of(knob.name, query)) == (knob, query)
    assert not knob.command or knob_set_by(knob.command) is knob


def test_no_other_command_sets_a_knob() -> None:
    assert knob_set_by("pause") is None and knob_set_by("") is None


def test_a_move_costs_the_disturbance_that_it_causes() -> None:
    costs = [KNOBS["executors"].costs(2, 3), KNOBS["executors"].costs(3, 2), KNOBS["trigger"].costs(1, 2), KNOBS["kept-share"].costs(1.0, 0.5)]
    assert costs == ["rescale_up", "rescale_down", "reconfiguration", None]


def test_the_page_of_knobs_is_as_they_are_declared() -> None:
    assert PAGE.read_text() == knobs_table(), "renew it: .venv/bin/python -m penstock.cli.generated_pages"
    assert all(f"| `{name}` | {f'`penstock {knob.command} {knob.example}`' if knob.command else 'none'} |" in knobs_table() for name, knob in KNOBS.items())
