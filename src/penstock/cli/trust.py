"""What people say to the policy: approve, reject, pause, resume."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from penstock.cli.cells import day_time
from penstock.cli.jobs import JobOption, running_job
from penstock.cli.report import JsonOption
from penstock.cli.steer import WaitOption, asked, follow
from penstock.core.domain.units import parse_duration_s

NumberArgument = Annotated[int | None, typer.Argument(help="Which proposal; the open one if none is named.", metavar="NUMBER", show_default=False)]


def approve(number: NumberArgument = None, job: JobOption = None, wait: WaitOption = True, as_json: JsonOption = False) -> None:
    """Let a proposal of the policy happen (mode "ask")."""
    remote = running_job(job)
    answer = asked(remote, "approve", proposal=number)
    tell(answer, as_json)
    if wait and answer["numbers"] and not as_json:
        follow(remote, answer["numbers"])


def reject(number: NumberArgument = None, job: JobOption = None, as_json: JsonOption = False) -> None:
    """Refuse a proposal; the same size is not proposed again for a while."""
    tell(asked(running_job(job), "reject", proposal=number), as_json)


def pause(
    span: Annotated[str | None, typer.Option("--for", help="Pause for so long (default: until `penstock resume`).", metavar="DURATION")] = None,
    reason: Annotated[str, typer.Option("--reason", help="Why; it is written down.", metavar="WORDS")] = "",
    job: JobOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let the policy decide nothing; the size stays as it is."""
    hold_s = None if span is None else parse_duration_s(span)
    tell(asked(running_job(job), "pause", hold_s=hold_s, reason=reason), as_json)


def resume(job: JobOption = None, as_json: JsonOption = False) -> None:
    """Let the policy decide again, at once."""
    tell(asked(running_job(job), "resume"), as_json)


def tell(answer: dict[str, Any], as_json: bool) -> None:
    """What the job said to it."""
    if as_json:
        typer.echo(json.dumps(answer))
        return
    for line in answer["said"]:
        typer.echo(line)
    until_s = answer.get("paused_until_s")
    if until_s is not None:
        typer.echo(f"it decides again from {day_time(until_s)} on, or after penstock resume")
