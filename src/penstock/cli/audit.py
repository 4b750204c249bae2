"""`penstock audit`: what a policy would have saved on jobs that never ran under Penstock, from Spark's own event logs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.audited import present_audit
from penstock.cli.progress import bar
from penstock.cli.report import JsonOption, PlotOption
from penstock.cli.simulate_options import ALL, USUAL_LAST, last_of, needed, parameters_of, policies_of
from penstock.core.domain.job import Promises
from penstock.core.errors import UserMistake
from penstock.eventlog.files import event_logs
from penstock.hindsight.audit import AuditAsked, audit_all


def audit(
    paths: Annotated[list[Path], typer.Argument(help="Event logs of Spark, rolling folders (eventlog_v2_*), or folders of them.", metavar="PATH...")],
    policy: Annotated[str, typer.Option(help="A policy by its name, or all of them.", metavar="NAME|all")] = ALL,
    target_recovery: Annotated[float | None, typer.Option(help="Seconds within which the jobs are to recover.")] = None,
    promise_latency_ms: Annotated[float | None, typer.Option(help="The latency that is promised.")] = None,
    max_executors: Annotated[int | None, typer.Option(help="The most executors (those that the job had).")] = None,
    downtime: Annotated[float | None, typer.Option(help="Seconds until an executor that is asked for is ready (5).")] = None,
    last: Annotated[str, typer.Option(help="Only the last so long of each log.", metavar="DURATION")] = USUAL_LAST,
    seed: Annotated[int, typer.Option(help="Another seed is another run of chance.")] = 0,
    as_json: JsonOption = False,
    plot: PlotOption = None,
) -> None:
    """Read event logs of streaming jobs: executor-hours wasted, promises at risk, and what each policy would have saved."""
    needed(0, above=True, target_recovery=target_recovery, promise_latency_ms=promise_latency_ms)
    needed(0, downtime=downtime)
    needed(1, max_executors=max_executors)
    parameters_of(policy, [])
    asked = AuditAsked(
        policies=policies_of(policy),
        promises=Promises(latency_p95_s=None if promise_latency_ms is None else promise_latency_ms / 1000, recovery_s=target_recovery),
        max_executors=max_executors,
        up_s=downtime,
        last_s=last_of(last),
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
