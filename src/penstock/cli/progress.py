"""A bar that says how far a command is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn


@contextmanager
def bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar with the time left, on standard error."""
    with Progress(TextColumn(what), BarColumn(), TextColumn("{task.completed}/{task.total}"), TimeRemainingColumn(), console=Console(stderr=True)) as shown:
        task = shown.add_task(what, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)
