"""`penstock validate`: check a job file and the code it names without running it."""

import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from penstock.cli import EXIT_MISTAKE, EXIT_OK
from penstock.cli.report import JsonOption
from penstock.cli.terminal import pairs_of
from penstock.core.domain.job_spec import JobSpec
from penstock.core.domain.units import duration_words
from penstock.core.errors import PenstockError, UserMistake
from penstock.core.redaction import Redactor
from penstock.runtime.jobfile import Examined, examine_job
from penstock.runtime.jobfile.own_policy import import_words


def validate(job: Annotated[Path, typer.Argument(help="The job file.", metavar="JOB.TOML")], as_json: JsonOption = False) -> None:
    """Check a job file and load its functions without Spark. Prints what would run; or prints each mistake on a line and exits with code 2."""
    summary: dict[str, Any] | None = None
    try:
        found = examine_job(job)
        check_code(found)
        redactor = Redactor(found.job.secrets)
        mistakes = [redactor.text(line) for line in found.mistakes.lines]
        if not mistakes:
            summary = redactor.tree(summary_of(found.job.spec))
    except PenstockError as error:
        mistakes = str(error).splitlines()
    if as_json:
        typer.echo(json.dumps({"file": str(job), "valid": not mistakes, "mistakes": mistakes, "job": summary}))
        raise typer.Exit(EXIT_MISTAKE if mistakes else EXIT_OK)
    if summary is None:
        raise UserMistake(*mistakes)
    show(Console(), job, summary)


def check_code(found: Examined) -> None:
    """Load the code that `penstock run` would load, and add its mistakes; what the code prints goes to standard error."""
    from penstock.spark.refusals import refuse_other_spark

    refuse_other_spark()
    from penstock.wiring.running_job import code_checks, spark_may_come_later

    found.mistakes.settle()
    for keys, check in code_checks(found.job.spec):
        try:
            with redirect_stdout(sys.stderr), spark_may_come_later():
                check()
        except UserMistake as mistake:
            for line in str(mistake).splitlines():
                found.mistakes.repeat(keys, line)
        except (Exception, SystemExit) as error:
            found.mistakes.add(keys, import_words(error))


def summary_of(spec: JobSpec) -> dict[str, Any]:
    limits, promises, autopilot = spec.limits, spec.promises, spec.autopilot
    return {
        "name": spec.name,
        "master": spec.master,
        "queries": [
            {
                "name": query.name,
                "function": query.function,
                "sources": list(query.sources),
                "trigger": str(query.trigger),
                "sink": query.sink.format or str(query.sink.foreach_batch),
            }
            for query in spec.queries
        ],
        "limits": {"min_executors": limits.min_executors, "max_executors": limits.max_executors, "start_executors": limits.first},
        "promises": {"latency_p95_s": promises.latency_p95_s, "recovery_s": promises.recovery_s},
        "mode": autopilot.mode,
        "policy": autopilot.policy,
        "parameters": dict(autopilot.parameters),
    }


def show(console: Console, file: Path, summary: dict[str, Any]) -> None:
    console.print(f"{file} is valid", style="bold", markup=False, highlight=False, soft_wrap=True)
    console.print(pairs_of(rows_of(summary)))


def rows_of(summary: dict[str, Any]) -> list[tuple[str, str]]:
    limits, promises = summary["limits"], summary["promises"]
    times = {"latency p95": promises["latency_p95_s"], "recovery": promises["recovery_s"]}
    promised = ", ".join(f"{name} {duration_words(seconds)}" for name, seconds in times.items() if seconds is not None)
    parameters = ", ".join(f"{name} = {value:g}" for name, value in summary["parameters"].items())
    return [
        ("job", f"{summary['name']} on {summary['master'] or 'the master that spark-submit gives'}"),
        *((f"query {each['name']}", f"{', '.join(each['sources'])} -> {each['sink']}, trigger {each['trigger']}") for each in summary["queries"]),
        ("executors", f"{limits['min_executors']} to {limits['max_executors']}, {limits['start_executors']} at the start"),
        ("promises", promised or "none"),
        ("autopilot", f"{summary['mode']}, policy {summary['policy']}{f' ({parameters})' if parameters else ''}"),
    ]
