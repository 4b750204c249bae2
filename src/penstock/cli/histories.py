"""What commands read from a history: the file, its events and readings, and why the policy decided nothing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from penstock.cli.jobs import remembered_job
from penstock.core.domain.events.autopilot_events import PhaseFailed
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.meaning import mode_in
from penstock.core.domain.reading import Reading
from penstock.core.domain.units import duration_words, parse_duration_s
from penstock.core.errors import UserMistake
from penstock.core.knowledge.terms import Terms
from penstock.stores.reader import HistoryReader

if TYPE_CHECKING:
    from penstock.hindsight.whatif import Like

LastOption = Annotated[str | None, typer.Option("--last", help="Use only the last part of the history, such as 2h.", metavar="DURATION")]
FileOption = Annotated[Path | None, typer.Option("--file", help="Read this history file instead of a job's own.", metavar="HISTORY.DB")]

ROWS_A_STEP = 500


class Timed(Protocol):
    @property
    def at_s(self) -> float: ...


T = TypeVar("T", bound=Timed)


def history_of(job: str | None, file: Path | None) -> Path:
    """Return the history file of a job, running or not."""
    return file or remembered_job(job).history


def since(last: str | None, span: tuple[float, float] | None) -> float:
    """Return the time at which the span of `--last` begins, counted back from the last record; -inf if it is not given.

    >>> since("10m", (0.0, 1000.0)), since(None, (0.0, 1000.0))
    (400.0, -inf)
    """
    last_s = math.inf if last is None else last_of(last)
    return -math.inf if span is None else span[1] - last_s


def last_of(text: str, least_s: float = 0.0) -> float:
    """Return the seconds of `--last`; refuse less than `least_s`."""
    try:
        last_s = parse_duration_s(text)
    except UserMistake as mistake:
        raise UserMistake(f"--last: {mistake}") from None
    if last_s < least_s:
        raise UserMistake(f"--last: found {text}, at least {least_s:g}s are needed")
    return last_s


def read_with_bar(what: str, rows: Iterable[T], span: tuple[float, float] | None) -> Iterator[T]:
    """Yield the rows unchanged; on a terminal, show a bar of how much is left to read."""
    first_s, last_s = span or (0.0, 0.0)
    console = Console(stderr=True)
    with Progress(TextColumn(what), BarColumn(), TimeRemainingColumn(), console=console, transient=True, disable=not console.is_terminal) as shown:
        task = shown.add_task(what, total=max(1.0, last_s - first_s))
        for number, row in enumerate(rows):
            if number % ROWS_A_STEP == 0:
                shown.update(task, completed=row.at_s - first_s)
            yield row


def events_of(reader: HistoryReader, since_s: float = float("-inf")) -> list[Event]:
    return list(read_with_bar("reading the history", (row.event for row in reader.events(since_s)), reader.span()))


def why_undecided(reader: HistoryReader) -> str:
    """Say in one line why a history holds no decision."""
    span, knowledge = reader.span(), reader.knowledge()
    if span is None:
        return "nothing is recorded yet: the job has not run"
    events = [row.event for row in reader.events()]
    mode = next((said for event in reversed(events) if (said := mode_in(event))), "observe")
    if mode == "observe":
        return 'nothing was decided: the mode is observe; mode = "shadow" in [autopilot] of the job file decides and touches nothing'
    if next(reader.readings(), None) is None:
        return "nothing was decided yet: there is no reading so far"
    paused = None if knowledge is None else knowledge.trust.paused
    if paused is not None:
        left = "until penstock resume" if paused.until_s is None else f"for {duration_words(max(1, round(paused.until_s - span[1])))} more"
        return f"nothing was decided yet: {paused.who} paused the policy {left}"
    unable = None if knowledge is None or knowledge.last is None else knowledge.last.unable.get("executors")
    if unable:
        return f"nothing can be decided: {unable}"
    failed = [event for event in events if isinstance(event, PhaseFailed)]
    return failed[-1].words() if failed else "nothing was decided yet: the policy has not been asked so far"


def history_named(history: str) -> Path:
    """Return the path of a history file, or of the history of the job of that name."""
    return Path(history) if Path(history).is_file() else remembered_job(history).history


def read_last(path: Path, last_s: float) -> tuple[list[Reading], list[Event], Terms | None]:
    """Return the readings of the last `last_s` seconds, all events, and the terms of the last run."""
    with HistoryReader.open(path) as reader:
        span = reader.span()
        since_s = -math.inf if span is None else span[1] - last_s
        return list(reader.readings(since_s)), [row.event for row in reader.events()], reader.terms()


def like(history: str, last_s: float, seed: int) -> Like:
    """Calibrate the simulator by the last `last_s` seconds of a history file, or of a job's history."""
    from penstock.hindsight.whatif import calibrated_by

    path = history_named(history)
    readings, events, ran_under = read_last(path, last_s)
    try:
        return calibrated_by(history, readings, events, seed, ran_under)
    except UserMistake as mistake:
        raise UserMistake(f"{path}: {mistake}") from None
