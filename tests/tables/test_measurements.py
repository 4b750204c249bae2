from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import UserMistake
from penstock.tables.measurements import read_rates, read_trace


def written(folder: Path, *rows: str) -> Path:
    path = folder / "trace.csv"
    path.write_text("\n".join(("t,rate", *rows)))
    return path


@given(st.permutations(range(12)))
def test_rows_in_any_order_are_the_same_trace(tmp_path_factory: pytest.TempPathFactory, order: list[int]) -> None:
    time_s, rate = read_rates(written(tmp_path_factory.mktemp("shuffled"), *(f"{number},{100 + number % 5}" for number in order)))
    assert time_s.tolist() == list(range(12)) and rate.tolist() == [100 + number % 5 for number in range(12)]


@pytest.mark.parametrize(
    ("rows", "trace"),
    [
        (("0,10", "5,20", "5,40", "0,10", "9,1"), {0.0: 10.0, 5.0: 30.0, 9.0: 1.0}),
        (("0,10", "1,", "2,30"), {0.0: 10.0, 2.0: 30.0}),
        (("-5,0", "0,0"), {-5.0: 0.0, 0.0: 0.0}),
    ],
    ids=["several rates at one time are averaged", "a row without a rate is left out", "zero and negative times are kept"],
)
def test_a_trace_is_read(tmp_path: Path, rows: tuple[str, ...], trace: dict[float, float]) -> None:
    time_s, rate = read_rates(written(tmp_path, *rows))
    assert (time_s.tolist(), rate.tolist()) == ([*trace], [*trace.values()])


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ((",5",), "row 1 after the header: t is nothing"),
        (("0,1", "1,-2"), 'row 2 after the header: rate is "-2"'),
        (("0,NaN",), 'row 1 after the header: rate is "NaN"'),
        (("0,", "1,"), "no row has a rate"),
        (("1700000000000,5", "1700000015000,6"), "t looks like milliseconds since 1970, the first is 1700000000000; seconds are needed"),
    ],
)
def test_what_is_no_trace_is_refused_in_one_line(tmp_path: Path, rows: tuple[str, ...], said: str) -> None:
    with pytest.raises(UserMistake) as raised:
        read_rates(written(tmp_path, *rows))
    assert said in str(raised.value) and "\n" not in str(raised.value)


def test_arrivals_are_linear_between_the_rows(tmp_path: Path) -> None:
    arrivals = read_trace(written(tmp_path, "0,10", "10,30"))
    assert [arrivals.rate(at_s) for at_s in (0.0, 5.0, 10.0)] == pytest.approx([10.0, 20.0, 30.0])


def test_a_million_rows_that_come_backwards_are_in_order(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("t,rate\n" + "\n".join(f"{number},{number % 7}" for number in range(999_999, -1, -1)))
    time_s, rate = read_rates(path)
    assert len(time_s) == 1_000_000 and np.all(np.diff(time_s) == 1) and rate[:8].tolist() == [0, 1, 2, 3, 4, 5, 6, 0]
