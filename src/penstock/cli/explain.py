"""`penstock explain`: a decision in words and numbers, and how its predictions turned out."""

import json
import re
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.cli.histories import FileOption, history_of, why_undecided
from penstock.cli.jobs import JobOption
from penstock.cli.report import JsonOption, known
from penstock.cli.terminal import UNKNOWN, Whole, clock_time, columns, count, day_time, percent, seconds
from penstock.core.domain.configuration import difference
from penstock.core.domain.decision import Candidate, Comparison, executors_words, short
from penstock.core.domain.events.autopilot_events import EFFECTS, Decided
from penstock.core.domain.prediction import UNITS, subject
from penstock.core.domain.units import duration_words, parse_duration_s
from penstock.core.errors import UserMistake
from penstock.core.report.explained import Explained, Judged, decisions, explained
from penstock.stores.reader import HistoryReader

LOOK_BACK_S = (3600.0, 86400.0, float("inf"))
"""Spans to search for a decision, one after the other: a history may hold weeks."""

CONTEXT_S = 3600.0
FOLLOWED_S = 6 * 3600.0
"""An explanation reads the hour before a decision and the six hours after it."""


def explain(
    at: Annotated[
        str | None, typer.Option("--at", help='Explain the decision in force at this time: "14:05", "2026-11-16 14:05", "10m ago".', metavar="TIME")
    ] = None,
    decision_id: Annotated[int | None, typer.Option("--id", help="Explain the decision with this id.", metavar="ID")] = None,
    last_change: Annotated[bool, typer.Option("--last-change", help="Explain the last decision that changed something.")] = False,
    job: JobOption = None,
    file: FileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Explain a decision of the policy. Shows the numbers seen, the candidates weighed, the choice, and how its predictions turned out."""
    with HistoryReader.open(history_of(job, file)) as reader:
        span = reader.span()
        last_s = 0.0 if span is None else span[1]
        until_s = last_s if at is None else until_moment_s(at, last_s)
        decided = last_decision(reader, until_s, last_change) if decision_id is None else decision_with(reader, decision_id)
        found = None if decided is None else explanation(reader, decided, last_s)
        nothing = "" if found else why_none(reader, until_s, last_change)
    if as_json:
        typer.echo(json.dumps(known(as_object(found) if found else {"decision": None, "reason": nothing})))
    elif found:
        show(Console(), found)
    else:
        typer.echo(nothing)


def last_decision(reader: HistoryReader, until_s: float, changed: bool) -> Decided | None:
    """Return the last decision until then, or the last one that changed something."""
    for span_s in LOOK_BACK_S:
        found = decisions([row.event for row in reader.events(until_s - span_s, until_s)])
        found = [each for each in found if not changed or each.effect in ("shadow", "proposed", "asked")]
        if found:
            return found[-1]
    return None


def decision_with(reader: HistoryReader, decision_id: int) -> Decided:
    found = next((each for row in reader.events() for each in decisions([row.event]) if each.id == decision_id), None)
    if found is None:
        raise UserMistake(f"--id: found {decision_id}, the history holds no such decision; explain without --id shows the last one")
    return found


def explanation(reader: HistoryReader, decided: Decided, last_s: float) -> Explained:
    events = [row.event for row in reader.events(decided.at_s - CONTEXT_S, decided.at_s + FOLLOWED_S)]
    reading = reader.reading_of_turn(decided.at_s) or max(reader.readings(decided.at_s - CONTEXT_S, decided.at_s), key=lambda each: each.at_s, default=None)
    return explained(decided, events, reading, last_s)


def why_none(reader: HistoryReader, until_s: float, changed: bool) -> str:
    """Say in one line why there is no decision; a time before the first decision is a mistake."""
    first = next((each for row in reader.events() for each in decisions([row.event])), None)
    if first is None:
        return why_undecided(reader)
    if first.at_s > until_s:
        raise UserMistake(f"--at: nothing was decided until {day_time(until_s)}; the first decision was at {day_time(first.at_s)}")
    return f"no decision changed anything until {day_time(until_s)}" if changed else why_undecided(reader)


FATES = {"graded": "", "not yet due": "not yet due", "replaced": "replaced by a newer one", "void": "void: it could not be judged"}


def as_object(found: Explained) -> dict[str, Any]:
    decided, decision, reading = found.decided, found.decided.decision, found.reading
    seen = {
        "load_rows_per_s": decided.load_rows_per_s,
        "peak_rows_per_s": decided.peak_rows_per_s,
        "capacity_rows_per_s": decided.capacity_rows_per_s,
        "capacity_why": decided.capacity_why,
        "arrival_rows_per_s": reading and reading.arrival_rows_per_s,
        "throughput_rows_per_s": reading and reading.throughput_rows_per_s,
        "excess_lag_rows": reading and reading.excess_lag_rows,
        "latency_p95_s": reading and reading.latency and reading.latency.p95_s,
        "busyness": reading and reading.busyness,
        "executors_running": reading and reading.executors_running,
    }
    choice = {
        "at_s": decided.at_s,
        "mode": decided.mode,
        "policy": decided.policy,
        "id": decided.id,
        "current": decision.current.executors,
        "executors": decision.executors,
        "change": decision.change.words(),
        "direction": decision.direction,
        "why": compared(decision.why),
        "guards": [compared(guard) for guard in decision.guards],
        "effect": decided.effect,
        "words": decided.words(),
    }
    return {
        "decision": choice,
        "seen": seen,
        "candidates": [weighed(each) for each in decision.candidates],
        "predictions": [predicted(each) for each in found.predictions],
        "afterwards": [{"at_s": event.at_s, "kind": type(event).__name__, "words": event.words()} for event in found.afterwards],
    }


def compared(why: Comparison) -> dict[str, Any]:
    return {"code": why.code, "value": why.value, "limit": why.limit, "words": why.words()}


def weighed(each: Candidate) -> dict[str, Any]:
    return {"executors": each.executors, **asdict(each), "refused": each.refused and compared(each.refused)}


def predicted(each: Judged) -> dict[str, Any]:
    graded = each.graded
    return {
        "executors": each.made.configuration.executors,
        **asdict(each.made),
        "fate": each.fate,
        "actual": graded and graded.actual,
        "error": graded and graded.error,
        "within": graded and graded.is_within,
    }


def show(console: Console, found: Explained) -> None:
    def line(text: str, style: str = "") -> None:
        console.print(Text(text, style=style), soft_wrap=True)

    decided = found.decided
    line(headline(decided), "bold")
    line(f"decision {decided.id}, {day_time(decided.at_s)}, policy {decided.policy}, mode {decided.mode}")
    line(f"because {decided.decision.why.words()}")
    for guard in decided.decision.guards:
        line(f"guarded: {guard.words()}")
    console.print(Text("\nwhat was seen", style="bold"), Whole(pairs(seen_rows(found))))
    if decided.capacity_why is not None:
        line(f"capacity {decided.capacity_why}", "dim")
    if decided.decision.candidates:
        console.print(Text("\ncandidates weighed", style="bold"), Whole(candidates_table(decided)))
    if found.predictions:
        console.print(Text("\nwhat it predicted", style="bold"), Whole(predictions_table(found.predictions, decided.at_s), (3, 3)))
    if found.afterwards:
        line("\nwhat followed from it", "bold")
        for event in found.afterwards:
            line(f"{clock_time(event.at_s)}  {event.words()}")


def headline(decided: Decided) -> str:
    """
    >>> from penstock.core.domain.decision import Decision
    >>> from penstock.core.domain.configuration import Configuration
    >>> one = Configuration(executors=1)
    >>> kept = Decision(policy="static", configuration=one, current=one, why=Comparison(code="as_declared"))
    >>> headline(Decided(at_s=0.0, id=1, mode="shadow", policy="static", decision=kept, effect="kept"))
    'keep 1 executor'
    """
    decision = decided.decision
    effect = "" if decided.effect == "kept" else f" ({EFFECTS[decided.effect]})"
    current = decision.current.executors
    if decision.direction == "keep":
        return f"keep {executors_words(current)}{effect}"
    moved = decision.change.words() if not decision.change.is_rescale else f"from {current} to {executors_words(decision.executors)}"
    return f"{moved}{effect}"


def seen_rows(found: Explained) -> list[tuple[str, str]]:
    decided, reading = found.decided, found.reading
    rows = [
        ("load since the decision before", f"{count(decided.load_rows_per_s)} rows/s"),
        ("forecast at its peak", f"{count(decided.peak_rows_per_s)} rows/s"),
        (f"capacity of {executors_words(decided.decision.executors)}", f"{count(decided.capacity_rows_per_s)} rows/s"),
    ]
    if reading is not None:
        p95_s = reading.latency.p95_s if reading.latency else None
        rows += [
            ("latency p95", seconds(p95_s)),
            ("excess lag", f"{count(reading.excess_lag_rows)} rows"),
            ("executors", f"{reading.executors_running} running, {reading.executors_requested} requested, busy {percent(reading.busyness)}"),
        ]
    return rows


def candidates_table(decided: Decided) -> Table:
    table = columns("", "executors", "capacity rows/s", "recovery", "latency", left=1)
    table.add_column("refused because", overflow="fold")
    for each in decided.decision.candidates:
        chosen = decided.decision.wants(each.configuration)
        others = (move.words() for move in difference(decided.decision.current, each.configuration).moves if move.knob != "executors")
        cells = ", ".join([str(each.executors), *others]), count(each.capacity_rows_per_s), seconds(each.recovery_s), seconds(each.latency_s)
        table.add_row("→" if chosen else "", *map(Text, cells), Text(each.refused.words() if each.refused else ""), style="bold" if chosen else "")
    return table


def predictions_table(predictions: tuple[Judged, ...], at_s: float) -> Table:
    table = columns("", "predicted", "bounds", "due in", "it was", "off by", left=1, widest=None)
    table.add_column("")
    for each in predictions:
        made, graded = each.made, each.graded
        of_executors = f" of {executors_words(made.configuration.executors)}" if made.kind in ("capacity", "latency") else ""
        verdict = "" if graded is None else "within its bounds" if graded.is_within else "outside of its bounds"
        table.add_row(
            Text(f"{subject(made.kind, made.about)}{of_executors}"),
            Text(f"{short(made.value)} {UNITS[made.kind]}"),
            Text(f"{short(made.low)} to {short(made.high)}"),
            Text(UNKNOWN if made.due_s is None else duration_words(max(0.0, round(made.due_s - at_s, 1)))),
            Text("" if graded is None else f"{short(graded.actual)} {UNITS[made.kind]}"),
            Text("" if graded is None else percent(graded.error)),
            Text(verdict or FATES[each.fate], style="dim" if graded is None else ""),
        )
    return table


def pairs(rows: list[tuple[str, str]]) -> Table:
    table = columns("", "", left=2, widest=None)
    table.show_header = False
    for name, value in rows:
        table.add_row(Text(name), Text(value))
    return table


DAY_S, MINUTE_S, SECOND_S = 86400.0, 60.0, 1.0
STILL_IN_IT_S = 0.001
"""A moment ends just before the next one begins."""


def until_moment_s(text: str, last_s: float) -> float:
    """Return the end of a named moment: a time of the day, an ISO time (local unless it has a zone), or a duration before the last known moment.

    A time of the day is its last occurrence; "14:05" names all of that minute.
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
    hour, minute, *second = (int(part) for part in text.split(":"))
    last = datetime.fromtimestamp(last_s)
    found = last.replace(hour=hour, minute=minute, second=second[0] if second else 0, microsecond=0)
    found = found if found <= last else found - timedelta(days=1)
    return found.timestamp() + _length_s(f"T{text}") - STILL_IN_IT_S


def _length_s(text: str) -> float:
    """Return the length of a named moment: a day, a minute or a second.

    >>> [_length_s(each) for each in ("2026-11-16", "2026-11-16 14:05", "2026-11-16T14:05:30+01:00")]
    [86400.0, 60.0, 1.0]
    """
    time_of_day = re.search(r"[T ]\d{1,2}:\d\d(:\d\d)?", text)
    return DAY_S if time_of_day is None else MINUTE_S if time_of_day[1] is None else SECOND_S
