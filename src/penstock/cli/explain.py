"""`penstock explain`: a decision in words and numbers, and how what it predicted turned out."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console

from penstock.cli.cells import day_time
from penstock.cli.explained import as_object, show
from penstock.cli.jobs import JobOption
from penstock.cli.moments import until_moment_s
from penstock.cli.remembered import FileOption, history_of, why_undecided
from penstock.cli.report import JsonOption, known
from penstock.core.analyze.explained import Explained, decisions, explained
from penstock.core.domain.events.autopilot import Decided
from penstock.core.errors import UserMistake
from penstock.stores.reader import HistoryReader

LOOK_BACK_S = (3600.0, 86400.0, float("inf"))
"""How far back a decision is looked for, in seconds, each after the last found none: a history may hold weeks."""

CONTEXT_S = 3600.0
FOLLOWED_S = 6 * 3600.0
"""An explanation looks at the hour before a decision, and at the six after it."""


def explain(
    at: Annotated[str | None, typer.Option("--at", help='The decision in force then: "14:05", "2026-11-16 14:05", "10m ago".', metavar="TIME")] = None,
    last_change: Annotated[bool, typer.Option("--last-change", help="The last decision that was not to keep the size.")] = False,
    job: JobOption = None,
    file: FileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say why: what was seen, which sizes were weighed, what was chosen, and how its predictions turned out."""
    with HistoryReader.open(history_of(job, file)) as reader:
        span = reader.span()
        last_s = 0.0 if span is None else span[1]
        until_s = last_s if at is None else until_moment_s(at, last_s)
        decided = last_decision(reader, until_s, last_change)
        found = None if decided is None else explanation(reader, decided, last_s)
        nothing = "" if found else why_none(reader, until_s, last_change)
    if as_json:
        typer.echo(json.dumps(known(as_object(found) if found else {"decision": None, "reason": nothing})))
    elif found:
        show(Console(), found)
    else:
        typer.echo(nothing)


def last_decision(reader: HistoryReader, until_s: float, changed: bool) -> Decided | None:
    """The last one until then; of those that change something if so wanted."""
    for span_s in LOOK_BACK_S:
        found = decisions([row.event for row in reader.events(until_s - span_s, until_s)])
        found = [each for each in found if not changed or each.effect in ("shadow", "proposed", "asked")]
        if found:
            return found[-1]
    return None


def explanation(reader: HistoryReader, decided: Decided, last_s: float) -> Explained:
    events = [row.event for row in reader.events(decided.at_s - CONTEXT_S, decided.at_s + FOLLOWED_S)]
    reading = reader.reading_of_turn(decided.at_s) or max(reader.readings(decided.at_s - CONTEXT_S, decided.at_s), key=lambda each: each.at_s, default=None)
    return explained(decided, events, reading, last_s)


def why_none(reader: HistoryReader, until_s: float, changed: bool) -> str:
    """One line about a decision that is not there; asked for by a time before the first one it is a mistake."""
    first = next((each for row in reader.events() for each in decisions([row.event])), None)
    if first is None:
        return why_undecided(reader)
    if first.at_s > until_s:
        raise UserMistake(f"--at: nothing was decided until {day_time(until_s)}; the first decision was at {day_time(first.at_s)}")
    return f"no decision changed anything until {day_time(until_s)}" if changed else why_undecided(reader)
