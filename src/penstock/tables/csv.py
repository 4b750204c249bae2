"""Read the columns of a CSV file as arrays, or say in one line what is wrong with it, and where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from penstock.core.errors import UserMistake
from penstock.tables.column import Column

TRUTHS = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
LONGEST_SHOWN = 40
LARGEST = 1e15
"""No rate or time is larger; a number that is has another unit, or is none."""

Columns = Mapping[str, npt.NDArray[Any]]


def read_csv(path: Path, columns: Sequence[Column]) -> Columns:
    """The named columns of a file, numbers as floats and texts as objects; other columns are passed over."""
    table = _parsed(path)
    missing = [column.name for column in columns if not column.optional and column.name not in table.column_names]
    if missing:
        raise UserMistake(
            f"{path}: the column{'s' if len(missing) > 1 else ''} {', '.join(missing)} {'are' if len(missing) > 1 else 'is'} missing; "
            f"found {_shown(', '.join(table.column_names))}, needed are {', '.join(each.name for each in columns if not each.optional)}"
        )
    if table.num_rows == 0:
        raise UserMistake(f"{path}: it has a header and no rows; give it measurements")
    present = [column for column in columns if column.name in table.column_names]
    return {column.name: _texts(path, table, column) if column.text else _numbers(path, table, column) for column in present}


def _parsed(path: Path) -> pa.Table:
    """Everything as text: what a value is meant to be is ours to say, with the row at which it is not."""
    try:
        with path.open("rb") as file:
            header = file.readline().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserMistake(f"{path}: {'it is not a text file in UTF-8' if isinstance(error, UnicodeDecodeError) else error.strerror}") from None
    if not header.strip():
        raise UserMistake(f"{path}: it is empty; its first line must name the columns")
    names = [name.strip().strip('"') for name in header.strip().split(",")]
    if len(names) == 1 and ";" in header:
        raise UserMistake(f"{path}: found columns parted by semicolons, commas are needed")
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise UserMistake(f"{path}: the column {min(twice)} is there twice")
    try:
        return pyarrow.csv.read_csv(
            path,
            read_options=pyarrow.csv.ReadOptions(column_names=names, skip_rows=1),
            convert_options=pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False),
        )
    except pa.ArrowInvalid as error:
        raise UserMistake(f"{path}: {_shown(str(error).splitlines()[0], 160)}") from None


def _texts(path: Path, table: pa.Table, column: Column) -> npt.NDArray[Any]:
    texts = pc.utf8_trim_whitespace(table.column(column.name))
    empty = pc.index(pc.equal(texts, ""), True).as_py()
    if empty >= 0:
        raise _mistake(path, column, empty, "")
    return np.asarray(texts.to_numpy(zero_copy_only=False), dtype=object)


def _numbers(path: Path, table: pa.Table, column: Column) -> npt.NDArray[np.float64]:
    texts = pc.utf8_trim_whitespace(table.column(column.name))
    if column.truth:
        texts = pa.chunked_array([pa.array([str(TRUTHS.get(text.lower(), text)) for text in texts.to_pylist()], pa.string())])
    filled = pc.replace_substring_regex(texts, pattern="^$", replacement="nan")
    try:
        numbers = _values(filled.cast(pa.float64()), np.float64)
    except pa.ArrowInvalid:
        numbers = np.array([_number(text) for text in texts.to_pylist()])
    lacks = _values(pc.utf8_length(texts), np.int32) == 0
    wrong = ~np.isfinite(numbers) | (np.abs(numbers) > LARGEST) | (numbers < column.lowest) | (numbers > column.highest) | (numbers <= column.above)
    if column.whole:
        wrong |= numbers != np.floor(numbers)
    if column.may_lack:
        wrong &= ~lacks
    if wrong.any():
        row = int(np.argmax(wrong))
        raise _mistake(path, column, row, texts[row].as_py())
    return np.asarray(numbers, dtype=np.float64)


def _values(column: pa.ChunkedArray, kind: type[np.generic]) -> npt.NDArray[Any]:
    """The numbers of a column without nulls; what Arrow itself offers for this imports pandas, which takes longer than all the rest."""
    size = np.dtype(kind).itemsize
    return np.concatenate([np.frombuffer(chunk.buffers()[1], dtype=kind, count=len(chunk), offset=size * chunk.offset) for chunk in column.chunks])


def _number(text: str) -> float:
    """A number as CSV files write it; NaN for what is none.

    >>> _number("2.5"), _number("many"), _number("1_000")
    (2.5, nan, nan)
    """
    try:
        return float("nan") if "_" in text else float(text)
    except ValueError:
        return float("nan")


def _mistake(path: Path, column: Column, row: int, text: str) -> UserMistake:
    found = f'"{_shown(text)}"' if text else "nothing"
    return UserMistake(f"{path}, row {row + 1} after the header: {column.name} is {found}, {'a name' if column.text else column.allowed} is needed")


def _shown(text: str, longest: int = LONGEST_SHOWN) -> str:
    return text if len(text) <= longest else text[: longest - 3] + "..."
