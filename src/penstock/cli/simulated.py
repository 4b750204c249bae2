"""Show the results of simulations: one run as a list, several side by side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.cli.engine_options import CONTINUOUS, MICRO_BATCH
from penstock.cli.report import Report, draw_into, known, present
from penstock.cli.terminal import Whole
from penstock.core.domain.events.autopilot_events import TargetFeasible, TargetInfeasible
from penstock.core.report.run_report import RunReport
from penstock.wiring.setup import LeftOut
from penstock.wiring.simulation import Failure, Simulated

if TYPE_CHECKING:
    from penstock.hindsight.whatif import Like


def present_runs(
    name: str, runs: Sequence[Simulated], *, together: bool, left_out: Sequence[LeftOut] = (), like: Like | None, as_json: bool, plot: Path | None
) -> None:
    """Show all runs of one trace, side by side if `together`, with the policies left out and the error of a simulator calibrated by a recorded job."""
    found, rows = ({}, []) if like is None else (like_object(like), like_rows(like))

    def draw(path: Path) -> None:
        from penstock.dashboard.simulation_charts import draw_simulated

        draw_simulated(path, name, runs)

    if not together:
        (run,) = runs
        notes = [*notes_of(run), *found.get("notes", [])]
        title, found, rows = f"{run.policy} on {name}", {**as_object(run), **found, "notes": notes}, [*as_rows(run), *rows]
        present(Report(title=title, found=found, rows=rows, draw=draw), as_json, plot)
        return
    if as_json:
        typer.echo(json.dumps(known({"policies": [as_object(run) for run in runs], "left_out": list(map(asdict, left_out)), **found})))
    else:
        Console().print(Whole(side_by_side(name, runs), (3, 7)))
        for what, words in [*left_out_rows(left_out), *rows, *((run.policy, note) for run in runs for note in notes_of(run))]:
            typer.echo(f"{what}: {words}")
    draw_into(plot, draw, as_json)


def left_out_rows(left_out: Sequence[LeftOut]) -> list[tuple[str, str]]:
    """Return one row for all policies left out for the same reason.

    >>> left_out_rows([LeftOut(policy="phoebe", why="nothing arrives"), LeftOut(policy="twres", why="nothing arrives")])
    [('left out', 'phoebe, twres: nothing arrives')]
    """
    reasons = dict.fromkeys(each.why for each in left_out)
    return [("left out", f"{', '.join(each.policy for each in left_out if each.why == why)}: {why}") for why in reasons]


def like_object(like: Like) -> dict[str, Any]:
    return {"like": like.name, "own_error": asdict(like.error), "notes": list(like.found.notes)}


def like_rows(like: Like) -> list[tuple[str, str]]:
    """Return the error of the simulator on the recorded run itself."""

    def off(share: float | None) -> str:
        return "unknown" if share is None else f"{share:+.1%}"

    error = f"executors {off(like.error.executors)}, p95 {off(like.error.latency_p95)}, throughput {off(like.error.throughput)}"
    return [("simulator on the recorded run", error), *(("note", note) for note in like.found.notes)]


def notes_of(run: Simulated) -> list[str]:
    """Return the events about targets that no number of executors can meet."""
    named = (event for event in run.events if isinstance(event, TargetInfeasible | TargetFeasible))
    return [f"from {event.at_s:,.0f} s on {event.words()}" for event in named]


def as_object(run: Simulated) -> dict[str, Any]:
    report = run.report
    found = {
        "policy": run.policy,
        "engine": CONTINUOUS if run.setup.is_continuous else MICRO_BATCH,
        "duration_s": report.duration_s,
        "worker_seconds": report.executor_s,
        "average_workers": report.average_executors,
        "rescales": report.rescales,
        "latency_ms": latency_object(report),
        "within_latency": report.within_promise,
        "waiting_rows": report.waiting_rows,
        "oldest_waiting_s": report.oldest_waiting_s,
        "failures": [{"at_s": each.at_s, "predicted_s": each.predicted_s, "measured_s": each.measured_s} for each in run.failures],
        "violation_s": report.violation_s or 0.0,
        "profiling_worker_seconds": run.profiling_executor_s,
        "seed": run.setup.seed,
        "notes": notes_of(run),
    }
    return {**found, "queries": {name: query_object(each) for name, each in run.queries.items()}} if run.queries else found


def query_object(report: RunReport) -> dict[str, Any]:
    return {
        "arrived_rows": report.arrived_rows,
        "processed_rows": report.processed_rows,
        "latency_ms": latency_object(report),
        "within_latency": report.within_promise,
        "waiting_rows": report.waiting_rows,
        "oldest_waiting_s": report.oldest_waiting_s,
        "violation_s": report.violation_s or 0.0,
    }


def latency_object(report: RunReport) -> dict[str, Any]:
    latency = report.latency
    known: dict[str, float | None] = (
        {} if latency is None else {"mean": report.latency_mean_s, "p50": latency.p50_s, "p95": latency.p95_s, "p99": latency.p99_s}
    )
    return {name: None if (value := known.get(name)) is None else round(1000.0 * value, 3) for name in ("mean", "p50", "p95", "p99")}


def as_rows(run: Simulated) -> list[tuple[str, str]]:
    report, promised = run.report, run.setup.terms.promises
    rows = [
        ("executor-seconds", f"{report.executor_s:,.0f}, {report.average_executors:.2f} executors on average"),
        ("rescales", f"{report.rescales}"),
        ("latency", latency_words(report)),
        *((f"  of {name}", latency_words(each)) for name, each in run.queries.items()),
        *((f"failure at {each.at_s:,.0f} s", failure_words(each)) for each in run.failures),
        ("waiting at the end", f"{report.waiting_rows:,.0f} rows, the oldest for {report.oldest_waiting_s:,.1f} s"),
        ("promises broken for", f"{report.violation_s or 0.0:,.0f} s"),
    ]
    if report.within_promise is not None and promised.latency_p95_s is not None:
        rows.insert(3 + len(run.queries), (f"  within {1000 * promised.latency_p95_s:,.0f} ms", f"{report.within_promise:.2%} of all rows"))
    if run.profiling_executor_s is not None:
        rows.append(("profiling before it", f"{run.profiling_executor_s:,.0f} executor-seconds"))
    return [*rows, *(("note", note) for note in notes_of(run))]


def latency_words(report: RunReport) -> str:
    if report.latency is None:
        return "no row was finished"
    ms = latency_object(report)
    return f"mean {ms['mean']:,.0f} ms, p50 {ms['p50']:,.0f}, p95 {ms['p95']:,.0f}, p99 {ms['p99']:,.0f}"


def failure_words(failure: Failure) -> str:
    """
    >>> failure_words(Failure(at_s=1200.0, predicted_s=None, measured_s=61.5))
    'recovered after 62 s, nothing was predicted'
    """
    measured = "not recovered by the end" if failure.measured_s is None else f"recovered after {failure.measured_s:,.0f} s"
    return f"{measured}, {'nothing was predicted' if failure.predicted_s is None else f'{failure.predicted_s:,.0f} s were predicted'}"


def side_by_side(name: str, runs: Sequence[Simulated]) -> Table:
    table = Table(title=f"{len(runs)} policies on {name}", title_justify="left", box=None)
    table.add_column("policy")
    for column in ("executor-seconds", "executors", "rescales", "p50 ms", "p95 ms", "p99 ms", "within", "longest recovery s", "broken s", "profiling"):
        table.add_column(column, justify="right")
    for run in runs:
        report = run.report
        measured = [each.measured_s for each in run.failures]
        recovery = "" if not measured else "never" if None in measured else f"{max(each for each in measured if each is not None):,.0f}"
        within = "" if report.within_promise is None else f"{report.within_promise:.1%}"
        latency = ["", "", ""] if report.latency is None else [f"{latency_object(report)[each]:,.0f}" for each in ("p50", "p95", "p99")]
        cost = f"{report.executor_s:,.0f}", f"{report.average_executors:.2f}", f"{report.rescales}"
        profiling = "" if run.profiling_executor_s is None else f"{run.profiling_executor_s:,.0f}"
        table.add_row(*map(Text, (run.policy, *cost, *latency, within, recovery, f"{report.violation_s or 0.0:,.0f}", profiling)))
    return table
