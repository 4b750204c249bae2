"""`penstock fit recovery` and `penstock fit latency`: Khaos's models over checkpoint interval and rate."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from penstock.cli.report import JsonOption, PlotOption, Report, present
from penstock.core.errors import UserMistake
from penstock.core.models.estimate import NotReady
from penstock.core.models.latency.latency_regression import LatencyRegression, LatencySeen
from penstock.core.models.recovery.predicted_recovery import TRUSTED_S
from penstock.core.models.recovery.recovery_regression import RecoveryRegression, RecoverySeen
from penstock.core.models.score import Score
from penstock.core.models.surrogate.crossvalidation import LeaveOut, interval_groups
from penstock.core.models.surrogate.points import spread_out
from penstock.core.models.surrogate.study import MOST_SEEN
from penstock.tables.csv import Column, Columns, read_csv

INPUTS = (Column(name="interval_s", above=0), Column(name="rate", lowest=0), Column(name="scaleout", lowest=1, whole=True, optional=True))
RECOVERY, LATENCY = Column(name="recovery_s", above=0), Column(name="latency_ms", above=0)
LeaveOutOption = Annotated[LeaveOut, typer.Option(help="What to hold out to measure the error: one row, or all rows of an interval.")]
MILLISECONDS = 1000.0


def recovery(
    failures: Annotated[Path, typer.Argument(help="CSV with the columns interval_s, rate, recovery_s, and scaleout if it changed.", metavar="FAILURES.CSV")],
    leave_out: LeaveOutOption = LeaveOut.INTERVAL,
    as_json: JsonOption = False,
    plot: PlotOption = None,
) -> None:
    """Fit the recovery time over interval and rate (Khaos's M_R)."""
    columns = read_csv(failures, (*INPUTS, RECOVERY))
    kept = thinned(columns)
    seen = [RecoverySeen(interval_s=i, rate_rows_per_s=r, executors=s, recovery_s=y) for i, r, s, y in rows_of(kept, "recovery_s")]
    notes = long_in_words(int((columns["recovery_s"] > TRUSTED_S).sum()), len(columns["recovery_s"]))
    present(report(failures, RecoveryRegression().learn(seen), columns, kept, "recovery_s", leave_out, notes), as_json, plot)


def latency(
    runs: Annotated[Path, typer.Argument(help="CSV with the columns interval_s, rate, latency_ms, and scaleout if it changed.", metavar="RUNS.CSV")],
    leave_out: LeaveOutOption = LeaveOut.INTERVAL,
    as_json: JsonOption = False,
    plot: PlotOption = None,
) -> None:
    """Fit the latency over interval and rate (Khaos's M_L)."""
    columns = read_csv(runs, (*INPUTS, LATENCY))
    kept = thinned(columns)
    seen = [LatencySeen(interval_s=i, rate_rows_per_s=r, executors=s, latency_s=y / MILLISECONDS) for i, r, s, y in rows_of(kept, "latency_ms")]
    present(report(runs, LatencyRegression().learn(seen), columns, kept, "latency_ms", leave_out), as_json, plot)


def thinned(columns: Columns) -> Columns:
    """Return all rows, or an even selection over intervals and rates if there are too many."""
    kept = spread_out(interval_groups(columns["interval_s"], most=MOST_SEEN), columns["rate"], MOST_SEEN)
    return {name: values[kept] for name, values in columns.items()}


def rows_of(columns: Columns, what: str) -> list[tuple[float, float, int | None, float]]:
    """Return interval, rate, number of executors if known, and the measured value of each row."""
    executor_counts = columns["scaleout"].astype(int).tolist() if "scaleout" in columns else [None] * len(columns["rate"])
    return list(zip(columns["interval_s"].tolist(), columns["rate"].tolist(), executor_counts, columns[what].tolist(), strict=True))


def long_in_words(long: int, rows: int) -> tuple[str, ...]:
    """
    >>> long_in_words(2, 60), long_in_words(0, 60)
    (('2 of 60 recoveries took longer than 15 min: no rate stays constant that long, so they may belong to another rate',), ())
    """
    since = f"longer than {TRUSTED_S / 60:g} min: no rate stays constant that long, so they may belong to another rate"
    return (f"{long} of {rows} recoveries took {since}",) if long else ()


def report(
    path: Path, model: RecoveryRegression | LatencyRegression, columns: Columns, kept: Columns, what: str, leave_out: LeaveOut, notes: Sequence[str] = ()
) -> Report:
    study = model.study
    if isinstance(study, NotReady):
        raise UserMistake(f"{path}: {study.why}")
    if leave_out is LeaveOut.INTERVAL and study.parts(leave_out) == 1:
        raise UserMistake(f"{path}: all rows are of one interval, none is left to predict it from; measure another one, or take --leave-out one")
    score = study.score(leave_out)
    if isinstance(score, NotReady):
        raise UserMistake(f"{path}: {score.why}")

    def draw(picture: Path) -> None:
        from penstock.dashboard.fit_charts import draw_regression

        draw_regression(picture, path.name, kept, what, model, MILLISECONDS if what == "latency_ms" else 1.0)

    candidates = study.candidates(leave_out)
    found = {
        "form": model.form,
        "mape": score.mape,
        "leave_out": leave_out.value,
        "parameters": dict(model.parameters),
        "constant_mape": score.constant_mape,
        "paper_mape": score.paper_mape,
        "held_out": score.held_out,
        "never": score.never,
        "rows": len(columns["rate"]),
        "parts": study.parts(leave_out),
        "candidates": dict(candidates),
        "intervals_s": np.unique(np.round(kept["interval_s"], 6)).tolist(),
        "notes": list(notes),
    }
    rows = in_words(model, score, len(columns["rate"]), study.parts(leave_out), leave_out, sorted(candidates.items(), key=lambda each: each[1]))
    title = f"{what.partition('_')[0]} over interval and rate"
    return Report(title=title, found=found, rows=[*rows, *(("note", note) for note in notes)], draw=draw)


def in_words(
    model: RecoveryRegression | LatencyRegression, score: Score, rows: int, parts: int, leave_out: LeaveOut, candidates: list[tuple[str, float]]
) -> list[tuple[str, str]]:
    thin = f", spread over all {rows}" if rows > score.held_out else ""
    never = f"; {score.never} of them were predicted never to end, an error of 100% each" if score.never else ""
    return [
        ("form", f"{model.form}"),
        ("  of the first", ", ".join(f"{name} {value:.6g}" for name, value in model.parameters.items())),
        (
            f"error, leaving {'an interval' if leave_out is LeaveOut.INTERVAL else 'one'} out",
            f"{score.mape:.1%} of {score.held_out} rows{thin} in {parts} parts{never}",
        ),
        ("  a constant", f"{score.constant_mape:.1%}"),
        ("  the paper's plane", "unknown" if score.paper_mape is None else f"{score.paper_mape:.1%}"),
        *((f"  {name} alone", f"{error:.1%}") for name, error in candidates),
    ]
