"""`penstock recovery`: how long a job takes to catch up after a failure on a trace."""

import math
from bisect import bisect_left, bisect_right
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from penstock.cli.report import JsonOption, PlotOption, Report, finite, needed, present
from penstock.core.errors import UserMistake
from penstock.core.models.forecast.series import LONGEST_GAP_S, USUAL_GAPS
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.outage import Outage, recovery_s
from penstock.core.models.recovery.predicted_recovery import TRUSTED_S, continued_share
from penstock.tables.measurements import read_trace

NEARLY_ALL = 0.9
"""A gap is judged by this quantile of the distances between rows, as a trace of few rows has long distances on purpose."""


def recovery(
    trace: Annotated[Path, typer.Option(help="CSV with the columns t (s), rate (rows/s).", metavar="TRACE.CSV")],
    at: Annotated[float, typer.Option(help="The time of the failure in the trace, in seconds.")],
    capacity: Annotated[float, typer.Option(help="The capacity of the job in rows per second.")],
    interval: Annotated[float, typer.Option(help="The checkpoint interval in seconds, which is processed again.")],
    downtime: Annotated[float, typer.Option(help="Seconds from the failure until the job processes again.")],
    lag: Annotated[float, typer.Option(help="Rows that already waited at the failure.")] = 0.0,
    as_json: JsonOption = False,
    plot: PlotOption = None,
) -> None:
    """Predict how long a job takes to recover from a failure.

    The failure strikes just before a checkpoint, which is the worst case (Phoebe, section III-B).
    """
    finite(at=at, capacity=capacity, interval=interval, downtime=downtime, lag=lag)
    needed(0, capacity=capacity, interval=interval, downtime=downtime, lag=lag)
    arrivals = read_trace(trace)
    if not arrivals.time_s[0] <= at <= arrivals.last_s:
        raise UserMistake(f"--at: found {at:g}, the trace goes from {arrivals.time_s[0]:g} s to {arrivals.last_s:g} s")
    outage = Outage(at_s=at, interval_s=interval, downtime_s=downtime, lag_rows=lag)
    took_s = recovery_s(arrivals, at, capacity, interval, downtime, lag)
    refuse_a_gap(trace, arrivals, at - interval, at + took_s)

    def draw(path: Path) -> None:
        from penstock.dashboard.fit_charts import draw_recovery

        draw_recovery(path, trace.name, arrivals, outage, capacity, took_s)

    found = as_object(arrivals, outage, capacity, took_s)
    present(Report(title=f"a failure at {at:g} s", found=found, rows=as_rows(found, arrivals, outage, capacity), draw=draw), as_json, plot)


def refuse_a_gap(trace: Path, arrivals: Arrivals, start_s: float, end_s: float) -> None:
    """Refuse a gap in the time that the answer covers if it is too long to interpolate and longer than nearly all other gaps of the trace."""
    apart_s = np.diff(arrivals.time_s)
    longest_s = max(LONGEST_GAP_S, USUAL_GAPS * float(np.quantile(apart_s, NEARLY_ALL))) if len(apart_s) else LONGEST_GAP_S
    first, last = bisect_right(arrivals.time_s, start_s) - 1, bisect_left(arrivals.time_s, end_s)
    silent = np.flatnonzero(apart_s[max(0, first) : last] > longest_s)
    if len(silent):
        before_s, after_s = arrivals.time_s[max(0, first) + int(silent[0]) :][:2]
        raise UserMistake(f"{trace}: no rate is known from {before_s:g} s to {after_s:g} s, which the answer needs; fill the gap or take another --at")


def as_object(arrivals: Arrivals, outage: Outage, capacity: float, took_s: float) -> dict[str, Any]:
    rate, share = arrivals.rate(outage.at_s), continued_share(arrivals, outage.at_s, took_s)
    return {
        "recovery_s": took_s,
        "after_checkpoint_s": recovery_s(arrivals, outage.at_s, capacity, 0.0, outage.downtime_s, outage.lag_rows),
        "downtime_s": outage.downtime_s,
        "rate": rate,
        "utilization": rate / capacity if capacity else None,
        "long_run_rate": arrivals.long_run_rate,
        "beyond_trace": share > 0,
        "continued_share": share,
        "beyond_horizon": took_s > TRUSTED_S,
    }


def as_rows(found: dict[str, Any], arrivals: Arrivals, outage: Outage, capacity: float) -> list[tuple[str, str]]:
    took_s, long_run = found["recovery_s"], f"{arrivals.long_run_rate:,.0f} rows/s"
    never = f"never: {long_run} go on arriving at the end of the trace, the capacity is {capacity:,.0f} rows/s"
    rows = [
        ("recovery", never if took_s == math.inf else f"{took_s:,.1f} s"),
        ("  of this, down", f"{outage.downtime_s:,.1f} s"),
        ("  just after a checkpoint", "never" if found["after_checkpoint_s"] == math.inf else f"{found['after_checkpoint_s']:,.1f} s"),
        ("rate at the failure", f"{found['rate']:,.0f} rows/s, {found['utilization']:.0%} of the capacity" if capacity else "no capacity"),
    ]
    if found["beyond_trace"] and took_s < math.inf:
        rows.append(("note", f"{found['continued_share']:.0%} of it is beyond the end of the trace, where {long_run} are taken to go on arriving"))
    if TRUSTED_S < took_s < math.inf:
        rows.append(("note", f"longer than {TRUSTED_S / 60:.0f} min: a forecast made at the failure would not reach so far"))
    return rows
