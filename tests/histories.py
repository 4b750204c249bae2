"""Histories on disk: one that is opened with the defaults, and what another holds."""

from pathlib import Path
from typing import Any

from changes import scaled_to

from penstock.core.config import Config
from penstock.core.domain.events.event import Event
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.redaction import Redactor
from penstock.stores.history import History
from penstock.stores.reader import EventRow, HistoryReader
from penstock.stores.recorder import Recorder
from penstock.stores.turn_rows import TurnRow

KNOWLEDGE = Knowledge(declared=scaled_to(1), desired=scaled_to(2))


def opened(path: Path, *secrets: str, recorder: Recorder | None = None, **config: Any) -> History:
    return History.open(path, config=Config(**config), redactor=Redactor(frozenset(secrets)), recorder=recorder)


def rows_in(path: Path) -> list[EventRow]:
    with HistoryReader.open(path) as reader:
        return list(reader.events())


def events_in(path: Path) -> list[Event]:
    return [row.event for row in rows_in(path)]


def turns_in(path: Path) -> list[TurnRow]:
    with HistoryReader.open(path) as reader:
        return list(reader.turns())


def knowledge_in(path: Path) -> Knowledge | None:
    with HistoryReader.open(path) as reader:
        return reader.knowledge()
