"""Rows as records of a topic: a key, and a value that is a JSON object or the row maker's own."""

import json
import math
from base64 import b64encode
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.core.errors import UserMistake

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
