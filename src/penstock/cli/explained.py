"""A decision as tables for people, and as one object for machines."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.cli.cells import UNKNOWN, clock_time, columns, count, day_time, percent, seconds
from penstock.cli.uncut_table import Whole
from penstock.core.analyze.explained import Explained, Judged
from penstock.core.domain.decision import Candidate, Comparison, short, sized
from penstock.core.domain.events.autopilot import EFFECTS, Decided
from penstock.core.domain.prediction import UNITS, subject
from penstock.core.domain.units import duration_words

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
        "current": decision.current,
        "executors": decision.executors,
        "direction": decision.direction,
        "why": compared(decision.why),
        "guards": [compared(guard) for guard in decision.guards],
        "effect": decided.effect,
        "words": decided.words(),
    }
    return {
        "decision": choice,
        "seen": seen,
        "candidates": [{**asdict(each), "refused": each.refused and compared(each.refused)} for each in decision.candidates],
        "predictions": [predicted(each) for each in found.predictions],
        "afterwards": [{"at_s": event.at_s, "kind": type(event).__name__, "words": event.words()} for event in found.afterwards],
    }


def compared(why: Comparison) -> dict[str, Any]:
    return {**asdict(why), "words": why.words()}


def predicted(each: Judged) -> dict[str, Any]:
    graded = each.graded
    return {
        **asdict(each.made),
        "fate": each.fate,
        "actual": graded and graded.actual,
        "error": graded and graded.error,
        "within": graded and graded.low <= graded.actual <= graded.high,
    }


def show(console: Console, found: Explained) -> None:
    def line(text: str, style: str = "") -> None:
        console.print(Text(text, style=style), soft_wrap=True)

    decided = found.decided
    line(headline(decided), "bold")
    line(f"{day_time(decided.at_s)}, policy {decided.policy}, mode {decided.mode}")
    line(f"because {decided.decision.why.words()}")
    for guard in decided.decision.guards:
        line(f"guarded: {guard.words()}")
    console.print(Text("\nwhat was seen", style="bold"), Whole(pairs(seen_rows(found))))
    if decided.capacity_why is not None:
        line(f"capacity {decided.capacity_why}", "dim")
    if decided.decision.candidates:
        console.print(Text("\nsizes weighed", style="bold"), Whole(candidates_table(decided)))
    if found.predictions:
        console.print(Text("\nwhat it predicted", style="bold"), Whole(predictions_table(found.predictions, decided.at_s), (3, 3)))
    if found.afterwards:
        line("\nwhat came of it", "bold")
        for event in found.afterwards:
            line(f"{clock_time(event.at_s)}  {event.words()}")


def headline(decided: Decided) -> str:
    """
    >>> from penstock.core.domain.decision import Decision
    >>> kept = Decision(policy="static", executors=1, current=1, why=Comparison(code="as_declared"))
    >>> headline(Decided(at_s=0.0, mode="shadow", policy="static", decision=kept, effect="kept"))
    'keep 1 executor'
    """
    decision = decided.decision
    effect = "" if decided.effect == "kept" else f" ({EFFECTS[decided.effect]})"
    return f"keep {sized(decision.current)}{effect}" if decision.direction == "keep" else f"from {decision.current} to {sized(decision.executors)}{effect}"


def seen_rows(found: Explained) -> list[tuple[str, str]]:
    decided, reading = found.decided, found.reading
    rows = [
        ("load since the decision before", f"{count(decided.load_rows_per_s)} rows/s"),
        ("forecast at its peak", f"{count(decided.peak_rows_per_s)} rows/s"),
        (f"capacity of {sized(decided.decision.executors)}", f"{count(decided.capacity_rows_per_s)} rows/s"),
    ]
    if reading is not None:
        p95_s = reading.latency.p95_s if reading.latency else None
        rows += [
            ("latency p95", seconds(p95_s)),
            ("lag beyond what is healthy", f"{count(reading.excess_lag_rows)} rows"),
            ("executors", f"{reading.executors_running} running, {reading.executors_requested} requested, busy {percent(reading.busyness)}"),
        ]
    return rows


def candidates_table(decided: Decided) -> Table:
    """The size that was chosen has an arrow."""
    table = columns("", "executors", "capacity rows/s", "recovery", "latency", left=1)
    table.add_column("refused because", overflow="fold")
    for each in decided.decision.candidates:
        chosen = each.executors == decided.decision.executors
        cells = str(each.executors), count(each.capacity_rows_per_s), seconds(each.recovery_s), seconds(each.latency_s)
        table.add_row("→" if chosen else "", *map(Text, cells), Text(refusal(each)), style="bold" if chosen else "")
    return table


def refusal(each: Candidate) -> str:
    return "" if each.refused is None else each.refused.words()


def predictions_table(predictions: tuple[Judged, ...], at_s: float) -> Table:
    table = columns("", "predicted", "bounds", "due in", "it was", "off by", left=1)
    table.columns[0].max_width = None
    table.add_column("")
    for each in predictions:
        made, graded = each.made, each.graded
        of_size = f" of {sized(made.executors)}" if made.kind in ("capacity", "latency") else ""
        told = "" if graded is None else "within its bounds" if graded.low <= graded.actual <= graded.high else "outside of its bounds"
        table.add_row(
            Text(f"{subject(made.kind, made.about)}{of_size}"),
            Text(f"{short(made.value)} {UNITS[made.kind]}"),
            Text(f"{short(made.low)} to {short(made.high)}"),
            Text(UNKNOWN if made.due_s is None else duration_words(max(0.0, round(made.due_s - at_s, 1)))),
            Text("" if graded is None else f"{short(graded.actual)} {UNITS[made.kind]}"),
            Text("" if graded is None else percent(graded.error)),
            Text(told or FATES[each.fate], style="dim" if graded is None else ""),
        )
    return table


def pairs(rows: list[tuple[str, str]]) -> Table:
    table = columns("", "", left=2)
    table.show_header = False
    table.columns[0].max_width = None
    for name, value in rows:
        table.add_row(Text(name), Text(value))
    return table
