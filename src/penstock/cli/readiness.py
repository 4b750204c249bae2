"""`penstock readiness`: whether a policy in shadow is ready to act."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import typer
from rich.console import Console
from rich.text import Text

from penstock.cli.histories import FileOption, events_of, history_of, read_with_bar, why_undecided
from penstock.cli.jobs import JobOption
from penstock.cli.report import JsonOption, known
from penstock.cli.terminal import Whole, columns, day_time, percent
from penstock.core.domain.events.autopilot_events import Decided
from penstock.core.domain.prediction import FEWEST_GRADES, GOOD_ERROR, PredictionKind
from penstock.core.domain.units import duration_words
from penstock.core.knowledge.terms import Terms
from penstock.core.report.readiness import Readiness, Steered, Unready
from penstock.core.report.readiness import readiness as judge
from penstock.core.report.shadow import last_shadow
from penstock.stores.reader import HistoryReader

NEVER = 'the policy never decided in shadow: mode = "shadow" in [autopilot] of the job file lets it decide and touches nothing'
REMEDIES = {
    "shadow_too_short": "leave it in shadow",
    "too_few_grades": "a latency is judged at the executors that run, about a minute after each decision: leave it in shadow",
    "error_too_large": "penstock grade shows more; the models learn on, or another policy suits the job better",
    "more_breaks": "penstock explain --last-change shows one; a policy that is more careful, or a larger min_executors",
    "never_decided": "phoebe and twres need a profile, the others a load and how busy the executors are (in Real-Time Mode: their CPU)",
    "nothing_proven": "policies without models (static, hpa, ds2 and the like) predict nothing, and in Real-Time Mode without a profile only an overload "
    'or a failure shows whether a prediction was right: mode = "ask" lets you judge each change yourself, policy = "auto" predicts',
}


def readiness(job: JobOption = None, file: FileOption = None, as_json: JsonOption = False) -> None:
    """Say whether a policy in shadow is ready for "ask" or "active". Compares its decisions with the executors that ran."""
    with HistoryReader.open(history_of(job, file)) as reader:
        events = events_of(reader)
        shadow = last_shadow(events)
        if shadow is None:
            decided = any(isinstance(event, Decided) for event in events)
            found, nothing = None, NEVER if decided else f"not ready: {why_undecided(reader)}"
        else:
            readings = read_with_bar("reading the readings", reader.readings(shadow.from_s, shadow.until_s), reader.span())
            found, nothing = judge(list(readings), events, reader.terms() or Terms()), ""
    if as_json:
        typer.echo(json.dumps(known(as_object(found) if found else {"ready": False, "reason": nothing})))
    elif found:
        show(Console(), found)
    else:
        typer.echo(nothing)


def as_object(found: Readiness) -> dict[str, Any]:
    errors = {kind: {"error": error, "count": number, "good_error": GOOD_ERROR[kind]} for kind, (error, number) in found.errors.items()}
    reasons = [{"about": each.about, **asdict(each.why), "words": each.why.words()} for each in found.reasons]
    return {**asdict(found), "ready": found.ready, "errors": errors, "reasons": reasons}


def show(console: Console, found: Readiness) -> None:
    def line(text: str, style: str = "") -> None:
        console.print(Text(text, style=style), soft_wrap=True)

    line("ready" if found.ready else "not ready", "bold green" if found.ready else "bold yellow")
    line(f"{found.policy} in shadow for {duration_words(round(found.shadow_s))}, {day_time(found.from_s)} to {day_time(found.until_s)}\n")
    table = columns("", "in shadow", "as it ran", left=1, widest=None)
    for name, wanted, ran in compared(found.shadow, found.run):
        table.add_row(name, wanted, ran)
    console.print(Whole(table))
    if found.agreement is not None:
        agreed = found.agreement
        other = f", as many with other triggers, limits or partitions {percent(agreed.other)}" if agreed.other else ""
        shares = f"fewer executors {percent(agreed.fewer)}, more {percent(agreed.more)}{other}"
        line(f"\nthe configuration decided in shadow was the one that ran {percent(agreed.same)} of the time, {shares}")
    for kind, (error, number) in found.errors.items():
        line(error_words(kind, error, number))
    for reason in found.reasons:
        line(f"not ready: {reason_words(reason)}", "yellow")
    if found.ready:
        line('next: mode = "ask" in [autopilot] of the job file proposes each change, mode = "active" makes it (docs/trust.md)', "green")


def error_words(kind: PredictionKind, error: float, number: int) -> str:
    """
    >>> error_words("recovery", 4.54, 1)
    'recovery was off by 454% on average of 1 prediction (good: 35%); fewer than 20 say little'
    """
    few = f"; fewer than {FEWEST_GRADES} say little" if number < FEWEST_GRADES else ""
    return f"{kind} was off by {percent(error)} on average of {number} prediction{'' if number == 1 else 's'} (good: {percent(GOOD_ERROR[kind])}){few}"


def compared(shadow: Steered, run: Steered) -> Iterator[tuple[str, str, str]]:
    saved = f" ({shadow.executor_s / run.executor_s - 1:+.0%})" if run.executor_s else ""
    yield "executor-seconds", f"{shadow.executor_s:,.0f}{saved}", f"{run.executor_s:,.0f}"
    yield "times scaled up", str(shadow.ups), str(run.ups)
    yield "times scaled down", str(shadow.downs), str(run.downs)
    yield "promises broken", f"{shadow.broken} predicted", str(run.broken)


def reason_words(reason: Unready) -> str:
    about = f"{reason.about}: " if reason.about else ""
    return f"{about}{reason.why.words()}; {REMEDIES[reason.why.code]}"
