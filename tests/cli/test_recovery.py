from pathlib import Path

import numpy as np
import pytest
from asked import drawn, found, mistake, table

EXACT_S = 110 + 120 * 0.51 / 0.49
"""At 51,000 of 100,000 rows/s."""


def asked(path: Path, **options: object) -> list[object]:
    """The words of a question, with `options` instead of the usual ones."""
    usual = {"trace": path, "at": 1200, "capacity": 100_000, "interval": 10, "downtime": 110}
    return ["recovery", *(word for name, value in {**usual, **options}.items() for word in (f"--{name}", value))]


def trace(folder: Path, text: str) -> Path:
    path = folder / "trace.csv"
    path.write_text(text)
    return path


def steady(folder: Path) -> Path:
    return trace(folder, "t,rate\n0,51000\n5000,51000\n")


def test_it_is_exact_for_a_constant_rate_with_what_else_there_is_to_say(tmp_path: Path) -> None:
    answer = found(*asked(steady(tmp_path)))
    assert answer["recovery_s"] == pytest.approx(EXACT_S, abs=1e-6)
    assert answer["after_checkpoint_s"] == pytest.approx(110 + 110 * 0.51 / 0.49, abs=1e-6)
    assert (answer["downtime_s"], answer["rate"], answer["utilization"], answer["long_run_rate"]) == (110, 51_000, 0.51, 51_000)
    assert (answer["beyond_trace"], answer["continued_share"], answer["beyond_horizon"]) == (False, 0.0, False)


@pytest.mark.parametrize("capacity", [0, 1, 50_000, 51_000])
def test_a_capacity_that_does_not_suffice_is_null(tmp_path: Path, capacity: float) -> None:
    answer = found(*asked(steady(tmp_path), capacity=capacity))
    assert (answer["recovery_s"], answer["after_checkpoint_s"], answer["continued_share"]) == (None, None, 1.0)


def test_a_recovery_beyond_the_trace_or_a_quarter_of_an_hour_says_so(tmp_path: Path) -> None:
    answer = found(*asked(steady(tmp_path), at=4900))
    assert answer["recovery_s"] == pytest.approx(EXACT_S, abs=1e-6)
    assert answer["beyond_trace"] and answer["continued_share"] == pytest.approx(1 - 100 / EXACT_S)
    answer = found(*asked(steady(tmp_path), capacity=56_000))
    assert answer["recovery_s"] > 900 and answer["beyond_horizon"] and not answer["beyond_trace"]


def test_an_overload_that_passes_is_waited_for(tmp_path: Path) -> None:
    path = trace(tmp_path, "t,rate\n0,50000\n1300,50000\n1400,150000\n1600,150000\n1700,50000\n5000,50000\n")
    took_s = found(*asked(path))["recovery_s"]
    assert took_s > 500 and took_s == pytest.approx(by_seconds(path), abs=1.0)


def by_seconds(path: Path) -> float:
    """A queue worked off second by second."""
    t, rate = np.loadtxt(path, delimiter=",", skiprows=1, unpack=True)
    waiting, second = 0.0, 1190
    while second < 1310 or waiting > 0:
        waiting += float(np.interp(second + 0.5, t, rate)) - (100_000 if second >= 1310 else 0)
        second += 1
    return second - 1200.0


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("t,rate\n" + "".join(f"{t},51000\n" for t in range(0, 5000, 10) if t % 70), {}),
        ("t,rate\n" + "".join(f"{t},{'51000' if t % 30 else ''}\n" for t in range(10, 5000, 10)), {}),
        ("t,rate\n" + "".join(f"{t},51000\n" for t in range(5000, -1, -10)), {}),
        ("t,rate\n" + "".join(f"{t},50000\n{t},52000\n" for t in range(0, 5000, 10)), {}),
        ("t,rate\n" + "".join(f"{t},51000\n" for t in [*range(0, 2000), *range(8000, 9000)]), {}),
        ("when,t,rate\n" + "".join(f"noon,{t - 5000},51000\n" for t in range(0, 5000, 10)), {"at": -3800}),
        ("t,rate\n1200,51000\n", {}),
    ],
    ids=["rows missing", "cells empty", "not in order", "twice the same time", "a gap elsewhere", "other columns, times below zero", "one row"],
)
def test_a_trace_that_is_not_tidy_gets_the_right_answer(tmp_path: Path, text: str, options: dict[str, object]) -> None:
    assert found(*asked(trace(tmp_path, text), **options))["recovery_s"] == pytest.approx(EXACT_S, abs=1e-6)


@pytest.mark.long
def test_a_million_rows_are_answered(tmp_path: Path) -> None:
    path = trace(tmp_path, "t,rate\n" + ",51000\n".join(map(str, range(1_000_000))) + ",51000\n")
    assert found(*asked(path, at=999_000))["recovery_s"] == pytest.approx(EXACT_S, abs=1e-6)


def test_the_noise_of_the_last_row_does_not_decide_whether_it_ever_recovers(tmp_path: Path) -> None:
    rate = 90_000 * (1 + np.random.default_rng(1).normal(0, 0.1, 1500))
    rate[-1] = 130_000
    answer = found(*asked(trace(tmp_path, "t,rate\n" + "".join(f"{t},{each:.0f}\n" for t, each in enumerate(rate)))))
    assert answer["recovery_s"] == pytest.approx(110 + 120 * 0.9 / 0.1, rel=0.2)
    assert answer["long_run_rate"] == pytest.approx(90_000, rel=0.02)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is empty"),
        ("t,rate\n", "it has a header and no rows"),
        ("t,load\n0,5\n", "the column rate is missing"),
        ("t;rate\n0;5\n", "commas are needed"),
        ("t,rate\n0,5\n1,many\n", 'row 2 after the header: rate is "many"'),
        ("t,rate\n0,5\nnoon,5\n", 'row 2 after the header: t is "noon"'),
        ("t,rate\n0,5\n1,-3\n", 'rate is "-3", a number of at least 0 is needed'),
        ("t,rate\n0,5\n1,inf\n", 'rate is "inf"'),
        ("t,rate\n0,\n1,\n", "no row has a rate"),
        ("t,rate\n" + "".join(f"{t},5\n" for t in [*range(0, 1000), *range(2000, 3000)]), "no rate is known from 999 s to 2000 s, which the answer needs"),
    ],
)
def test_a_trace_that_cannot_be_used_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    assert said in mistake(*asked(trace(tmp_path, text)))


@pytest.mark.parametrize("option", ["at", "capacity", "interval", "downtime", "lag"])
def test_an_option_that_is_no_number_or_below_zero_is_one_line(tmp_path: Path, option: str) -> None:
    for value in ("inf", "nan", "-inf"):
        assert mistake(*asked(steady(tmp_path), **{option: value})) == f"--{option}: found {value}, a number is needed"
    assert option == "at" or mistake(*asked(steady(tmp_path), **{option: -5})) == f"--{option}: found -5, a number of at least 0 is needed"


@pytest.mark.parametrize("at", [-1, 5000.5, 9000])
def test_a_failure_outside_of_the_trace_is_one_line(tmp_path: Path, at: float) -> None:
    assert mistake(*asked(steady(tmp_path), at=at)) == f"--at: found {at:g}, the trace goes from 0 s to 5000 s"


def test_the_table_says_how_long_it_takes_and_what_of_it_is_guessed(tmp_path: Path) -> None:
    said = table(*asked(steady(tmp_path), at=4900))
    assert "a failure at 4900 s" in said and "recovery 234.9 s" in said and "of this, down 110.0 s" in said
    assert "51,000 rows/s, 51% of the capacity" in said and "of it is beyond the end of the trace" in said
    assert "recovery never: 51,000 rows/s go on arriving" in table(*asked(steady(tmp_path), capacity=40_000))


def test_a_picture_can_be_a_png_and_what_is_none_is_one_line(tmp_path: Path) -> None:
    from matplotlib.image import imread

    table(*asked(steady(tmp_path)), "--plot", tmp_path / "picture.png")
    picture = imread(tmp_path / "picture.png")
    assert picture.shape[0] > 300 and picture.shape[1] > 500 and picture.std() > 0.02, "something is drawn on it"
    assert "ends in .png or .svg" in mistake(*asked(steady(tmp_path)), "--plot", "picture.pdf")


def test_the_picture_shows_what_arrives_what_is_processed_and_when_it_has_recovered(tmp_path: Path) -> None:
    picture = drawn(tmp_path, *asked(steady(tmp_path), at=4800))
    for words in ("A failure at 4800 s", "arriving", "processed", "capacity", "down for 110 s", "recovered after 235 s", "end of the trace"):
        assert words in picture
    assert "never recovers" in drawn(tmp_path, *asked(steady(tmp_path), capacity=40_000))
