"""A job to simulate that is like one in a history."""

from __future__ import annotations

import math
from pathlib import Path

from penstock.cli.jobs import remembered_job
from penstock.core.domain.events.event import Event
from penstock.core.domain.reading import Reading
from penstock.core.errors import UserMistake
from penstock.core.terms import Terms
from penstock.hindsight.whatif import Like, calibrated_by
from penstock.stores.reader import HistoryReader


def history_of(history: str) -> Path:
    """A history file, or that of a job of this name."""
    return Path(history) if Path(history).is_file() else remembered_job(history).history


def told_by(path: Path, last_s: float) -> tuple[list[Reading], list[Event], Terms | None]:
    """The readings of the last so long, all events, and the terms that the job last ran under."""
    with HistoryReader.open(path) as reader:
        span = reader.span()
        since_s = -math.inf if span is None else span[1] - last_s
        return list(reader.readings(since_s)), [row.event for row in reader.events()], reader.terms()


def like(history: str, last_s: float, seed: int) -> Like:
    """Calibrate the simulator by the last so long of a history file, or of the history of a job of that name."""
    path = history_of(history)
    readings, events, ran_under = told_by(path, last_s)
    try:
        return calibrated_by(history, readings, events, seed, ran_under)
    except UserMistake as mistake:
        raise UserMistake(f"{path}: {mistake}") from None
