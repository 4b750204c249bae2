import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.core.errors import UserMistake
from penstock.tables.csv import Column, read_csv

Read = Callable[..., dict[str, Any]]
TRACE = (Column(name="t"), Column(name="rate", lowest=0))
WORKERS = (Column(name="worker", text=True), Column(name="utilization", lowest=0, highest=1), Column(name="scaleout", lowest=1, whole=True, optional=True))


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def read(text: str, columns: tuple[Column, ...] = TRACE) -> dict[str, Any]:
        (tmp_path / "given.csv").write_bytes(text.encode())
        return read_csv(tmp_path / "given.csv", columns)

    return read


@pytest.mark.parametrize(
    ("text", "rates"),
    [
        ('t,what, rate \n0,"a, b",10\n1,c, 12.5\n\n', [10.0, 12.5]),
        ("\ufefft,rate\r\n0,1\r\n", [1.0]),
        ("t,rate\n0,1\n1,2\n   \n", [1.0, 2.0]),
        ("t,rate\n0,1\n \t\n\n1,2", [1.0, 2.0]),
        ("t,rate\n  \n0,1\n1,2\n", [1.0, 2.0]),
        ("t,rate,2024\n0,1,5\n", [1.0]),
        ('"t", "load, in rows/s",rate,,,x,x\n0,7,1,,,5,6\n', [1.0]),
    ],
)
def test_named_columns_are_read_and_other_columns_and_blank_lines_skipped(read: Read, text: str, rates: list[float]) -> None:
    found = read(text)
    assert found["t"].tolist() == list(range(len(rates))) and found["rate"].tolist() == rates and set(found) == {"t", "rate"}


@pytest.mark.parametrize(
    ("columns", "text", "found"),
    [
        (WORKERS, "worker,utilization\n7,0.5\nw2,1\n", {"worker": ["7", "w2"], "utilization": [0.5, 1.0]}),
        ((Column(name="t"), Column(name="rate", lowest=0, may_lack=True)), "t,rate\n0,1\n1,\n", {"t": [0.0, 1.0], "rate": [1.0, math.nan]}),
        ((Column(name="valid", lowest=0, highest=1, truth=True),), "valid\ntrue\n0\nFalse\n", {"valid": [1.0, 0.0, 0.0]}),
    ],
    ids=["texts are names and an optional column may be absent", "an empty cell is missing where that is allowed", "true and false are numbers"],
)
def test_a_column_is_read_by_its_kind(read: Read, columns: tuple[Column, ...], text: str, found: dict[str, Any]) -> None:
    np.testing.assert_equal({name: values.tolist() for name, values in read(text, columns).items()}, found)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is empty; its first line must name the columns"),
        ("t,rate\n", "it has a header and no rows; give it measurements"),
        ("t,load\n0,1\n", "the column rate is missing; found t, load, needed are t, rate"),
        ("a,b\n0,1\n", "the columns t, rate are missing; found a, b, needed are t, rate"),
        ("t;rate\n0;1\n", "found columns separated by semicolons, commas are needed"),
        ("t\trate\n0\t1\n", "found columns separated by tabs, commas are needed"),
        ("0,10\n1,12\n", "its first line must name the columns t, rate; found 0, 10"),
        ("0,0\n1,12\n", "its first line must name the columns t, rate; found 0, 0"),
        ("t,rate\n0,1\n\0\0\0", "it is not a text file, it has zero bytes in it"),
        ("t,rate\n0,1\n1,\0\n", "it is not a text file, it has zero bytes in it"),
        ("\0\0\0,rate\n0,1\n", "it is not a text file, it has zero bytes in it"),
        ("t,rate\n0,\x1b[2J\n", 'row 1 after the header: rate is "?[2J"'),
        ("t,rate,t\n0,1,2\n", "the column t appears twice"),
        ("t,rate\n0,1\n1,many\n", 'row 2 after the header: rate is "many", a number of at least 0 is needed'),
        ("t,rate\n0,yes\n", 'row 1 after the header: rate is "yes", a number of at least 0 is needed'),
        ("t,rate\n0,1e300\n", 'row 1 after the header: rate is "1e300", a number of at least 0 is needed'),
        ("t,rate\n0,-3\n", 'row 1 after the header: rate is "-3", a number of at least 0 is needed'),
        ("t,rate\n0,nan\n", 'row 1 after the header: rate is "nan", a number of at least 0 is needed'),
        ("t,rate\n0,inf\n", 'row 1 after the header: rate is "inf", a number of at least 0 is needed'),
        ("t,rate\n0,1\n1,\n", "row 2 after the header: rate is nothing, a number of at least 0 is needed"),
        ("t,rate\n0,1\n1\n", "row 2 after the header: CSV parse error: Expected 2 columns, got 1: 1"),
        ("t,rate\n   \n", "it has a header and no rows; give it measurements"),
    ],
)
def test_a_bad_file_is_one_line(read: Read, text: str, said: str) -> None:
    with pytest.raises(UserMistake) as raised:
        read(text)
    assert said in str(raised.value) and "given.csv" in str(raised.value) and "\n" not in str(raised.value)


def test_a_file_that_is_not_there_a_folder_and_one_of_bytes_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00t")
    for name, said in (("none.csv", "No such file"), (".", "directory"), ("bytes.csv", "not a text file in UTF-8")):
        with pytest.raises(UserMistake, match=said):
            read_csv(tmp_path / name, TRACE)


def test_a_whole_number_is_asked_for_where_one_is_needed(read: Read) -> None:
    with pytest.raises(UserMistake, match=r'scaleout is "2\.5", a whole number of at least 1 is needed'):
        read("worker,utilization,scaleout\na,0.5,2.5\n", WORKERS)
