"""`penstock recovery`: how long a job would take to catch up after a failure, on a trace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.report import JsonOption, PlotOption, Report, finite, present
from penstock.core.errors import UserMistake
from penstock.core.models.recovery.formula import recovery_s
from penstock.tables.trace import read_trace


def recovery(
    trace: Annotated[Path, typer.Option(help="CSV with the columns t (s), rate (rows/s).", metavar="TRACE.CSV")],
    at: Annotated[float, typer.Option(help="When the failure strikes, in the time of the trace.")],
    capacity: Annotated[float, typer.Option(help="Rows per second the job can process.", min=0)],
    interval: Annotated[float, typer.Option(help="Checkpoint interval in seconds: so much is processed again.", min=0)],
    downtime: Annotated[float, typer.Option(help="Seconds from the failure until the job processes again.", min=0)],
    lag: Annotated[float, typer.Option(help="Rows that waited already.", min=0)] = 0.0,
    as_json: JsonOption = False,
    plot: PlotOption = None,
) -> None:
    """Seconds from a failure until the job has caught up (Phoebe sec. III-B)."""
    finite(at=at, capacity=capacity, interval=interval, downtime=downtime, lag=lag)
    arrivals = read_trace(trace)
    if not arrivals.time_s[0] <= at <= arrivals.last_s:
        raise UserMistake(f"--at: found {at:g}, the trace goes from {arrivals.time_s[0]:g} s to {arrivals.last_s:g} s")
    took_s = recovery_s(arrivals, at, capacity, interval, downtime, lag)
    beyond = at + took_s > arrivals.last_s

    def draw(path: Path) -> None:
        from penstock.dashboard.fits import draw_recovery

        draw_recovery(path, trace.name, arrivals, at, capacity, downtime, took_s)

    never = took_s == float("inf")
    rows = [
        ("recovery", f"never: the last rate of the trace, {arrivals.long_run_rate:,.0f} rows/s, is beyond the capacity" if never else f"{took_s:,.1f} s"),
        ("  of this, down", f"{downtime:,.1f} s"),
        ("rate at the failure", f"{arrivals.rate(at):,.0f} rows/s, {arrivals.rate(at) / capacity:.0%} of the capacity" if capacity else "no capacity"),
        *((("note", "the trace ends before that; its last rate is taken to go on"),) if beyond else ()),
    ]
    found = {"recovery_s": took_s, "downtime_s": downtime, "beyond_trace": beyond, "rate": arrivals.rate(at)}
    present(Report(title=f"a failure at {at:g} s", found=found, rows=rows, draw=draw), as_json, plot)
