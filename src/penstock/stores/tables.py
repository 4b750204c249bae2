"""Write a table row by row: CSV for people and spreadsheets, Parquet for programs."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.stores.columns import Column

Format = Literal["csv", "parquet"]

_ROWS_AT_ONCE = 5000
_ARROW_TYPES = {float: pa.float64(), int: pa.int64(), bool: pa.bool_(), str: pa.string()}


class Table(Protocol):
    def add(self, cells: Sequence[Any]) -> None: ...


@contextmanager
def written(path: Path, format: Format, columns: Sequence[Column]) -> Iterator[Table]:
    """A table that is at `path` once the block is left, and not at all if it fails."""
    fresh = path.with_name(f".{path.name}.part")
    try:
        with (_csv if format == "csv" else _parquet)(fresh, columns) as table:
            yield table
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


class _Csv:
    def __init__(self, rows: Any) -> None:
        self._rows = rows

    def add(self, cells: Sequence[Any]) -> None:
        self._rows.writerow(cells)


@contextmanager
def _csv(path: Path, columns: Sequence[Column]) -> Iterator[Table]:
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow([each.name for each in columns])
        yield _Csv(rows)


class _Parquet:
    def __init__(self, writer: Any, schema: Any) -> None:
        self._writer = writer
        self._schema = schema
        self._rows: list[Sequence[Any]] = []

    def add(self, cells: Sequence[Any]) -> None:
        self._rows.append(cells)
        if len(self._rows) == _ROWS_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        if self._rows:
            arrays = [pa.array(cells, type=field.type) for cells, field in zip(zip(*self._rows, strict=True), self._schema, strict=True)]
            self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
            self._rows = []


@contextmanager
def _parquet(path: Path, columns: Sequence[Column]) -> Iterator[Table]:
    schema = pa.schema([(each.name, _ARROW_TYPES[each.type]) for each in columns])
    with pq.ParquetWriter(path, schema) as writer:
        table = _Parquet(writer, schema)
        yield table
        table.flush()
