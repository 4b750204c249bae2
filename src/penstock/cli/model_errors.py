"""How wrong the models of a job are, as a table for people and as objects for machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.cli.cells import UNKNOWN, columns, percent
from penstock.cli.uncut_table import Whole
from penstock.core.analyze.model_scores import ModelScore
from penstock.core.models.score import Score


def as_objects(found: Sequence[ModelScore]) -> list[dict[str, Any]]:
    """
    >>> one = ModelScore(model="load forecast", paper="AutoARIMA alone", score=Score(mape=0.1, constant_mape=0.3, paper_mape=0.2, held_out=9))
    >>> as_objects([one])[0]["mape"], as_objects([one])[0]["reason"]
    (0.1, None)
    """
    return [as_object(each) for each in found]


def as_object(each: ModelScore) -> dict[str, Any]:
    score = each.score if isinstance(each.score, Score) else None
    return {
        "model": each.model,
        "mape": score and score.mape,
        "constant_mape": score and score.constant_mape,
        "paper_mape": score and score.paper_mape,
        "paper": each.paper,
        "held_out": score.held_out if score else 0,
        "reason": None if isinstance(each.score, Score) else each.score.why,
    }


def show(console: Console, found: Sequence[ModelScore]) -> None:
    console.print(Whole(errors_table(found)))
    words = "off by: mean error on what a model had not learnt, as a share of the truth; beside it that of a constant, and that of the paper's plain way."
    console.print(Text(words, style="dim"))


def errors_table(found: Sequence[ModelScore]) -> Table:
    table = columns("model", "held out", "off by", "constant", "paper", left=1)
    table.columns[0].max_width = None
    table.add_column("")
    for each in found:
        if isinstance(each.score, Score):
            errors = (percent(error) for error in (each.score.mape, each.score.constant_mape, each.score.paper_mape))
            table.add_row(Text(each.model), Text(str(each.score.held_out)), *map(Text, errors), Text(f"paper: {each.paper}", style="dim"))
        else:
            table.add_row(Text(each.model), *map(Text, (UNKNOWN,) * 4), Text(f"not yet: {each.score.why}", style="dim"))
    return table
