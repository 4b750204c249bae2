"""`penstock entry`: the script to give to spark-submit."""

from __future__ import annotations

from importlib.resources import files

import typer


def entry() -> None:
    """Print the path of the script that spark-submit runs: spark-submit --master yarn "$(penstock entry)" run job.toml"""
    typer.echo(str(files("penstock") / "__main__.py"))
