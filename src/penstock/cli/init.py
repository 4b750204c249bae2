"""`penstock init` writes a small job to begin with; `penstock entry` prints the script that spark-submit runs."""

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from penstock.core.errors import UserMistake

FILES = ("job.toml", "job.py")


def init(folder: Annotated[Path, typer.Argument(help="The folder to write the job into.")] = Path()) -> None:
    """Write a commented job.toml with a small job that runs."""
    there = [name for name in FILES if (folder / name).exists()]
    if there:
        raise UserMistake(f"{folder / there[0]} is already there; choose another folder (penstock init FOLDER), nothing was written")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            (folder / name).write_text((files("penstock") / "cli" / "scaffold" / name).read_text())
    except OSError as error:
        raise UserMistake(f"{folder}: cannot be written: {error.strerror}") from None
    typer.echo(f"wrote {folder / 'job.toml'} and {folder / 'job.py'}; run it: penstock run {folder / 'job.toml'}")


def entry() -> None:
    """Print the path of the script that spark-submit runs. Example: spark-submit --master yarn "$(penstock entry)" run job.toml"""
    typer.echo(str(files("penstock") / "__main__.py"))
