"""All commands together."""

from __future__ import annotations

from typing import Annotated

import typer

import penstock
from penstock.cli import bench, demo, entry, fit, forecast, history, init, kafka, recovery, run, status, steer

app = typer.Typer(
    no_args_is_help=True, pretty_exceptions_enable=False, add_completion=True, rich_markup_mode=None,
    help="An autopilot for Apache Spark Structured Streaming.",
)  # fmt: skip


def show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"penstock {penstock.__version__}")
        raise typer.Exit


@app.callback()
def options(version: Annotated[bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version.")] = False) -> None:
    pass


app.command("init")(init.init)
app.command("run")(run.run)
app.command("status")(status.status)
app.command("scale")(steer.scale)
app.command("trigger")(steer.trigger)
app.command("rate-limit")(steer.rate_limit)
app.command("partitions")(steer.partitions)
app.command("rate")(steer.rate)
app.command("release")(steer.release)
app.command("history")(history.history)
app.command("entry")(entry.entry)
app.command("demo")(demo.demo)
app.command("forecast")(forecast.forecast)
app.command("recovery")(recovery.recovery)
app.add_typer(fit.app, name="fit")
app.add_typer(bench.app, name="bench")
app.add_typer(kafka.app, name="kafka")
