"""Read the columns of a CSV file as arrays, or say in one line what is wrong with it, and where."""

import csv
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.core.errors import UserMistake
from penstock.core.models.arrays import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """What a column must contain. `may_lack` allows empty cells (NaN), `optional` allows no such column, `truth` accepts 1/0, true/false, yes/no."""

    name: str
    lowest: float = -math.inf
    highest: float = math.inf
    above: float = -math.inf
    whole: bool = False
    text: bool = False
    truth: bool = False
    optional: bool = False
    may_lack: bool = False

    @property
    def allowed(self) -> str:
        """The allowed values in words.

        >>> Column(name="scaleout", lowest=1, whole=True).allowed, Column(name="utilization", lowest=0, highest=1).allowed
        ('a whole number of at least 1', 'a number from 0 to 1')
        >>> Column(name="rate", above=0).allowed
        'a number above 0'
        """
        if self.truth:
            return "1 or 0"
        kind = "a whole number" if self.whole else "a number"
        if self.above > -math.inf:
            return f"{kind} above {self.above:g}"
        if self.highest < math.inf:
            return f"{kind} from {self.lowest:g} to {self.highest:g}"
        return f"{kind} of at least {self.lowest:g}" if self.lowest > -math.inf else kind


TRUTHS = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
LONGEST_SHOWN = 40
SEPARATED_BY = {";": "semicolons", "\t": "tabs"}
LARGEST = 1e15
"""Larger numbers are refused: they are in another unit, or wrong."""
AT_ONCE = 4_000
"""Rows that are parsed at once."""

Columns = Mapping[str, npt.NDArray[Any]]


def read_csv(path: Path, columns: Sequence[Column]) -> Columns:
    """Return the named columns of a file, numbers as floats and texts as objects; other columns are ignored."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            names = _names(path, next(csv.reader(file, skipinitialspace=True), []), columns)
            present = _present(path, names, columns)
            parts = [[_values(path, column, cells, first) for column, cells in wanted] for first, wanted in _pieces(path, file, names, present)]
    except UnicodeDecodeError:
        raise UserMistake(f"{path}: it is not a text file in UTF-8") from None
    except OSError as error:
        raise UserMistake(f"{path}: {error.strerror}") from None
    except csv.Error as error:
        raise UserMistake(f"{path}: CSV parse error: {error}") from None
    if not parts:
        raise UserMistake(f"{path}: it has a header and no rows; give it measurements")
    return {column.name: np.concatenate(each) for column, each in zip(present, zip(*parts, strict=True), strict=True)}


def _names(path: Path, header: Sequence[str], columns: Sequence[Column]) -> list[str]:
    names = [name.strip() for name in header]
    _text_only(path, ",".join(names))
    if not any(names):
        raise UserMistake(f"{path}: it is empty; its first line must name the columns")
    for character, word in SEPARATED_BY.items():
        if len(names) == 1 and character in names[0]:
            raise UserMistake(f"{path}: found columns separated by {word}, commas are needed")
    if not any(column.name in names for column in columns) and any(math.isfinite(_number(name)) for name in names):
        wanted = ", ".join(column.name for column in columns if not column.optional)
        raise UserMistake(f"{path}: its first line must name the columns {wanted}; found {_shown(', '.join(names))}")
    twice = next((column.name for column in columns if names.count(column.name) > 1), None)
    if twice is not None:
        raise UserMistake(f"{path}: the column {twice} appears twice")
    return names


def _present(path: Path, names: Sequence[str], columns: Sequence[Column]) -> list[Column]:
    missing = [column.name for column in columns if not column.optional and column.name not in names]
    if missing:
        raise UserMistake(
            f"{path}: the column{'s' if len(missing) > 1 else ''} {', '.join(missing)} {'are' if len(missing) > 1 else 'is'} missing; "
            f"found {_shown(', '.join(names))}, needed are {', '.join(each.name for each in columns if not each.optional)}"
        )
    return [column for column in columns if column.name in names]


def _pieces(path: Path, lines: Iterable[str], names: Sequence[str], present: Sequence[Column]) -> Iterator[tuple[int, list[tuple[Column, Sequence[str]]]]]:
    """Yield some rows at a time: the number of the first, and the cells of each column; empty lines are skipped."""
    first, rows = 0, filter(None, csv.reader(lines))
    while piece := list(islice(rows, AT_ONCE)):
        if set(map(len, piece)) != {len(names)}:
            piece = [row for row in piece if len(row) > 1 or row[0].strip()]
            odd = next((number for number, row in enumerate(piece) if len(row) != len(names)), None)
            if odd is not None:
                raise _ragged(path, names, piece[odd], first + odd)
            if not piece:
                continue
        cells = list(zip(*piece, strict=True))
        yield first, [(column, cells[names.index(column.name)]) for column in present]
        first += len(piece)


def _values(path: Path, column: Column, cells: Sequence[str], first: int) -> npt.NDArray[Any]:
    """Return the checked values of a column from row number `first` on."""
    if column.text:
        values = np.array([cell.strip() for cell in cells], dtype=object)
        wrong = values == ""
    else:
        values = _numbers(column, cells)
        wrong = _wrong(column, values, cells)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise _mistake(path, column, first + row, cells[row].strip())
    return values


def _numbers(column: Column, cells: Sequence[str]) -> npt.NDArray[Any]:
    """Parse cells; NaN for what is not a number. The fast path parses all cells at once."""
    if column.truth:
        return np.array([TRUTHS.get(cell.strip().lower(), _number(cell)) for cell in cells])
    try:
        return np.array([_number(cell) for cell in cells] if "_" in "".join(cells) else list(map(float, cells)))
    except ValueError:
        return np.array([_number(cell) for cell in cells])


def _wrong(column: Column, numbers: npt.NDArray[np.float64], cells: Sequence[str]) -> npt.NDArray[np.bool_]:
    wrong = ~np.isfinite(numbers) | (np.abs(numbers) > LARGEST) | (numbers < column.lowest) | (numbers > column.highest) | (numbers <= column.above)
    if column.whole:
        wrong |= numbers != np.floor(numbers)
    if column.may_lack and wrong.any():
        wrong &= np.array([bool(cell.strip()) for cell in cells])
    return np.asarray(wrong)


def _number(text: str) -> float:
    """Parse a number as CSV files write it; NaN for what is not one.

    >>> _number("2.5"), _number("many"), _number("1_000")
    (2.5, nan, nan)
    """
    try:
        return float("nan") if "_" in text else float(text)
    except ValueError:
        return float("nan")


def _ragged(path: Path, names: Sequence[str], row: Sequence[str], number: int) -> UserMistake:
    text = ",".join(row)
    _text_only(path, text)
    words = f"CSV parse error: Expected {len(names)} columns, got {len(row)}: {text}".splitlines()[0]
    return UserMistake(f"{path}, row {number + 1} after the header: {_shown(words, 160)}")


def _text_only(path: Path, text: str) -> None:
    if "\0" in text:
        raise UserMistake(f"{path}: it is not a text file, it has zero bytes in it")


def _mistake(path: Path, column: Column, row: int, text: str) -> UserMistake:
    _text_only(path, text)
    found = f'"{_shown(text)}"' if text else "nothing"
    return UserMistake(f"{path}, row {row + 1} after the header: {column.name} is {found}, {'a name' if column.text else column.allowed} is needed")


def _shown(text: str, longest: int = LONGEST_SHOWN) -> str:
    """Shorten a text, and replace control characters.

    >>> _shown("1\\x1b[2J"), _shown("a long text", 8)
    ('1?[2J', 'a lon...')
    """
    text = text if len(text) <= longest else text[: longest - 3] + "..."
    return "".join(character if character.isprintable() else "?" for character in text)


FIRST_MS, LAST_MS = 1e12, 1e13
"""Milliseconds since 1970 from 2001 to 2286; as seconds they are in no calendar."""


def refuse_milliseconds(path: Path, name: str, times: Floats) -> None:
    """Raise `UserMistake` if all times look like milliseconds since 1970."""
    if len(times) and np.all((times >= FIRST_MS) & (times < LAST_MS)):
        raise UserMistake(f"{path}: {name} looks like milliseconds since 1970, the first is {times[0]:.0f}; seconds are needed")
