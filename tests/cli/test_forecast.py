import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from asked import drawn, found, mistake, table

QUICK = ("--history", 600, "--horizon", 300, "--origins", 3, "--no-baselines")


def written(folder: Path, rows: Sequence[tuple[object, object]]) -> Path:
    path = folder / "trace.csv"
    path.write_text("t,rate\n" + "\n".join(f"{t},{rate}" for t, rate in rows))
    return path


def rising(length_s: int, every_s: int = 10) -> list[tuple[object, object]]:
    return [(t, 1000 + t) for t in range(0, length_s, every_s)]


def test_a_forecast_is_scored_beside_what_simple_forecasters_say(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    t = np.arange(0, 9000, 10)
    rate = 5000 + 3000 * np.sin(2 * np.pi * t / 7200) + rng.normal(0, 60, len(t))
    fitted = found("forecast", written(tmp_path, [(a, f"{b:.1f}") for a, b in zip(t, rate, strict=True) if a % 470]), "--origins", 4)
    assert fitted["wape"] < fitted["baselines"]["naive"] and 0 <= fitted["coverage_80"] <= 1
    assert fitted["better_than_best_baseline"] == pytest.approx(1 - fitted["wape"] / min(fitted["baselines"].values()))
    assert set(fitted["baselines"]) == {"autoarima", "autoets", "naive"} and fitted["origins"] == 4
    assert fitted["seconds_per_forecast"] > 0 and sum(fitted["models"].values()) == pytest.approx(1, abs=0.01)


def test_a_trace_sampled_more_slowly_than_the_step_is_forecast_from_the_right_moment(tmp_path: Path) -> None:
    fitted = found("forecast", written(tmp_path, rising(9000, 60)), "--origins", 3, "--no-baselines")
    assert fitted["wape"] < 0.005, "a straight line is predicted, at the time at which it comes"
    assert fitted["baselines"] == {} and fitted["better_than_best_baseline"] is None


@pytest.mark.parametrize(("step", "horizon", "every_s"), [(30, 300, 10), (5, 120, 5), (20, 90, 40), (20, 70, 40)])
def test_a_line_is_predicted_in_steps_of_any_length_also_where_they_do_not_fit_into_the_horizon(tmp_path: Path, step: int, horizon: int, every_s: int) -> None:
    fitted = found("forecast", written(tmp_path, rising(3000, every_s)), "--history", 900, "--horizon", horizon, "--step", step, "--origins", 4)
    assert fitted["wape"] < 0.005 and fitted["origins"] == 4 and set(fitted["baselines"]) == {"autoarima", "autoets", "naive"}


def shuffled(rows: list[tuple[object, object]]) -> list[tuple[object, object]]:
    return random.Random(1).sample(rows, len(rows))


@pytest.mark.parametrize(
    "rows",
    [
        shuffled(rising(3000)),
        rising(3000) + rising(3000),
        [each for number, each in enumerate(rising(3000)) if number % 9 and not 150 < number < 170],
        [(t, "" if number % 5 == 3 else rate) for number, (t, rate) in enumerate(rising(3000))],
        [(f"{1.7e9 + t:.0f}", 1000 + t) for t in range(0, 3000, 10)],
        [(t - 2000, 1000 + t) for t in range(0, 3000, 10)],
        [(t, 9_000_000) for t in range(0, 500, 10)] + [(t + 5000, 1000 + t) for t in range(0, 3000, 10)],
    ],
    ids=["unsorted", "every time twice", "gaps", "empty cells", "seconds of an epoch", "before zero", "a long silence"],
)
def test_a_line_is_predicted_whatever_its_file_looks_like(tmp_path: Path, rows: list[tuple[object, object]]) -> None:
    fitted = found("forecast", written(tmp_path, rows), *QUICK)
    assert fitted["wape"] < 0.005 and fitted["origins"] == 3


def test_the_table_and_the_picture_show_the_error_the_bounds_and_the_models(tmp_path: Path) -> None:
    said = table("forecast", written(tmp_path, rising(3000)), *QUICK)
    assert "forecasts of 300 s from 3 moments" in said and "error (WAPE) 0.0" in said and "truth within the 80 % bounds" in said
    assert "refits included" in said and "models used line" in said
    words = drawn(tmp_path, "forecast", written(tmp_path, rising(3000)), *QUICK)
    assert all(word in words for word in ("Forecasts of 300 s", "trace.csv", "measured", "forecast", "4 of 5 cases", "rows/s"))


def test_no_load_at_all_has_no_relative_error(tmp_path: Path) -> None:
    fitted = found("forecast", written(tmp_path, [(t, 0) for t in range(0, 3000, 10)]), *QUICK[:-1])
    assert fitted["wape"] is None and fitted["coverage_80"] == 1.0 and fitted["baselines"] == {}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([(0, 5)], "0 s without a long gap at its end, 900 s of history and horizon are needed"),
        (rising(600), "590 s without a long gap at its end, 900 s"),
        (rising(3000) + [(t + 9000, 5) for t in range(0, 500, 10)], "490 s without a long gap at its end, 900 s"),
        ([(number * 1e12, 5) for number in range(5)], "its rows are 1e+12 s apart, at most the horizon (300 s) is allowed"),
        ([(0, 5), ("later", 5)], 'row 2 after the header: t is "later"'),
        ([(0, 5), (1, -5)], 'row 2 after the header: rate is "-5"'),
        ([(0, "nan")], 'row 1 after the header: rate is "nan"'),
        ([(0, "inf")], 'row 1 after the header: rate is "inf"'),
    ],
    ids=["one row", "short", "a gap near the end", "far apart", "text", "negative", "nan", "infinite"],
)
def test_what_cannot_be_forecast_is_one_line(tmp_path: Path, rows: list[tuple[object, object]], said: str) -> None:
    assert said in mistake("forecast", written(tmp_path, rows), *QUICK)


def test_a_step_longer_than_the_horizon_is_refused(tmp_path: Path) -> None:
    assert "--step: found 400" in mistake("forecast", written(tmp_path, rising(3000)), "--history", 3000, "--horizon", 300, "--step", 400)


@pytest.mark.long
def test_a_million_rows_are_answered(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("t,rate\n" + "\n".join(f"{t},{5000 + t % 3}" for t in range(1_000_000)))
    assert found("forecast", path, *QUICK)["wape"] < 0.001
