import random
import re
from pathlib import Path

import numpy as np
import pytest
from asked import drawn, found, mistake, table, written

from penstock.core.models.latency.latency_by_executors import MOST_ROWS
from penstock.tables.measurements import read_profile

HEADER = "scaleout,throughput\n"


def profiles_csv(path: Path, executor_counts: tuple[int, ...] = (2, 5, 8, 11, 14, 18, 21, 24)) -> Path:
    path.write_text(HEADER + "\n".join(f"{s},{9000 * s**0.8:.0f}" for s in executor_counts))
    return path


def test_capacity_over_executors_has_its_form_and_its_error(tmp_path: Path) -> None:
    fitted = found("fit", "scaleout", profiles_csv(tmp_path / "profiles.csv"), "--at", "12,30")
    assert fitted["form"] == "power" and fitted["mape"] < 0.01 < fitted["constant_mape"]
    assert fitted["parameters"] == {"factor": pytest.approx(9000, rel=0.01), "exponent": pytest.approx(0.8, abs=0.01)}
    assert list(fitted["predictions"]) == ["12", "30"]
    assert fitted["predictions"]["30"] == pytest.approx(9000 * 30**0.8, rel=0.01)
    low, high = fitted["bounds"]["30"]
    assert low <= fitted["predictions"]["30"] <= high


def test_executors_with_the_same_capacity_are_named_together(tmp_path: Path) -> None:
    path = written(tmp_path / "profiles.csv", HEADER + "2,1000\n3,2010\n4,2000\n5,1990\n8,4000\n")
    assert found("fit", "scaleout", path)["ties"] == [[3, 4, 5]]
    assert "no difference between" in table("fit", "scaleout", path) and "3, 4, 5" in table("fit", "scaleout", path)


def test_the_table_says_the_form_its_error_and_what_is_predicted(tmp_path: Path) -> None:
    said = table("fit", "scaleout", profiles_csv(tmp_path / "profiles.csv"), "--at", "12,96")
    assert "capacity over executors" in said and "form power, factor 9" in said and "error, leaving one out 0.0%; a constant" in said
    assert "at 12 65,7" in said and "in 4 of 5 cases; far from the 2 to 24 measured" in said


def test_a_plateau_is_named_and_no_prediction_exceeds_it(tmp_path: Path) -> None:
    path = written(tmp_path / "profiles.csv", HEADER + "1,5000\n2,10100\n3,14900\n4,20000\n6,20100\n8,19900\n12,20200\n16,20000\n")
    fitted = found("fit", "scaleout", path, "--at", "2,12,24")
    assert fitted["plateau"] == {"from": 4, "throughput": pytest.approx(20_040)} and fitted["ties"] == [[4, 6, 8, 12, 16]]
    assert fitted["predictions"] == {"2": pytest.approx(10_000, rel=0.02), "12": pytest.approx(20_040), "24": pytest.approx(20_040)}
    assert fitted["mape"] < 0.05 < fitted["constant_mape"]
    assert "from 4 on 20,040 rows/s, capacity grows no more" in table("fit", "scaleout", path)
    assert "plateau from 4" in drawn(tmp_path, "fit", "scaleout", path)


def test_without_a_plateau_and_executors_to_predict_there_are_none(tmp_path: Path) -> None:
    fitted = found("fit", "scaleout", profiles_csv(tmp_path / "profiles.csv"))
    assert fitted["plateau"] is None and fitted["predictions"] == fitted["bounds"] == {} and fitted["mape"] < 0.01


def test_the_picture_shows_what_was_measured_and_what_is_predicted(tmp_path: Path) -> None:
    picture = drawn(tmp_path, "fit", "scaleout", profiles_csv(tmp_path / "profiles.csv"), "--at", "30")
    for words in ("measured", "predicted", "power", "4 of 5 cases", "number of executors", "profiles.csv"):
        assert words in picture


@pytest.mark.parametrize(
    ("text", "form", "at_8"),
    [
        pytest.param("4,4000\n", "proportional", 8000, id="one row"),
        pytest.param("4,3900\n4,4100\n4,4000\n", "proportional", 8000, id="one number of executors"),
        pytest.param("2,2000\n4,4000\n", "power", 8000, id="two numbers of executors"),
        pytest.param("12,13000\n2,3000\n6,7000\n4,5000\n2,3000\n", "line", 9000, id="unsorted and twice"),
        pytest.param("6,1000\n9,4000\n12,7000\n10,5000\n", "line", 3000, id="a line that falls below zero"),
    ],
)
def test_a_strange_file_has_a_correct_answer(tmp_path: Path, text: str, form: str, at_8: float) -> None:
    path = written(tmp_path / "profiles.csv", HEADER + text)
    fitted = found("fit", "scaleout", path, "--at", "1,8,10000")
    assert fitted["form"] == form and fitted["predictions"]["8"] == pytest.approx(at_8)
    assert fitted["predictions"]["1"] > 0
    low, high = fitted["bounds"]["10000"]
    assert low < fitted["predictions"]["10000"] and (high is None or high > 1.5 * low)


@pytest.mark.parametrize("at", ["0", "-3", "12;24", "many", "2.5", "10001"])
def test_an_invalid_number_of_executors_is_one_line(tmp_path: Path, at: str) -> None:
    said = mistake("fit", "scaleout", profiles_csv(tmp_path / "profiles.csv"), "--at", at)
    assert said == f"--at: found {at}, whole numbers from 1 to 10000 with commas between them are allowed, such as 12,24"


@pytest.mark.long
def test_a_million_rows_are_answered(tmp_path: Path) -> None:
    path, chance = tmp_path / "profiles.csv", random.Random(1)
    path.write_text(HEADER + 1000 * "".join(f"{s},{500 * s**0.9 * chance.lognormvariate(0, 0.05):.1f}\n" for s in range(1, 1001)))
    fitted = found("fit", "scaleout", path, "--at", "100")
    assert fitted["form"] == "power" and fitted["predictions"]["100"] == pytest.approx(500 * 100**0.9, rel=0.01)


EXECUTOR_COUNTS = (2, 6, 10, 14)


def profiled(limit: float = 9000.0) -> list[str]:
    """As Phoebe profiles: rates rise in steps until a copy falls behind."""
    rng = np.random.default_rng(1)
    return [
        f"{s},{rate},{(600 + 80 / (1 - rate / (limit * s)) if rate < 0.967 * limit * s else 60_000 * rng.uniform(0.8, 1.2)) * rng.lognormal(0, 0.05):.0f}"
        for s in EXECUTOR_COUNTS
        for rate in range(6_000, int(1.1 * limit) * s, 6_000 if s < 6 else 12_000)
    ]


def profile_csv(folder: Path, rows: list[str], header: str = "scaleout,rate,latency_ms") -> Path:
    path = folder / "profile.csv"
    path.write_text(f"{header}\n" + "\n".join(rows))
    return path


def test_a_profile_gives_latency_validity_and_the_knees(tmp_path: Path) -> None:
    fitted = found("fit", "profile", profile_csv(tmp_path, [*profiled(), "24,12000,640", "24,60000,660", "24,96000,690"]))
    assert fitted["mape"] < fitted["constant_mape"] and fitted["validity_accuracy"] > 0.8
    assert 0.5 <= fitted["constant_validity_accuracy"] < fitted["validity_accuracy"]
    assert list(fitted["t_max"]) == ["2", "6", "10", "14", "24"] and fitted["t_max"]["24"] is None
    assert [fitted["t_max"][str(s)] for s in (2, 6)] == [18_000, 54_000]


@pytest.mark.long
def test_neither_the_order_of_rows_nor_rows_that_are_there_twice_change_a_knee(tmp_path: Path) -> None:
    rows = profiled() * 2
    random.Random(1).shuffle(rows)
    fitted = found("fit", "profile", profile_csv(tmp_path, rows))
    assert fitted["mape"] < fitted["constant_mape"] and [fitted["t_max"][str(s)] for s in (2, 6)] == [18_000, 54_000]


def test_validity_as_given_overrules_the_latency_and_cells_without_it_are_judged_by_the_limit(tmp_path: Path) -> None:
    rows = [f"{s},{rate},{100 + rate / 100},{'' if rate == 100 else 'yes' if rate <= 100 * s else 'no'}" for s in (2, 4) for rate in range(100, 700, 100)]
    fitted = found("fit", "profile", profile_csv(tmp_path, rows, "scaleout,rate,latency_ms,valid"), "--limit-ms", "1000")
    assert fitted["t_max"] == {"2": 300, "4": 500}


@pytest.mark.parametrize("rows", [[f"4,{rate},{300 + rate}" for rate in range(100, 900, 100)], [f"{s},500,{900 + 100 / s}" for s in (1, 2, 3, 4, 6, 8)]])
def test_one_number_of_executors_or_one_rate_is_answered(tmp_path: Path, rows: list[str]) -> None:
    fitted = found("fit", "profile", profile_csv(tmp_path, rows))
    assert fitted["mape"] < 0.5 and set(fitted["t_max"].values()) == {None}


def test_of_a_million_rows_those_kept_are_spread_over_all_executors_and_rates(tmp_path: Path) -> None:
    rows = profiled()
    few, many = (read_profile(profile_csv(tmp_path, each)) for each in (rows, rows + [rows[0]] * (1_000_000 - len(rows))))
    assert len(many) <= MOST_ROWS and set(few) <= set(many)


@pytest.mark.long
def test_a_profile_of_a_million_rows_is_answered(tmp_path: Path) -> None:
    rows = profiled()
    fitted = found("fit", "profile", profile_csv(tmp_path, rows * (1_000_000 // len(rows) + 1)))
    assert fitted["mape"] < fitted["constant_mape"] and [fitted["t_max"][str(s)] for s in (2, 6)] == [18_000, 54_000]


def test_the_table_says_the_forms_their_errors_and_the_knees(tmp_path: Path) -> None:
    said = table("fit", "profile", profile_csv(tmp_path, profiled()[::2]))
    assert "latency over executors and rate" in said and "validity by" in said and "the paper's boosting" in said and "validity predicted" in said
    assert re.search(r"validity predicted \d+%; a constant \d+%", said)
    assert "t_max at 2 " in said and "t_max at 14 " in said and "rows/s" in said


def test_the_picture_has_a_shade_for_each_number_of_executors(tmp_path: Path) -> None:
    picture = drawn(tmp_path, "fit", "profile", profile_csv(tmp_path, profiled()[::2]))
    assert all(f"<!-- {s} -->" in picture for s in EXECUTOR_COUNTS) and "Latency by executors" in picture and "<!-- latency (ms) -->" in picture
