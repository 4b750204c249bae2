"""`penstock audit`: what a policy would have saved on jobs that never ran under Penstock, from Spark's own event logs."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.cli import complain
from penstock.cli.histories import last_of
from penstock.cli.report import JsonOption, PlotOption, bar, draw_into, known, needed
from penstock.cli.simulate_options import ALL, LEAST_LAST_S, USUAL_LAST, SeedOption, policies_of, promises_of
from penstock.cli.simulated import left_out_rows, like_rows
from penstock.cli.terminal import Whole, titled
from penstock.cli.whatif_table import error_rows, error_words, kept_object, kept_words
from penstock.cli.whatif_table import object_of as what_if_object
from penstock.core.domain.units import duration_words
from penstock.core.errors import UserMistake
from penstock.eventlog.log_files import event_logs
from penstock.hindsight.audit import HOUR_S, AuditAsked, Audited, Skipped, audit_all
from penstock.hindsight.whatif import confidence


def audit(
    paths: Annotated[list[Path], typer.Argument(help="Event logs of Spark, rolling folders (eventlog_v2_*), or folders of them.", metavar="PATH...")],
    policy: Annotated[str, typer.Option(help="The policies to try, or all of them.", metavar="NAME,...|all")] = ALL,
    target_recovery: Annotated[float | None, typer.Option(help="The promised recovery time in seconds.")] = None,
    promise_latency_ms: Annotated[float | None, typer.Option(help="The promised p95 latency in milliseconds.")] = None,
    longest_batch: Annotated[float, typer.Option(help="The longest batch in seconds if no latency is promised (0: two triggers, at least 10).")] = 0.0,
    max_executors: Annotated[int | None, typer.Option(help="The maximum number of executors (default: that of the job).")] = None,
    downtime: Annotated[float | None, typer.Option(help="Seconds from the request of an executor until it is ready (5).")] = None,
    last: Annotated[str, typer.Option(help="Audit only the last part of each log.", metavar="DURATION")] = USUAL_LAST,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    plot: PlotOption = None,
) -> None:
    """Audit Spark event logs of streaming jobs. Prints the executor-hours wasted, the promises at risk, and what each policy would have saved."""
    needed(0, above=True, target_recovery=target_recovery, promise_latency_ms=promise_latency_ms)
    needed(0, downtime=downtime, longest_batch=longest_batch)
    needed(1, max_executors=max_executors)
    asked = AuditAsked(
        policies=policies_of(policy),
        promises=promises_of(promise_latency_ms, target_recovery, None),
        longest_batch_s=longest_batch,
        max_executors=max_executors,
        up_s=downtime,
        last_s=last_of(last, LEAST_LAST_S),
        seed=seed,
    )
    logs = list(event_logs(paths))
    if not logs:
        raise UserMistake(f"{', '.join(map(str, paths))}: there is no event log in it; Spark writes them where spark.eventLog.dir says")
    with bar("percent of the event logs") as progress:
        audited, skipped = audit_all(logs, asked, lambda share: progress(round(100 * share), 100))
    if not audited:
        raise UserMistake(*(f"{each.path}: {each.why}" for each in skipped))
    present_audit(audited, skipped, as_json=as_json, plot=plot)


JOBS = ("lasted", "rows/s", "executors", "had h", "needed h", "wasted h", "short h", "batch p95 s", "latency p95 s", "above promise", "confidence")
POLICIES = ("executor-hours", "±", "saves h", "±", "executors", "rescales", "p95 ms", "within", "broken s")

JOBS_PARTS, POLICIES_PARTS = (7, 4), (4, 5)
"""Columns of cost, then columns of promises, where a table is split."""


def present_audit(audited: Sequence[Audited], skipped: Sequence[Skipped], *, as_json: bool, plot: Path | None) -> None:
    """Print tables or one JSON object; logs that could not be audited go to standard error, or into the object."""
    if as_json:
        left = [{"path": str(each.path), "why": each.why} for each in skipped]
        typer.echo(json.dumps(known({"jobs": [object_of(each) for each in audited], "skipped": left})))
    else:
        show(audited)
        for each in skipped:
            complain(f"{each.path}: {each.why}")

    def draw(path: Path) -> None:
        from penstock.dashboard.simulation_charts import draw_audited

        draw_audited(path, audited)

    draw_into(plot, draw, as_json)


def show(audited: Sequence[Audited]) -> None:
    console = Console()
    console.print(Whole(jobs_table(audited), JOBS_PARTS))
    for each in audited:
        console.print()
        console.print(Whole(policies_table(each), POLICIES_PARTS))
        found, risks = each.what_if, [("at risk", risk) for risk in each.risks]
        for what, words in (*left_out_rows(found.left_out), *error_rows(found), *risks, like_rows(found.like)[0], ("confidence", str(confidence(found)))):
            typer.echo(f"{what}: {words}")
        for note in each.notes:
            typer.echo(f"note: {note}")


def jobs_table(audited: Sequence[Audited]) -> Table:
    table = titled(f"{len(audited)} streaming job{'s' if len(audited) > 1 else ''}, in executor-hours", "job", JOBS)
    for each in audited:
        ran = each.ran
        spent = map(hours, (each.had_s, each.needed_s, each.wasted_s, each.short_s))
        late = map(seconds, (each.batch_p95_s, None if ran.latency is None else ran.latency.p95_s))
        above = "" if ran.within_promise is None else f"{1 - ran.within_promise:.1%}"
        size = duration_words(round(ran.duration_s)), f"{each.rows_per_s:,.0f}", f"{ran.average_executors:.1f}"
        table.add_row(*map(Text, (title(each), *size, *spent, *late, above, confidence(each.what_if).level)))
    return table


def policies_table(each: Audited) -> Table:
    found = each.what_if
    table = titled(title(each), "policy", POLICIES)
    for run in found.runs:
        report, error = run.report, found.error_executor_s(run)
        off = error_words(found, None if error is None else hours(error))
        _, p95, _, within, broken = kept_words(found.kept(run))
        cost = hours(report.executor_s), off, hours(found.saved_executor_s(run)), off
        table.add_row(*map(Text, (run.policy, *cost, f"{report.average_executors:.2f}", f"{report.rescales}", p95, within, broken)))
    return table


def title(each: Audited) -> str:
    return f"{each.name} ({each.app_id})" if each.app_id else each.name


def hours(of_s: float | None) -> str:
    """
    >>> hours(5400.0), hours(90.0), hours(None)
    ('1.5', '0.025', '?')
    """
    if of_s is None:
        return "?"
    value = of_s / HOUR_S
    return f"{value:,.1f}" if abs(value) >= 1 else f"{value:.2g}"


def seconds(of_s: float | None) -> str:
    return "" if of_s is None else f"{of_s:,.1f}"


def object_of(each: Audited) -> dict[str, Any]:
    """Return the JSON object of a job; it holds what `penstock replay --json` prints."""
    ran = each.ran
    return {
        "path": str(each.path),
        "job": each.name,
        "application_id": each.app_id,
        "duration_s": ran.duration_s,
        "rows_per_s": each.rows_per_s,
        "average_executors": ran.average_executors,
        "rescales": ran.rescales,
        "executor_hours": {"had": each.had_s / HOUR_S, "needed": each.needed_s / HOUR_S, "wasted": each.wasted_s / HOUR_S, "short": each.short_s / HOUR_S},
        "batch_p95_s": each.batch_p95_s,
        "latency_ms": kept_object(ran)["latency_ms"],
        "above_promise": None if ran.within_promise is None else 1 - ran.within_promise,
        "at_risk": list(each.risks),
        **{name: value for name, value in what_if_object(each.what_if).items() if name not in ("like", "recorded", "notes")},
        "notes": list(each.notes),
    }
