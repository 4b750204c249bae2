"""Show the result of a what-if: the recorded run, the same executors simulated, and a row for each policy."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.cli.report import draw_into, known
from penstock.cli.simulated import as_object, left_out_rows, like_object, like_rows
from penstock.cli.terminal import Whole, titled
from penstock.core.report.run_report import RunReport
from penstock.hindsight.whatif import WhatIf, confidence, error_reasons, is_at_least
from penstock.wiring.simulation import Simulated

COLUMNS = ("executor-seconds", "±", "executors", "rescales", "saves", "p50 ms", "p95 ms", "p99 ms", "within", "broken s")
PARTS = (5, 5)
"""Columns of cost, then columns of promises, where the table is split."""
RECORDED, AGAIN = "as recorded", "the same executors, simulated"


def present_what_if(found: WhatIf, *, as_json: bool, plot: Path | None) -> None:
    if as_json:
        typer.echo(json.dumps(known(object_of(found))))
    else:
        Console().print(Whole(table_of(found), PARTS))
        for what, words in (*left_out_rows(found.left_out), *error_rows(found), *like_rows(found.like), ("confidence", str(confidence(found)))):
            typer.echo(f"{what}: {words}")

    def draw(path: Path) -> None:
        from penstock.dashboard.simulation_charts import draw_simulated

        draw_simulated(path, found.like.name, found.runs)

    draw_into(plot, draw, as_json)


def object_of(found: WhatIf) -> dict[str, Any]:
    level = confidence(found)
    return {
        **like_object(found.like),
        "off": found.off,
        "confidence": {"level": level.level, "reasons": list(level.reasons)},
        "recorded": ran_object(found.recorded),
        "again": ran_object(found.again),
        "policies": [policy_object(found, run) for run in found.runs],
        "left_out": list(map(asdict, found.left_out)),
    }


def ran_object(ran: RunReport) -> dict[str, Any]:
    return {
        "duration_s": ran.duration_s,
        "worker_seconds": ran.executor_s,
        "average_workers": ran.average_executors,
        "rescales": ran.rescales,
        **kept_object(ran),
    }


def kept_object(ran: RunReport) -> dict[str, Any]:
    latency = None if ran.latency is None else {name: 1000 * getattr(ran.latency, f"{name}_s") for name in ("p50", "p95", "p99")}
    return {"latency_ms": latency, "within_latency": ran.within_promise, "violation_s": ran.violation_s}


def policy_object(found: WhatIf, run: Simulated) -> dict[str, Any]:
    """Return the result of a policy: its promises, measured like the recorded run if possible, and its savings with their error if known."""
    simulated, kept = as_object(run), {key: value for key, value in kept_object(found.kept(run)).items() if value is not None}
    latency_ms = {**simulated["latency_ms"], **kept.get("latency_ms", {})}
    saved, error = found.saved_executor_s(run), found.error_executor_s(run)
    at_least = error is None or is_at_least(found)
    return {**simulated, **kept, "latency_ms": latency_ms, "saved_worker_seconds": saved, "error_worker_seconds": error, "error_is_at_least": at_least}


def table_of(found: WhatIf) -> Table:
    table = titled(f"what if, on {found.like.name}", "policy", COLUMNS)
    for name, ran in ((RECORDED, found.recorded), (AGAIN, found.again)):
        table.add_row(*map(Text, (name, f"{ran.executor_s:,.0f}", "", f"{ran.average_executors:.2f}", f"{ran.rescales}", "", *kept_words(ran))))
    for run in found.runs:
        report, error = run.report, found.error_executor_s(run)
        within = error_words(found, None if error is None else f"{error:,.0f}")
        cost = (f"{report.executor_s:,.0f}", within, f"{report.average_executors:.2f}", f"{report.rescales}", saves_words(found, run))
        table.add_row(*map(Text, (run.policy, *cost, *kept_words(found.kept(run)))))
    return table


def error_words(found: WhatIf, error: str | None) -> str:
    return "?" if error is None else f"≥ {error}" if is_at_least(found) else error


def error_rows(found: WhatIf) -> list[tuple[str, str]]:
    return [("±", why) for why in error_reasons(found)]


def saves_words(found: WhatIf, run: Simulated) -> str:
    saved, had_s = found.saved_executor_s(run), found.recorded.average_executors * run.report.duration_s
    return "?" if saved is None else f"{saved / had_s:+.0%}" if had_s else ""


def kept_words(ran: RunReport) -> tuple[str, ...]:
    """Quantiles of the latency in milliseconds, the share within the promise, and for how long promises were broken."""
    latency = ("", "", "") if ran.latency is None else tuple(f"{1000 * each:,.0f}" for each in (ran.latency.p50_s, ran.latency.p95_s, ran.latency.p99_s))
    within = "" if ran.within_promise is None else f"{ran.within_promise:.1%}"
    return (*latency, within, "" if ran.violation_s is None else f"{ran.violation_s:,.0f}")
