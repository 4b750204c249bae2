"""Commands to a running job from another terminal: set and release a value, approve and reject a proposal, pause and resume the policy."""

import json
import time
from collections.abc import Callable
from typing import Annotated, Any

import typer
from rich.console import Console

from penstock.cli import EXIT_INTERNAL
from penstock.cli.jobs import JobOption, running_job
from penstock.cli.report import JsonOption
from penstock.cli.terminal import day_time
from penstock.core.domain.knobs import Applied, Knob, knob_set_by
from penstock.core.domain.units import parse_duration_s
from penstock.core.errors import Refused, UserMistake
from penstock.core.shapes.schedule import Override
from penstock.remote import RemoteJob

QueryOption = Annotated[str | None, typer.Option("--query", help="Only this query; else all of the job.", metavar="NAME")]
HoldOption = Annotated[str | None, typer.Option("--for", help="Hold the value for this time (default: an hour).", metavar="DURATION")]
WaitOption = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until it is done.")]

HOW: dict[Applied, str] = {
    "live": "Queries keep running; with fewer executors, queries in Real-Time Mode stop and start once.",
    "after a commit": "The query stops right after a commit and starts again from its checkpoint.",
    "at a boundary": "The change waits for the boundary of a batch.",
    "by re-partitioning": "The query stops right after a commit, its state is re-partitioned, and it starts again.",
}


def setter(knob: Knob) -> Callable[..., None]:
    """Return the command that sets a knob of the table on a running job."""
    value: Any = Annotated[str, typer.Argument(help=f"The new value, such as {knob.example}: {knob.bounds}.", metavar=knob.name.upper())]

    def job(value: str, job: JobOption = None, hold: HoldOption = None, wait: WaitOption = True) -> None:
        send(knob, value, None, job, hold, wait)

    def query(value: str, job: JobOption = None, query: QueryOption = None, hold: HoldOption = None, wait: WaitOption = True) -> None:
        send(knob, value, query, job, hold, wait)

    command: Callable[..., None] = job if knob.scope == "job" else query
    command.__annotations__["value"] = value
    command.__doc__ = f"Set the {knob.meaning}.\n\n{HOW[knob.applied]}"
    return command


def send(knob: Knob, value: str, query: str | None, job: str | None, hold: str | None, wait: bool) -> None:
    knob.parse(value)
    of_query = {} if knob.scope == "job" else {"query": query}
    steer(running_job(job), knob.command, hold, wait, value=value, **of_query)


def __getattr__(name: str) -> Callable[..., None]:
    """Return the command of a knob: the table of knobs decides which there are."""
    knob = knob_set_by(name)
    if knob is None:
        raise AttributeError(name)
    return setter(knob)


def rate(
    value: Annotated[
        str, typer.Argument(help='The rate, such as "500/s"; "trace" to follow the trace again, "restart" to begin it again, "restart:0.5" at half its rate.')
    ],
    job: JobOption = None,
    source: Annotated[str | None, typer.Option("--source", help="The name of the trace source, or the topic of the feed.", metavar="NAME")] = None,
) -> None:  # fmt: skip
    """Override the rate of a trace source or a feed while the job runs."""
    Override.parse(value, 0.0)
    steer(running_job(job), "rate", None, False, value=value, source=source)


def release(job: JobOption = None) -> None:
    """Release all holds. The values stay until the policy or an operator changes them."""
    said = running_job(job).ask("release")["said"]
    for line in said or ["nothing was held"]:
        typer.echo(line)


def steer(remote: RemoteJob, verb: str, hold: str | None, wait: bool, **arguments: Any) -> None:
    """Send the command to the job, print its answer and wait for the outcome."""
    answer = asked(remote, verb, hold_s=None if hold is None else parse_duration_s(hold), **arguments)
    for line in answer["said"]:
        typer.echo(line)
    if wait and answer["numbers"]:
        follow(remote, answer["numbers"])


def asked(remote: RemoteJob, verb: str, **arguments: Any) -> dict[str, Any]:
    """Return the job's answer; a refusal becomes a UserMistake."""
    try:
        return remote.ask(verb, **arguments)
    except Refused as refusal:
        raise UserMistake(str(refusal)) from None


def follow(remote: RemoteJob, numbers: list[int]) -> None:
    """Wait until these instructions have ended and print their outcomes; exit with code 1 if one failed."""
    with Console().status("waiting until it is done (Ctrl-C stops only the waiting)"):
        while True:
            answer = remote.ask("outcomes", numbers=numbers)
            if not answer["pending"]:
                break
            time.sleep(0.3)
    for words in answer["ended"].values():
        typer.echo(words)
    if answer.get("undone"):
        raise typer.Exit(EXIT_INTERNAL)


NumberArgument = Annotated[int | None, typer.Argument(help="The number of the proposal (default: the open one).", metavar="NUMBER", show_default=False)]


def approve(number: NumberArgument = None, job: JobOption = None, wait: WaitOption = True, as_json: JsonOption = False) -> None:
    """Approve a proposal of the policy (mode "ask")."""
    remote = running_job(job)
    answer = asked(remote, "approve", proposal=number)
    show_answer(answer, as_json)
    if wait and answer["numbers"] and not as_json:
        follow(remote, answer["numbers"])


def reject(number: NumberArgument = None, job: JobOption = None, as_json: JsonOption = False) -> None:
    """Reject a proposal of the policy (mode "ask"). The same change is not proposed again for a while."""
    show_answer(asked(running_job(job), "reject", proposal=number), as_json)


def pause(
    span: Annotated[str | None, typer.Option("--for", help="How long to pause (default: until `penstock resume`).", metavar="DURATION")] = None,
    reason: Annotated[str, typer.Option("--reason", help="The reason; it is recorded in the history.", metavar="WORDS")] = "",
    job: JobOption = None,
    as_json: JsonOption = False,
) -> None:
    """Pause the policy: it decides nothing. Calendar events and the quota still apply."""
    hold_s = None if span is None else parse_duration_s(span)
    show_answer(asked(running_job(job), "pause", hold_s=hold_s, reason=reason), as_json)


def resume(job: JobOption = None, as_json: JsonOption = False) -> None:
    """Resume the policy; it decides at once."""
    show_answer(asked(running_job(job), "resume"), as_json)


def show_answer(answer: dict[str, Any], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(answer))
        return
    for line in answer["said"]:
        typer.echo(line)
    until_s = answer.get("paused_until_s")
    if until_s is not None:
        typer.echo(f"it decides again from {day_time(until_s)} on, or after penstock resume")
