"""`penstock fit recovery` and `penstock fit latency`: Khaos's models over interval and rate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeVar

import numpy as np
import typer

from penstock.cli.report import JsonOption, PlotOption, Report, present
from penstock.core.errors import UserMistake
from penstock.core.models.estimate import NotReady
from penstock.core.models.latency.regression import LatencyRegression, LatencySeen
from penstock.core.models.recovery.regression import RecoveryRegression, RecoverySeen
from penstock.core.models.surrogate.crossvalidation import interval_groups
from penstock.core.models.surrogate.study import HELD_OUT_SINGLY, MOST_SEEN, PARTS_OF_MORE
from penstock.tables.column import Column
from penstock.tables.csv import Columns, read_csv

Seen = TypeVar("Seen", RecoverySeen, LatencySeen)
INPUTS = (Column(name="interval_s", above=0), Column(name="rate", lowest=0), Column(name="scaleout", lowest=1, whole=True, optional=True))
RECOVERY, LATENCY = Column(name="recovery_s", above=0), Column(name="latency_ms", above=0)
LeaveOutOption = Annotated[str, typer.Option(help="What is held out to measure the error: one row, or all rows of an interval.", metavar="one|interval")]


def recovery(
    failures: Annotated[Path, typer.Argument(help="CSV with the columns interval_s, rate, recovery_s, and scaleout if it moved.", metavar="FAILURES.CSV")],
    leave_out: LeaveOutOption = "interval",
    as_json: JsonOption = False,
    plot: PlotOption = None,
) -> None:
    """Recovery time over checkpoint interval and rate (Khaos's M_R)."""
    columns = read_csv(failures, (*INPUTS, RECOVERY))
    seen = [
        RecoverySeen(interval_s=i, rate_rows_per_s=r, recovery_s=y, scaleout=s)
        for i, r, s, y in zip(*inputs(columns), map(float, columns["recovery_s"]), strict=True)
    ]
    fit(failures, RecoveryRegression().learn(thinned(seen)), columns, "recovery_s", leave_out, as_json, plot)


def latency(
    runs: Annotated[Path, typer.Argument(help="CSV with the columns interval_s, rate, latency_ms, and scaleout if it moved.", metavar="RUNS.CSV")],
    leave_out: LeaveOutOption = "interval",
    as_json: JsonOption = False,
    plot: PlotOption = None,
) -> None:
    """Latency over checkpoint interval and rate (Khaos's M_L)."""
    columns = read_csv(runs, (*INPUTS, LATENCY))
    seen = [
        LatencySeen(interval_s=i, rate_rows_per_s=r, latency_s=y / 1000, scaleout=s)
        for i, r, s, y in zip(*inputs(columns), map(float, columns["latency_ms"]), strict=True)
    ]
    fit(runs, LatencyRegression().learn(thinned(seen)), columns, "latency_ms", leave_out, as_json, plot)


def thinned(seen: list[Seen]) -> list[Seen]:
    """All rows, or of too many an even choice over intervals and rates."""
    ordered = sorted(seen, key=lambda each: (each.interval_s, each.rate_rows_per_s))
    return seen if len(seen) <= MOST_SEEN else [ordered[int(place)] for place in np.linspace(0, len(seen) - 1, MOST_SEEN)]


def inputs(columns: Columns) -> tuple[list[float], list[float], list[int | None]]:
    scaleouts: list[int | None] = [int(each) for each in columns["scaleout"]] if "scaleout" in columns else [None] * len(columns["rate"])
    return [float(each) for each in columns["interval_s"]], [float(each) for each in columns["rate"]], scaleouts


def fit(
    path: Path, model: RecoveryRegression | LatencyRegression, columns: Columns, what: Literal["recovery_s", "latency_ms"],
    leave_out: str, as_json: bool, plot: Path | None,
) -> None:  # fmt: skip
    if leave_out not in ("one", "interval"):
        raise UserMistake(f"--leave-out: found {leave_out}, one or interval is allowed")
    held: Literal["one", "interval"] = "one" if leave_out == "one" else "interval"
    score = model.score(held)
    if isinstance(score, NotReady):
        raise UserMistake(f"{path}: {score.why}{'; or take --leave-out one' if 'one interval' in score.why else ''}")
    candidates = model.candidates(held)
    singly = score.held_out if score.held_out <= HELD_OUT_SINGLY else PARTS_OF_MORE
    parts = singly if held == "one" else len(np.unique(interval_groups(columns["interval_s"])))
    scale = 1000.0 if what == "latency_ms" else 1.0

    def predicted(interval_s: float, rate: float, scaleout: int | None) -> float:
        answer = model.predict(interval_s, rate, scaleout)
        return float("nan") if isinstance(answer, NotReady) else answer.value * scale

    def draw(picture: Path) -> None:
        from penstock.dashboard.fits import draw_regression

        draw_regression(picture, path.name, columns, what, predicted)

    found = {
        "form": model.form,
        "mape": score.mape,
        "leave_out": leave_out,
        "parameters": dict(model.parameters),
        "constant_mape": score.constant_mape,
        "paper_mape": score.paper_mape,
        "held_out": score.held_out,
        "rows": len(columns["rate"]),
        "parts": parts,
        "candidates": dict(candidates),
        "intervals_s": sorted({float(each) for each in np.round(columns["interval_s"], 6)}),
    }
    rows = [
        ("form", f"{model.form}; {', '.join(f'{name} {value:.6g}' for name, value in model.parameters.items())}"),
        (f"error, leaving {'an interval' if leave_out == 'interval' else 'one'} out", f"{score.mape:.1%} of {score.held_out} rows in {parts} parts"),
        ("  a constant", f"{score.constant_mape:.1%}"),
        ("  the paper's plane", "unknown" if score.paper_mape is None else f"{score.paper_mape:.1%}"),
        *((f"  {name} alone", f"{error:.1%}") for name, error in sorted(candidates.items(), key=lambda each: each[1])),
    ]
    present(Report(title=f"{what.partition('_')[0]} over interval and rate", found=found, rows=rows, draw=draw), as_json, plot)
