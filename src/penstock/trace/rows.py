"""The rows of a trace: a function of their positions, so that a replay yields the same rows."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.core.errors import UserMistake
from penstock.references import load_function

Positions = npt.NDArray[np.int64]
CHUNK_ROWS = 10_000
FRONT = ("position", "arrival")


class RowMaker(Protocol):
    """Makes the rows at the given positions; the same positions always give the same rows."""

    def __call__(self, positions: Positions, seed: int) -> pa.RecordBatch | Mapping[str, Any]: ...


def keyed_numbers(positions: Positions, seed: int) -> pa.RecordBatch:
    """Return the default rows: one of a thousand keys, and a value from 0 to 1, both by a hash of the position."""
    with np.errstate(over="ignore"):
        mixed = positions.astype(np.uint64) + np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    keys = pa.array(mixed % np.uint64(1000)).cast(pa.string())
    values = (mixed >> np.uint64(11)).astype(np.float64) / float(1 << 53)
    return pa.RecordBatch.from_arrays([keys, pa.array(values)], names=["key", "value"])


class Recording:
    """Rows of a Parquet recording in their order, repeated from the start when they run out."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __call__(self, positions: Positions, seed: int) -> pa.RecordBatch:
        ends, groups = row_groups(self._path)
        wanted = positions % ends[-1]
        which = np.searchsorted(ends, wanted, side="right")
        parts = []
        for group in np.unique(which).tolist():
            table = read_group(self._path, group)
            begin = int(ends[group]) - groups[group][2]
            parts.append(table.take(pa.array(wanted[which == group] - begin)))
        by_group = pa.concat_tables(parts)
        in_order = by_group if np.all(np.diff(which) >= 0) else by_group.take(pa.array(np.argsort(np.argsort(which, kind="stable"))))
        return in_order.combine_chunks().to_batches()[0]


@lru_cache(maxsize=8)
def row_groups(path: str) -> tuple[Positions, list[tuple[str, int, int]]]:
    """Return where each row group of a recording ends, and (file, number, rows) of each."""
    import pyarrow.dataset as ds

    try:
        dataset = ds.dataset(path, format="parquet")
        groups = [(f.path, g.id, g.num_rows) for f in sorted(dataset.get_fragments(), key=lambda f: f.path) for g in f.row_groups if g.num_rows]
    except (OSError, pa.ArrowInvalid) as error:
        raise UserMistake(f"trace: parquet: {path} cannot be read: {str(error).splitlines()[0]}") from None
    if not groups:
        raise UserMistake(f"trace: parquet: {path} has no rows")
    return np.cumsum([rows for _, _, rows in groups], dtype=np.int64), groups


@lru_cache(maxsize=4)
def read_group(path: str, group: int) -> pa.Table:
    import pyarrow.parquet as pq

    file, number, _ = row_groups(path)[1][group]
    return pq.ParquetFile(file).read_row_group(number)


def row_maker(options: Mapping[str, str]) -> RowMaker:
    """Return the row maker that the options of a trace name: `rows` (a function), `parquet` (a recording), else keyed numbers."""
    if options.get("rows") and options.get("parquet"):
        raise UserMistake("trace: rows and parquet were both given; one of them says what the rows are")
    if options.get("parquet"):
        return Recording(options["parquet"])
    if options.get("rows"):
        return load_function(options["rows"], options.get("folder", "."), what="trace: rows")
    return keyed_numbers


def as_batch(made: pa.RecordBatch | Mapping[str, Any]) -> pa.RecordBatch:
    """Return the made rows without the columns `position` and `arrival`, which the trace adds itself."""
    batch = made if isinstance(made, pa.RecordBatch) else pa.RecordBatch.from_pydict(dict(made))
    return batch.drop_columns([name for name in FRONT if name in batch.schema.names])


def make_rows(maker: RowMaker, seed: int, first: int, last: int, arrival_of: Any) -> Iterator[pa.RecordBatch]:
    """Yield the rows at positions first..last-1 in Arrow batches, with their position and scheduled arrival as first columns."""
    for begin in range(first, last, CHUNK_ROWS):
        positions = np.arange(begin, min(begin + CHUNK_ROWS, last), dtype=np.int64)
        made = as_batch(maker(positions, seed))
        micros = np.rint(arrival_of(positions) * 1e6).astype(np.int64)
        arrival = pa.array(micros).cast(pa.timestamp("us", tz="UTC"))
        yield pa.RecordBatch.from_arrays([pa.array(positions), arrival, *made.columns], names=[*FRONT, *made.schema.names])
