"""`penstock status`: the current state of a running job, from another terminal."""

import json
from typing import Any

import typer
from rich.console import Console

from penstock.cli.jobs import JobOption, running_job
from penstock.cli.pilot import Pilot
from penstock.cli.report import JsonOption
from penstock.cli.screen import ViewState, render
from penstock.cli.terminal import clock_time
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.reading import Reading
from penstock.core.domain.units import duration_words
from penstock.stores.codec import decode

EVENTS_SHOWN = 8


def status(job: JobOption = None, as_json: JsonOption = False) -> None:
    """Show the current state of a running job."""
    state = running_job(job).ask("status")
    if as_json:
        typer.echo(json.dumps(state))
        return
    show(Console(), state)


def show(console: Console, state: dict[str, Any]) -> None:
    view = ViewState(job=state["job"], pilot=Pilot.of(state["autopilot"]), master=state["master"], promises=Promises(**state["promises"]))
    if state["reading"] is None:
        console.print(f"job {state['job']} is starting")
        return
    reading = decode(Reading, json.dumps(state["reading"]))
    console.print(render(view.after(reading, (), str)))
    if state["report"]:
        console.print(report_words(state["report"]), markup=False, highlight=False, soft_wrap=True)
    for feed in state["feeds"]:
        console.print(feed_words(feed), markup=False, highlight=False)
    for hold in state["holds"]:
        console.print(
            f"{hold['knob']} held at {hold['value']} by {hold['who']} for {duration_words(max(0, round(hold['until_s'] - reading.at_s)))} more", markup=False
        )
    for event in [each for each in state["events"] if not each["routine"]][-EVENTS_SHOWN:]:
        console.print(f"  {clock_time(event['at_s'])}  {event['words']}", markup=False, highlight=False, soft_wrap=True)
    if state["metrics"]:
        console.print(f"metrics: {state['metrics']}   history: {state['history']}", markup=False, highlight=False, soft_wrap=True)


def report_words(report: dict[str, Any]) -> str:
    """Say what the run cost and kept lately.

    >>> report_words({"duration_s": 600.0, "executor_s": 1500.0, "average_executors": 2.5, "within_promise": 0.981, "violation_s": 15.0})
    'last 10m: 1,500 executor-seconds, 2.5 executors on average, 98% of rows within the promise, promises broken for 15 s'
    """
    kept = "" if report["within_promise"] is None else f", {report['within_promise']:.0%} of rows within the promise"
    broken = "" if report["violation_s"] is None else f", promises broken for {report['violation_s']:,.0f} s"
    cost = f"{report['executor_s']:,.0f} executor-seconds, {report['average_executors']:.3g} executors on average"
    return f"last {duration_words(round(report['duration_s'])) or '0s'}: {cost}{kept}{broken}"


def feed_words(feed: dict[str, Any]) -> str:
    """Say how far a feeder has come.

    >>> feed_words({"topic": "clicks", "sent_rows": 12000, "rate_rows_per_s": 2000.0, "behind_s": 0.0, "worst_behind_s": 0.25})
    'feed clicks: 12,000 rows sent, 2,000/s now, 0.0 s behind its trace (at most 0.2 s so far)'
    """
    behind = f"{feed['behind_s']:.1f} s behind its trace (at most {feed['worst_behind_s']:.1f} s so far)"
    return f"feed {feed['topic']}: {feed['sent_rows']:,.0f} rows sent, {feed['rate_rows_per_s']:,.0f}/s now, {behind}"
