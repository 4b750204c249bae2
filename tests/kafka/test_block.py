import base64
import json
import math
from datetime import UTC, datetime
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import UserMistake
from penstock.kafka.block import as_json, keys_of, partitions_of_rows, values_of

TEXTS = st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"])), min_size=1)


def read(column: pa.Array) -> list[Any]:
    return [json.loads(text) for text in as_json(column).to_pylist()]


@given(TEXTS)
def test_any_text_survives_as_json(texts: list[str | None]) -> None:
    column = pa.array(texts, pa.string())
    assert read(column) == read(column.dictionary_encode()) == read(pa.array(texts, pa.large_string())) == texts


@given(st.lists(st.none() | st.floats(), min_size=1), st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_any_number_survives_and_what_is_none_becomes_null(numbers: list[float | None], whole: list[int | None]) -> None:
    assert read(pa.array(numbers, pa.float64())) == [number if number is not None and math.isfinite(number) else None for number in numbers]
    assert read(pa.array(whole, pa.int64())) == whole


@given(st.lists(st.none() | st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)), min_size=1))
def test_any_time_survives_to_the_microsecond(times: list[datetime | None]) -> None:
    assert [text and datetime.fromisoformat(text) for text in read(pa.array(times, pa.timestamp("us", tz="UTC")))] == times


def test_a_time_of_another_zone_is_written_in_utc_and_one_without_a_zone_without_one() -> None:
    moment = datetime(2023, 11, 14, 22, 13, 20, 500_000, tzinfo=UTC)
    assert read(pa.array([moment], pa.timestamp("us", tz="Europe/Berlin"))) == ["2023-11-14T22:13:20.500000Z"]
    assert read(pa.array([moment.replace(tzinfo=None)], pa.timestamp("ms"))) == ["2023-11-14T22:13:20.500"]


def test_other_kinds_are_written_as_json_can() -> None:
    assert read(pa.array([True, None, False])) == [True, None, False]
    assert read(pa.array([b"\xff", None])) == [base64.b64encode(b"\xff").decode(), None]
    assert read(pa.array([[1.5, float("nan")], None])) == [[1.5, None], None]
    assert read(pa.array([{"a": 'x"', "b": [b"\x00"]}])) == [{"a": 'x"', "b": ["AA=="]}]
    assert read(pa.array([1, 2], pa.decimal128(10, 2))) == ["1.00", "2.00"]


@given(TEXTS, st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=3, unique=True))
def test_a_row_becomes_one_json_object_with_any_names(texts: list[str | None], names: list[str]) -> None:
    batch = pa.RecordBatch.from_arrays([pa.array(texts, pa.string()) for _ in names], names=names)
    assert [json.loads(value or b"") for value in values_of(batch, "json")] == [dict.fromkeys(names, text) for text in texts]


def test_raw_values_and_keys_are_the_columns_as_they_are() -> None:
    batch = pa.RecordBatch.from_pydict({"key": ["a", None], "value": [b"\x00\xff", None]})
    assert values_of(batch, "raw") == [b"\x00\xff", None]
    assert keys_of(batch).to_pylist() == [b"a", None]
    assert values_of(pa.RecordBatch.from_pydict({"value": [1.5]}), "raw") == [b"1.5"]


def test_raw_values_need_a_column_that_can_be_one() -> None:
    with pytest.raises(UserMistake, match='needs rows with a column "value"; there are word'):
        values_of(pa.RecordBatch.from_pydict({"word": ["x"]}), "raw")
    with pytest.raises(UserMistake, match="the column 'value' of the rows is of type list"):
        values_of(pa.RecordBatch.from_pydict({"value": [[1]]}), "raw")


@given(st.lists(st.none() | st.binary(max_size=3), min_size=1), st.integers(0, 2**40), st.integers(1, 64))
def test_a_row_goes_where_its_key_or_its_position_says(keys: list[bytes | None], first: int, partitions: int) -> None:
    positions = np.arange(first, first + len(keys), dtype=np.int64)
    expected = [(position if key is None else crc32(key)) % partitions for key, position in zip(keys, positions.tolist(), strict=True)]
    assert partitions_of_rows(pa.array(keys, pa.binary()), positions, partitions).tolist() == expected
    assert partitions_of_rows(None, positions, partitions).tolist() == (positions % partitions).tolist()
