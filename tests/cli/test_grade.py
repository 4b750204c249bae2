from dataclasses import replace
from pathlib import Path

import pytest
from asked import found, mistake, shown
from recorded_history import CAPACITY, FORECAST, decided, graded, reading, simulated, started, written


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """Thirty forecasts a minute ahead that are 10 % too high, two capacities of which one was half of the truth, and a recovery."""
    recovery = replace(CAPACITY, kind="recovery", about="rescale_up", value=60.0, low=50.0, high=70.0)
    far = [graded(replace(FORECAST, about="900 s"), 10.0 * number, 1300.0) for number in range(25)]
    near = [graded(replace(FORECAST, value=1100.0, low=900.0), 10.0 * number, 1000.0) for number in range(30)]
    return written(tmp_path / "h.db", [*near, *far, graded(CAPACITY, 400.0, 2980.0), graded(CAPACITY, 410.0, 5960.0), graded(recovery, 420.0, 80.0)])


def test_a_row_a_kind_and_lead(history: Path) -> None:
    answer = found("grade", "--file", history)
    rows = [(each["kind"], each["about"], each["count"], each["verdict"]) for each in answer["grades"]]
    assert rows == [("capacity", "", 2, "few"), ("forecast", "60 s", 30, "good"), ("forecast", "900 s", 25, "off"), ("recovery", "rescale_up", 1, "few")]
    capacity, near, far, recovery = answer["grades"]
    assert (capacity["error"], capacity["bias"], capacity["within"], capacity["good_error"]) == pytest.approx((0.25, -0.25, 0.5, 0.25))
    assert (near["error"], near["bias"], near["within"]) == pytest.approx((0.1, 0.1, 1.0))
    assert far["error"] == pytest.approx(1.0) and recovery["good_error"] == 0.35
    assert answer["bounds_hold"] == 0.8 and answer["reason"] is None


def test_the_table_says_what_good_is(history: Path) -> None:
    text = " ".join(shown("grade", "--file", history).split())
    for words in (
        "load 60 s ahead", "load 900 s ahead", "recovery from rescale up", "≤ 25%", "≤ 35%", "+10%", "-25%", "good", "off", "few", "about 80% within",
    ):  # fmt: skip
        assert words in text
    assert "None" not in text


def test_only_the_last_part_counts_when_it_is_given(history: Path) -> None:
    assert [each["kind"] for each in found("grade", "--file", history, "--last", "25s")["grades"]] == ["capacity", "recovery"]
    said = mistake("grade", "--file", history, "--last", "ever")
    assert said.startswith("--last: found 'ever'") and "a duration such as" in said


def test_without_grades_one_line_says_why(tmp_path: Path) -> None:
    waiting = written(tmp_path / "a.db", [decided(0.0, others=(FORECAST, CAPACITY))])
    assert shown("grade", "--file", waiting) == "nothing is graded yet: 2 predictions were made, none could be judged so far\n"
    assert shown("grade", "--file", written(tmp_path / "b.db", [decided(0.0)])) == "nothing to grade: the policy predicts nothing\n"
    observed = written(tmp_path / "c.db", [started("observe")], [reading(0.0)])
    assert shown("grade", "--file", observed).startswith("nothing to grade: nothing was decided: the mode is observe")
    assert found("grade", "--file", observed)["grades"] == []


@pytest.fixture(scope="module")
def failed_often(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hundred minutes in shadow with a failure every nine."""
    failures_s = [540.0 * number for number in range(1, 11)]
    return simulated(tmp_path_factory.mktemp("failed") / "h.db", minutes=100, failures_s=failures_s)


def test_each_model_is_shown_beside_a_constant_and_the_papers_way(failed_often: Path) -> None:
    models = {each["model"]: each for each in found("grade", "--file", failed_often, "--models")["models"]}
    for name in ("load forecast", "capacity from utilisation", "downtime of query restart", "recovery from query restart (M_R)"):
        each = models[name]
        assert each["reason"] is None and each["held_out"] > 0 and None not in (each["mape"], each["constant_mape"])
    learnt = models["recovery from query restart (M_R)"]
    assert learnt["held_out"] == 10 and learnt["mape"] < learnt["constant_mape"] and learnt["paper"] == "plane"
    text = " ".join(shown("grade", "--file", failed_often, "--models").split())
    assert "recovery from query restart (M_R) 10" in text and "the errors of a constant and of the paper's method" in text
    assert "models" not in found("grade", "--file", failed_often)


def test_what_recoveries_taught_is_graded_beside_the_formula(failed_often: Path) -> None:
    grades = {(each["kind"], each["about"]): each for each in found("grade", "--file", failed_often)["grades"]}
    formula, learnt = grades["recovery", "query_restart"], grades["learnt_recovery", "query_restart"]
    assert formula["count"] == 10 > learnt["count"] >= 3 and learnt["error"] < 0.35
    assert "recovery from query restart, as learnt" in shown("grade", "--file", failed_often)


def test_decisions_of_a_job_that_fails_are_the_same_when_its_turns_are_taken_again(failed_often: Path) -> None:
    answer = found("replay", failed_often, "--verify")
    assert answer["turns"] >= 399 and answer["first_difference"] is None


def test_before_anything_was_learnt_no_model_has_an_error(tmp_path: Path) -> None:
    nothing = written(tmp_path / "h.db", [started("observe")], [reading(0.0)])
    assert shown("grade", "--file", nothing, "--models").endswith("no model has learnt anything yet\n")
    assert found("grade", "--file", nothing, "--models")["models"] == []


def test_bounds_that_seldom_hold_are_called_too_narrow(tmp_path: Path) -> None:
    tight = replace(FORECAST, low=2599.0, high=2601.0)
    (row,) = found("grade", "--file", written(tmp_path / "h.db", [graded(tight, 10.0 * number, 2500.0) for number in range(20)]))["grades"]
    assert (row["error"], row["within"], row["verdict"]) == (pytest.approx(0.04), 0.0, "bounds too narrow")
