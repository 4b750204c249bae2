"""`penstock grade`: how good the predictions were, and with `--models` how wrong each model is."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.cli.histories import FileOption, LastOption, events_of, history_of, since, why_undecided
from penstock.cli.jobs import JobOption
from penstock.cli.report import JsonOption
from penstock.cli.terminal import UNKNOWN, Whole, columns, percent
from penstock.core.domain.prediction import FEWEST_GRADES, GOOD_ERROR, subject
from penstock.core.models.estimate import COVERAGE
from penstock.core.models.score import Score
from penstock.core.report.explained import decisions
from penstock.core.report.grades import Grade, grades
from penstock.core.report.model_scores import ModelScore, model_scores
from penstock.stores.reader import HistoryReader

LEAST_WITHIN = 0.6
"""Bounds that hold less often than this are too narrow. They should hold in 0.8 of cases, but neighbouring grades overlap, so some shortfall is chance."""


def grade(
    job: JobOption = None,
    file: FileOption = None,
    last: LastOption = None,
    models: Annotated[
        bool, typer.Option("--models", help="Also print the error of each model, of a constant and of the paper's method; takes seconds.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Compare predictions with what was measured. Predictions are of four kinds: capacity, latency, forecast and recovery."""
    with HistoryReader.open(history_of(job, file)) as reader:
        since_s = since(last, reader.span())
        events = events_of(reader, since_s)
        found = grades(events)
        nothing = "" if found else why_ungraded(reader, since_s)
        knowledge = reader.knowledge() if models else None
    scores = () if knowledge is None else model_scores(knowledge.learnt)
    if as_json:
        rows = [{**asdict(each), "good_error": GOOD_ERROR[each.kind], "verdict": verdict(each)} for each in found]
        answer = {"grades": rows, "bounds_hold": COVERAGE, "reason": nothing or None}
        typer.echo(json.dumps({**answer, "models": [model_object(each) for each in scores]} if models else answer))
        return
    if found:
        show(Console(), found)
    else:
        typer.echo(nothing)
    if scores:
        typer.echo()
        show_errors(Console(), scores)
    elif models:
        typer.echo("no model has learnt anything yet")


def why_ungraded(reader: HistoryReader, since_s: float) -> str:
    made = [each for row in reader.events(since_s) for one in decisions([row.event]) for each in one.predictions]
    if made:
        return f"nothing is graded yet: {len(made)} predictions were made, none could be judged so far"
    decided = any(decisions([row.event]) for row in reader.events(since_s))
    return "nothing to grade: the policy predicts nothing" if decided else f"nothing to grade: {why_undecided(reader)}"


def show(console: Console, found: Sequence[Grade]) -> None:
    console.print(Whole(grades_table(found)))
    console.print(
        Text(
            f"off by: mean of |predicted - actual| / actual, 100% if the actual value is 0; bias: the same with its sign, above 0 if too much was predicted. "
            f"Good: an error within its limit, and about {COVERAGE:.0%} within the bounds; fewer than {FEWEST_GRADES} grades say little.",
            style="dim",
        )
    )


def grades_table(found: Sequence[Grade]) -> Table:
    table = columns("prediction", "grades", "off by", "good", "bias", "within bounds", left=1, widest=None)
    table.add_column("")
    for each in found:
        cells = str(each.count), percent(each.error), f"≤ {GOOD_ERROR[each.kind]:.0%}", f"{each.bias:+.0%}", percent(each.within)
        said = verdict(each)
        table.add_row(Text(subject(each.kind, each.about)), *map(Text, cells), Text(said, style={"good": "green", "few": "dim"}.get(said, "red")))
    return table


def verdict(each: Grade) -> str:
    """
    >>> verdict(Grade(kind="capacity", about="", count=30, error=0.1, bias=0.0, within=0.8))
    'good'
    """
    if each.count < FEWEST_GRADES:
        return "few"
    if each.error > GOOD_ERROR[each.kind]:
        return "off"
    return "good" if each.within >= LEAST_WITHIN else "bounds too narrow"


def model_object(each: ModelScore) -> dict[str, Any]:
    """
    >>> one = ModelScore(model="load forecast", paper="AutoARIMA alone", score=Score(mape=0.1, constant_mape=0.3, paper_mape=0.2, held_out=9))
    >>> model_object(one)["mape"], model_object(one)["reason"]
    (0.1, None)
    """
    score = each.score if isinstance(each.score, Score) else None
    return {
        "model": each.model,
        **{name: getattr(score, name, None) for name in ("mape", "constant_mape", "paper_mape")},
        "paper": each.paper,
        "held_out": score.held_out if score else 0,
        "reason": None if isinstance(each.score, Score) else each.score.why,
    }


def show_errors(console: Console, found: Sequence[ModelScore]) -> None:
    console.print(Whole(errors_table(found)))
    words = "off by: mean relative error on data that the model had not learnt; constant, paper: the errors of a constant and of the paper's method."
    console.print(Text(words, style="dim"))


def errors_table(found: Sequence[ModelScore]) -> Table:
    table = columns("model", "held out", "off by", "constant", "paper", left=1, widest=None)
    table.add_column("")
    for each in found:
        if isinstance(each.score, Score):
            errors = (percent(error) for error in (each.score.mape, each.score.constant_mape, each.score.paper_mape))
            table.add_row(Text(each.model), Text(str(each.score.held_out)), *map(Text, errors), Text(f"paper: {each.paper}", style="dim"))
        else:
            table.add_row(Text(each.model), *map(Text, (UNKNOWN,) * 4), Text(f"not yet: {each.score.why}", style="dim"))
    return table
