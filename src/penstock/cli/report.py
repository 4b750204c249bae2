"""How a command shows its result: a table, one JSON object, a picture; and a progress bar meanwhile."""

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from penstock.cli.terminal import pairs_of
from penstock.core.errors import UserMistake

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def picture(path: Path | None) -> Path | None:
    if path is not None and path.suffix.lower() not in (".png", ".svg"):
        raise UserMistake(f"--plot: found {path}, a file that ends in .png or .svg is allowed")
    if path is not None:
        writable(path)
    return path


def writable(path: Path) -> None:
    """Refuse a file that cannot be written; missing folders are created later."""
    nearest = next(each for each in (path, *path.parents) if os.path.exists(each))
    if nearest == path and path.is_dir():
        raise UserMistake(f"--plot: {path} cannot be written: it is a folder")
    if nearest != path and not nearest.is_dir():
        raise UserMistake(f"--plot: {path} cannot be written: {nearest} is not a folder")
    if not os.access(nearest, os.W_OK if nearest == path else os.W_OK | os.X_OK):
        raise UserMistake(f"--plot: {path} cannot be written: no permission to write to {nearest}")


PlotOption = Annotated[Path | None, typer.Option("--plot", help="Draw a picture into this file (.png or .svg).", metavar="FILE", callback=picture)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A result: `found` is the JSON object, `rows` the table, `draw` writes the picture."""

    title: str
    found: Mapping[str, Any]
    rows: Sequence[tuple[str, str]]
    draw: Callable[[Path], None]


def present(report: Report, as_json: bool, plot: Path | None) -> None:
    if as_json:
        typer.echo(json.dumps(known(report.found)))
    else:
        Console().print(pairs_of(report.rows, report.title))
    draw_into(plot, report.draw, as_json)


def draw_into(plot: Path | None, draw: Callable[[Path], None], as_json: bool) -> None:
    if plot is not None:
        try:
            draw(plot)
        except OSError as error:
            raise UserMistake(f"--plot: {plot} cannot be written: {error.strerror or error}") from None
        if not as_json:
            typer.echo(str(plot))


def finite(**numbers: float) -> None:
    """Refuse options that are infinite or NaN.

    >>> finite(at=1.0, lag=math.inf)
    Traceback (most recent call last):
    penstock.core.errors.UserMistake: --lag: found inf, a number is needed
    """
    for name, number in numbers.items():
        if not math.isfinite(number):
            raise UserMistake(f"--{name.replace('_', '-')}: found {number}, a number is needed")


def needed(lowest: float, *, above: bool = False, **numbers: float | None) -> None:
    """Refuse numbers below `lowest`, or at it where they must be `above` it; None is "not given".

    >>> needed(0, above=True, interval=0.0)
    Traceback (most recent call last):
    penstock.core.errors.UserMistake: --interval: found 0, a number above 0 is needed
    """
    for name, number in numbers.items():
        if number is not None and not (math.isfinite(number) and (number > lowest if above else number >= lowest)):
            raise UserMistake(f"--{name.replace('_', '-')}: found {number:g}, a number {'above' if above else 'of at least'} {lowest:g} is needed")


def one_of(name: str, given: str, allowed: Sequence[str]) -> None:
    if given not in allowed:
        raise UserMistake(f'--{name}: found "{given}", {", ".join(allowed[:-1])} or {allowed[-1]} is allowed')


def known(value: Any) -> Any:
    """Return a value for JSON, in which infinite and unknown numbers are null.

    >>> known({"recovery_s": math.inf, "at": (1.0, None)})
    {'recovery_s': None, 'at': [1.0, None]}
    """
    match value:
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {str(key): known(each) for key, each in value.items()}
        case tuple() | list():
            return [known(each) for each in value]
    return value


@contextmanager
def bar(what: str) -> Iterator[Callable[[float, float], None]]:
    """Show a progress bar with the time left on standard error."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    with Progress(TextColumn(what), BarColumn(), TextColumn("{task.completed:.0f}/{task.total}"), TimeRemainingColumn(), console=Console(stderr=True)) as shown:
        task = shown.add_task(what, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)
