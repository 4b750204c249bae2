"""All commands together."""

from __future__ import annotations

from typing import Annotated

import typer

import penstock
from penstock.cli.commands import Commands

app = typer.Typer(
    cls=Commands,
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
