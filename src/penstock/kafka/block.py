"""Rows made ready a little before they are due, so that sending them costs little."""

import json
import math
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.core.errors import UserMistake
from penstock.core.shapes.schedule import Schedule, TraceRecipe
from penstock.trace.rows import RowMaker, make_rows

_TO_ESCAPE = r'["\\\x00-\x1f]'


def keys_of(batch: pa.RecordBatch) -> pa.Array | None:
    """Return the record keys as bytes: the column `key`, if there is one."""
    return _as_bytes(batch, "key") if "key" in batch.schema.names else None


def partitions_of_rows(keys: pa.Array | None, positions: npt.NDArray[np.int64], partitions: int) -> npt.NDArray[np.int64]:
    """Return the partition of each record: by its key, else round-robin. It depends on the row alone, so that a feeder that restarts knows what it sent.

    >>> partitions_of_rows(None, np.array([6, 7]), 4).tolist(), partitions_of_rows(pa.array([b"a", b"b", b"a"]), np.arange(3), 4).tolist()
    ([2, 3], [3, 1, 3])
    """
    in_turn = positions % partitions
    if keys is None:
        return in_turn
    known = keys.dictionary_encode()
    places = np.array([crc32(key) % partitions for key in known.dictionary.to_pylist()] or [0], dtype=np.int64)
    by_key = places[known.indices.fill_null(0).to_numpy(zero_copy_only=False)]
    return np.where(keys.is_valid().to_numpy(zero_copy_only=False), by_key, in_turn)


def values_of(batch: pa.RecordBatch, form: str) -> list[bytes | None]:
    """Return the record values: all columns as one JSON object, or ("raw") the column `value` as it is.

    >>> batch = pa.RecordBatch.from_pydict({"position": [7], "key": ['a"b'], "value": [0.5]})
    >>> values_of(batch, "json"), values_of(pa.RecordBatch.from_pydict({"value": ["x"]}), "raw")
    ([b'{"position":7,"key":"a\\\\"b","value":0.5}'], [b'x'])
    """
    if form == "raw":
        if "value" not in batch.schema.names:
            raise UserMistake(f'feed: value_format = "raw" needs rows with a column "value"; there are {", ".join(batch.schema.names)}')
        return list(_as_bytes(batch, "value").to_pylist())
    parts: list[pa.Array | pa.Scalar] = []
    for i, (name, column) in enumerate(zip(batch.schema.names, batch.columns, strict=True)):
        parts += [pa.scalar(f"{',' if i else '{'}{json.dumps(name)}:"), as_json(column)]
    joined = pc.binary_join_element_wise(*parts, pa.scalar("}"), "")
    return list(joined.cast(pa.binary()).to_pylist())


def as_json(column: pa.Array) -> pa.Array:
    """Return each value of a column as JSON text, null for what JSON cannot express; by Arrow if possible, for speed.

    >>> as_json(pa.array([1.5, float("nan"), None])).to_pylist(), as_json(pa.array([{"a": [b"x"]}])).to_pylist()
    (['1.5', 'null', 'null'], ['{"a": ["eA=="]}'])
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        return as_json(column.dictionary).take(column.indices).fill_null("null")
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        texts = column.cast(pa.string())
    elif pa.types.is_float32(kind) or pa.types.is_float64(kind):
        texts = pc.if_else(pc.is_finite(column), column.cast(pa.string()), None)
    elif pa.types.is_timestamp(kind):
        texts = _times(column)
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        texts = _strings(column.cast(pa.string()))
    else:
        texts = pa.array([json.dumps(_plain(value), default=str) for value in column.to_pylist()], pa.string())
    return pc.fill_null(texts, "null")


def _times(column: pa.Array) -> pa.Array:
    """Return times in ISO 8601. Arrow formats a time with a zone twenty times slower than one without."""
    zone = "" if column.type.tz is None else "Z"
    texts = pc.replace_substring(column.cast(pa.timestamp(column.type.unit)).cast(pa.string()), " ", "T")
    return pc.binary_join_element_wise('"', texts, f'{zone}"', "")


def _strings(column: pa.Array) -> pa.Array:
    if not pc.any(pc.match_substring_regex(column, _TO_ESCAPE)).as_py():
        return pc.binary_join_element_wise('"', column, '"', "")
    known = column.dictionary_encode()
    return pa.array([json.dumps(text) for text in known.dictionary.to_pylist()], pa.string()).take(known.indices)


def _plain(value: Any) -> Any:
    """Return a value that JSON can hold: bytes in base 64, as Spark reads them, and None for NaN and infinity."""
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _as_bytes(batch: pa.RecordBatch, name: str) -> pa.Array:
    column = batch.column(name)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    try:
        return column if pa.types.is_binary(column.type) else column.cast(pa.string()).cast(pa.binary())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise UserMistake(f"feed: the column {name!r} of the rows is of type {column.type}; a text, a number or bytes is allowed in a record") from None


Ints = npt.NDArray[np.int64]
Report = Callable[[int, int, Any, Any], None]
_MICROS = 1_000_000


@dataclass(slots=True, kw_only=True)
class Block:
    """The rows up to `end` that the topic does not hold yet, as columns; the first `sent` of them have been sent.

    `reports` has a delivery callback for the last row of each partition. `offsets` and `held` are those before the block. `all_partitions` is the
    partition of each row, those included that the topic already holds and that are left out.
    """

    end: int
    positions: Sequence[int]
    arrival_us: Ints
    stamps_ms: list[int]
    keys: list[bytes | None]
    values: list[bytes | None]
    partitions: list[int]
    reports: list[Callable[[Any, Any], None] | None]
    offsets: Ints
    held: Ints
    all_partitions: Ints
    sent: int = 0

    @property
    def is_sent(self) -> bool:
        return self.sent == len(self.positions)

    @property
    def position(self) -> int:
        """The row to be sent next."""
        return self.end if self.is_sent else self.positions[self.sent]

    def due(self, now_s: float) -> int:
        """Return how many of its rows are due."""
        return int(np.searchsorted(self.arrival_us, round(now_s * _MICROS), side="right"))

    def arrival_s(self) -> float:
        """Return when the row to be sent next is due."""
        return float(self.arrival_us[self.sent]) / _MICROS

    def offsets_now(self) -> Ints:
        """Return where the rows before the next one end in each partition."""
        return self.offsets + self._passed()

    def held_now(self) -> Ints:
        """Return how many rows of each partition, from the next one on, the topic already holds."""
        return (self.held - self._passed()).clip(min=0)

    def _passed(self) -> Ints:
        passed = len(self.all_partitions) - (self.end - self.position)
        return count_by_partition(self.all_partitions[:passed], len(self.offsets))


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockMaker:
    """Makes the records of a trace; `report(partition, end, ...)` is called with each delivery that brings a partition to offset `end`."""

    rows: RowMaker
    seed: int
    value_format: str
    partitions: int
    report: Report

    def try_out(self) -> None:
        """Make one row before any is due: this finds errors in the row maker, and loads its modules."""
        schedule = Schedule.begin(TraceRecipe(shape="constant(1)"), 0.0)
        self.make(schedule, 0, 1, np.zeros(self.partitions, dtype=np.int64), np.zeros(self.partitions, dtype=np.int64))

    def make(self, schedule: Schedule, first: int, end: int, offsets: Ints, held: Ints) -> Block:
        """Return the block of positions first to end - 1, without the first `held` rows of each partition, which the topic already holds."""
        (batch,) = make_rows(self.rows, self.seed, first, end, schedule.slice(first, end).arrival_of)
        positions = np.arange(first, end, dtype=np.int64)
        keys = keys_of(batch)
        placed = partitions_of_rows(keys, positions, self.partitions)
        arrival_us = batch.column("arrival").cast("int64").to_numpy()
        values = values_of(batch, self.value_format)
        named: list[bytes | None] = [None] * len(values) if keys is None else keys.to_pylist()
        wanted: Sequence[int] = range(len(values))
        if held.any():
            kept = not_held(placed, held)
            wanted = kept.tolist()
            values, named = [values[at] for at in wanted], [named[at] for at in wanted]
            positions, arrival_us = positions[kept], arrival_us[kept]
        return Block(
            end=end, positions=positions.tolist(), arrival_us=arrival_us, stamps_ms=(arrival_us // 1000).tolist(), keys=named, values=values,
            partitions=placed[wanted].tolist(), reports=self._reports(placed, wanted, offsets), offsets=offsets, held=held,
            all_partitions=placed,
        )  # fmt: skip

    def _reports(self, placed: Ints, wanted: Sequence[int], offsets: Ints) -> list[Callable[[Any, Any], None] | None]:
        reports: list[Callable[[Any, Any], None] | None] = [None] * len(wanted)
        ends, sent = offsets + count_by_partition(placed, self.partitions), placed[wanted]
        for partition in np.unique(sent).tolist():
            reports[int(np.flatnonzero(sent == partition)[-1])] = partial(self.report, partition, int(ends[partition]))
        return reports


def count_by_partition(placed: Ints, partitions: int) -> Ints:
    """Return how many rows go to each partition.

    >>> count_by_partition(np.array([0, 2, 2]), 4).tolist()
    [1, 0, 2, 0]
    """
    return np.bincount(placed, minlength=partitions)


def not_held(placed: Ints, held: Ints) -> Ints:
    """Return the indices of the rows to send, without the first `held` of each partition, which the topic already holds.

    >>> not_held(np.array([0, 1, 0, 1, 0]), np.array([2, 0])).tolist()
    [1, 3, 4]
    """
    keep = np.ones(len(placed), dtype=bool)
    for partition in np.flatnonzero(held):
        keep[np.flatnonzero(placed == partition)[: held[partition]]] = False
    return np.flatnonzero(keep)
