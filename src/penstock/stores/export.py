"""Take a history out as tables: readings, queries, stages, executors and events."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from penstock.core.domain.reading import ExecutorReading, QueryReading, Reading, StageReading
from penstock.stores.codec import encode
from penstock.stores.columns import Column, columns_of, iso_utc
from penstock.stores.faults import explained
from penstock.stores.reader import HistoryReader
from penstock.stores.tables import Format, Table, written

NAMES = ("readings", "queries", "stages", "executors", "events")


def export(reader: HistoryReader, folder: Path, format: Format, since_s: float = -math.inf, until_s: float = math.inf) -> tuple[Path, ...]:
    """Write each table of `NAMES` into the folder and return their paths; every row carries `at_s` and the same moment in ISO UTC.

    Queries, stages and executors point to their reading by `at_s`.
    """
    paths = tuple(folder / f"{name}.{format}" for name in NAMES)
    with explained("the history cannot be exported", folder, "make room, or give a folder that can be written"):
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as files:
            sheets = [_Sheet(columns, files.enter_context(written(path, format, columns))) for path, columns in zip(paths, _COLUMNS, strict=True)]
            for reading in reader.readings(since_s, until_s):
                _add_reading(reading, *sheets[:4])
            for row in reader.events(since_s, until_s):
                sheets[4].add(row)
    return paths


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A part of a reading, with what says which part of which reading it is."""

    at_s: float
    part: Any
    query: str | None = None


@dataclass(frozen=True, slots=True)
class _Sheet:
    columns: Sequence[Column]
    table: Table

    def add(self, value: object) -> None:
        self.table.add([column.cell(value) for column in self.columns])


def _add_reading(reading: Reading, readings: _Sheet, queries: _Sheet, stages: _Sheet, executors: _Sheet) -> None:
    readings.add(reading)
    for query in reading.queries:
        queries.add(_Part(at_s=reading.at_s, part=query))
        for stage in query.stages:
            stages.add(_Part(at_s=reading.at_s, part=stage, query=query.name))
    for executor in reading.executors:
        executors.add(_Part(at_s=reading.at_s, part=executor))


def _of_part(kind: type) -> tuple[Column, ...]:
    return tuple(replace(each, cell=_from_part(each.cell)) for each in columns_of(kind))


def _from_part(cell: Callable[[Any], Any]) -> Callable[[_Part], Any]:
    return lambda value: cell(value.part)


_AT_S = Column(name="at_s", type=float, cell=lambda value: value.at_s)
_AT = Column(name="at", type=str, cell=lambda value: iso_utc(value.at_s))
_QUERY = Column(name="query", type=str, cell=lambda value: value.query)

_EVENT_COLUMNS = (
    Column(name="at_s", type=float, cell=lambda row: row.event.at_s),
    Column(name="at", type=str, cell=lambda row: iso_utc(row.event.at_s)),
    Column(name="last_at_s", type=float, cell=lambda row: row.last_at_s),
    Column(name="last_at", type=str, cell=lambda row: iso_utc(row.last_at_s)),
    Column(name="count", type=int, cell=lambda row: row.count),
    Column(name="kind", type=str, cell=lambda row: type(row.event).__name__),
    Column(name="words", type=str, cell=lambda row: row.event.words()),
    Column(name="json", type=str, cell=lambda row: encode(row.event)),
)

_COLUMNS: tuple[tuple[Column, ...], ...] = (
    (_AT_S, _AT, *(each for each in columns_of(Reading) if each.name != "at_s")),
    (_AT_S, _AT, *_of_part(QueryReading)),
    (_AT_S, _AT, _QUERY, *_of_part(StageReading)),
    (_AT_S, _AT, *_of_part(ExecutorReading)),
    _EVENT_COLUMNS,
)
