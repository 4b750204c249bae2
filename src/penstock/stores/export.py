"""Export a history as tables, one CSV or Parquet file each: readings, queries, stages, executors and events."""

import csv
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import NoneType
from typing import Any, Literal, Self, get_args, get_origin, get_type_hints

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.core.domain.reading import ExecutorReading, QueryReading, Reading, StageReading
from penstock.core.domain.trigger import Trigger
from penstock.stores.codec import encode
from penstock.stores.database import explained
from penstock.stores.reader import HistoryReader

Format = Literal["csv", "parquet"]
AddRow = Callable[[Sequence[Any]], None]

NAMES = ("readings", "queries", "stages", "executors", "events")
_ROWS_AT_ONCE = 5000
_ARROW_TYPES = {float: pa.float64(), int: pa.int64(), bool: pa.bool_(), str: pa.string()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A name, the type of its cells (float, int, bool or str; any cell may be None), and how to get a cell from a value."""

    name: str
    type: type
    cell: Callable[[Any], Any]

    def within(self, part: str) -> Self:
        """Return this column for values that have the cell's owner as an attribute; the cell is None where that is unknown."""
        return replace(self, cell=lambda value: None if (found := getattr(value, part)) is None else self.cell(found))


def export(reader: HistoryReader, folder: Path, format: Format, since_s: float = -math.inf, until_s: float = math.inf) -> tuple[Path, ...]:
    """Write each table of `NAMES` into the folder and return their paths; every row carries `at_s` and the same moment in ISO UTC.

    Queries, stages and executors point to their reading by `at_s`.
    """
    paths = tuple(folder / f"{name}.{format}" for name in NAMES)
    with explained("the history cannot be exported", folder, "make room, or give a folder that can be written"):
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as files:
            sheets = [_Sheet(columns, files.enter_context(_table(path, format, columns))) for path, columns in zip(paths, _COLUMNS, strict=True)]
            for reading in reader.readings(since_s, until_s):
                _add_reading(reading, *sheets[:4])
            for row in reader.events(since_s, until_s):
                sheets[4].add(row)
    return paths


def columns_of(kind: type, prefix: str = "") -> tuple[Column, ...]:
    """Return the columns of a dataclass: nested values by joined names, mappings as JSON. Tuples are left out: they have tables of their own.

    >>> from penstock.core.domain.reading import Quantiles
    >>> [column.name for column in columns_of(Quantiles, "latency_")]
    ['latency_p50_s', 'latency_p95_s', 'latency_p99_s']
    """
    hints = get_type_hints(kind)
    return tuple(column for each in fields(kind) for column in _columns_of_field(each.name, _known(hints[each.name]), prefix))


def iso_utc(at_s: float) -> str:
    """Return a moment in ISO 8601, in UTC.

    >>> iso_utc(1_700_000_000.25)
    '2023-11-14T22:13:20.250Z'
    """
    return datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _columns_of_field(name: str, kind: Any, prefix: str) -> tuple[Column, ...]:
    if kind is Trigger:
        return (Column(name=prefix + name, type=str, cell=lambda value: str(getattr(value, name))),)
    if is_dataclass(kind) and isinstance(kind, type):
        return tuple(each.within(name) for each in columns_of(kind, f"{prefix}{name}_"))
    if get_origin(kind) is tuple:
        return ()
    if get_origin(kind) in (dict, Mapping):
        return (Column(name=prefix + name, type=str, cell=lambda value: json.dumps(getattr(value, name))),)
    return (Column(name=prefix + name, type=kind, cell=lambda value: getattr(value, name)),)


def _known(hint: Any) -> Any:
    """Return the type of a value that may be None, without the None."""
    kinds = [each for each in get_args(hint) if each is not NoneType]
    return kinds[0] if NoneType in get_args(hint) else hint


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A part of a reading, with the reading's time and the query it belongs to."""

    at_s: float
    part: Any
    query: str | None = None


@dataclass(frozen=True, slots=True)
class _Sheet:
    columns: Sequence[Column]
    add_row: AddRow

    def add(self, value: object) -> None:
        self.add_row([column.cell(value) for column in self.columns])


def _add_reading(reading: Reading, readings: _Sheet, queries: _Sheet, stages: _Sheet, executors: _Sheet) -> None:
    readings.add(reading)
    for query in reading.queries:
        queries.add(_Part(at_s=reading.at_s, part=query))
        for stage in query.stages:
            stages.add(_Part(at_s=reading.at_s, part=stage, query=query.name))
    for executor in reading.executors:
        executors.add(_Part(at_s=reading.at_s, part=executor))


def _of_part(kind: type) -> tuple[Column, ...]:
    return tuple(each.within("part") for each in columns_of(kind))


_AT_S = Column(name="at_s", type=float, cell=lambda value: value.at_s)
_AT = Column(name="at", type=str, cell=lambda value: iso_utc(value.at_s))
_QUERY = Column(name="query", type=str, cell=lambda value: value.query)

_EVENT_COLUMNS = (
    _AT_S.within("event"),
    _AT.within("event"),
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


@contextmanager
def _table(path: Path, format: Format, columns: Sequence[Column]) -> Iterator[AddRow]:
    """Write a table row by row; it is at `path` once the block is left, and not at all if the block fails."""
    fresh = path.with_name(f".{path.name}.part")
    try:
        with (_csv if format == "csv" else _parquet)(fresh, columns) as add_row:
            yield add_row
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


@contextmanager
def _csv(path: Path, columns: Sequence[Column]) -> Iterator[AddRow]:
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow([each.name for each in columns])
        yield rows.writerow


@contextmanager
def _parquet(path: Path, columns: Sequence[Column]) -> Iterator[AddRow]:
    schema = pa.schema([(each.name, _ARROW_TYPES[each.type]) for each in columns])
    waiting: list[Sequence[Any]] = []
    with pq.ParquetWriter(path, schema) as writer:

        def flush() -> None:
            if waiting:
                arrays = [pa.array(cells, type=field.type) for cells, field in zip(zip(*waiting, strict=True), schema, strict=True)]
                writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
                waiting.clear()

        def add_row(cells: Sequence[Any]) -> None:
            waiting.append(cells)
            if len(waiting) == _ROWS_AT_ONCE:
                flush()

        yield add_row
        flush()
