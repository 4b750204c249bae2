"""A command line that makes no sense is a mistake like any other: one line, exit code 2."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from penstock.core.errors import UserMistake

Misuse: Any = typer.BadParameter.__bases__[0]
"""What all errors in the use of a command derive from; Typer shows its name in no version, and has it from Click in some."""


@contextmanager
def misuse_in_one_line() -> Iterator[None]:
    """What was wrong, and where to look; a command without arguments still prints its help."""
    try:
        yield
    except Misuse as error:
        if type(error).show is not Misuse.show:
            raise
        where = f"; see {error.ctx.command_path} --help" if error.ctx else ""
        said = " ".join(error.format_message().split()).removesuffix(".")
        raise UserMistake(said.replace("Value error, ", "") + where) from None
