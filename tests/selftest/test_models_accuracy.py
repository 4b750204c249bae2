from itertools import count
from pathlib import Path

import numpy as np
import pytest
from asked import found, table

from penstock.core.models.arrays import Floats
from penstock.core.models.forecast.combined import HISTORY_S, HORIZON_S, LoadForecast
from penstock.core.models.forecast.evaluate import Origin, compared, gain, origins_of, tried
from penstock.core.models.forecast.series import STEP_S
from penstock.core.models.score import wape
from penstock.experiments.runner import CellStore
from penstock.selftest import capacity_accuracy, recovery_accuracy
from penstock.selftest import models_accuracy as everything
from penstock.selftest.model_targets import Found, Measured, ModelsResult
from penstock.selftest.models_accuracy import forecast, regressions
from penstock.selftest.worlds.khaos import LATENCIES, RECOVERIES
from penstock.selftest.worlds.loads import LOADS, SECONDS, load

ERRORS = ("error", "MAPE", "WAPE")


@pytest.fixture
def swings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("os.cpu_count", lambda: 1)  # other processes know nothing of what is patched here
    (tmp_path / "workloads").mkdir()
    time_s = np.arange(0, 4600, 10)
    rows = zip(time_s.tolist(), (1000 + 500 * np.sin(time_s / 800)).tolist(), strict=True)
    (tmp_path / "workloads" / "swing.csv").write_text("t,rate\n" + "\n".join(f"{t},{rate:.1f}" for t, rate in rows))
    return tmp_path / "workloads"


def only(target: object, name: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, name, {key: getattr(target, name)[key]})


def test_every_measured_row_stands_beside_a_constant_and_the_paper(swings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = everything.regressions
    monkeypatch.setattr(everything, "LOADS", {})
    monkeypatch.setattr(everything, "regressions", lambda: study(seeds=(100,)))
    for target, name, key in (
        (capacity_accuracy, "LOADS", "rising"),
        (recovery_accuracy, "LOADS", "sine"),
        (everything, "LATENCIES", "mean_pauses"),
        (everything, "RECOVERIES", "worst_case"),
    ):
        only(target, name, key, monkeypatch)
    result = found("selftest", "models", "--traces", swings, "--origins", 2, code=1)
    assert any(each["met"] is False for each in result["measured"]), "two forecasts of a short wave tell little of bounds, hence the exit code"
    errors = [each for each in result["measured"] if each["what"].endswith(ERRORS)]
    assert len(errors) == 6 + 4 + 3 + 1
    assert all(each["constant"] > 0 and each["paper"] > 0 for each in errors), errors
    assert [each["met"] for each in result["measured"] if each["most"] is None and each["least"] is None] == [None], "the WAPE, whose target is the mean gain"


def nothing(*given: object) -> Found:
    return Found(measured=())


def test_a_miss_differs_from_a_hit(swings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(everything, "LOADS", {})
    for name in ("formula", "regressions"):
        monkeypatch.setattr(everything, name, nothing)
    miss = Measured(what="capacity: error", found=0.07, most=0.05, constant=0.4, paper=0.1)
    monkeypatch.setattr(everything, "capacity", lambda: Found(measured=(miss,)))
    said = table("selftest", "models", "--traces", swings, "--origins", 2, "--keep", swings / "kept.jsonl", code=1)
    assert CellStore(swings / "kept.jsonl", Found).known().keys() and Found(measured=(miss,)) in CellStore(swings / "kept.jsonl", Found).known().values()
    assert "capacity: error 0.07; target at most 0.05; MISSED; a constant 0.4; the paper 0.1" in said
    assert "median" in said and "better than the best alone" in said


@pytest.mark.parametrize(
    ("found_", "least", "most", "met", "wanted"),
    [(0.8, 0.7, 0.9, True, "0.7 to 0.9"), (0.95, 0.7, 0.9, False, "0.7 to 0.9"), (0.1, 0.1, None, True, "at least 0.1"), (0.3, None, None, None, "none")],
)
def test_a_target_is_met_within_its_bounds(found_: float, least: float | None, most: float | None, met: bool | None, wanted: str) -> None:
    measured = Measured(what="it", found=found_, least=least, most=most)
    assert measured.met is met and measured.wanted == wanted and ("MISSED" in measured.said) == (met is False)
    assert ModelsResult(measured=(measured,)).rows()[-1] == ("targets", "1 MISSED" if met is False else "all met")


def ramp(length_s: int) -> tuple[Floats, Floats]:
    time_s = np.arange(0.0, length_s, 10.0)
    return time_s, 1000.0 + time_s


def moments(time_s: Floats, rate: Floats) -> list[Origin]:
    return list(origins_of(time_s, rate, history_s=600.0, horizon_s=300.0, step_s=10.0, origins=2))


def test_each_forecast_is_timed_and_reported() -> None:
    reported: list[tuple[int, int]] = []
    ticks = count(0.0, 3.0)
    trial = tried(moments(*ramp(2000)), LoadForecast(history_s=600.0, horizon_s=300.0), lambda *done: reported.append(done), lambda: next(ticks))
    assert trial.seconds_per_forecast == 3.0 and reported == [(1, 2), (2, 2)] and len(trial.results) == 2
    found = trial.evaluation()
    assert found.wape is not None and found.wape < 0.001, "a straight line goes on"


def test_simple_forecasters_are_scored_at_the_same_moments() -> None:
    trial = tried(moments(*ramp(2000)), LoadForecast(history_s=600.0, horizon_s=300.0), lambda *_: None, lambda: 0.0)
    alone = compared(trial, lambda *_: None)
    last = [origin.history[-1] for _, origin in trial.results for _ in origin.truth]
    assert alone["naive"] == pytest.approx(wape(last, [value for _, origin in trial.results for value in origin.came]))
    assert set(alone) == {"autoarima", "autoets", "naive"}


def test_there_is_no_gain_where_nothing_can_be_better() -> None:
    assert gain(0.1, {}) is None and gain(0.0, {"naive": 0.0}) is None and gain(None, {"naive": 0.2}) is None
    assert gain(0.3, {"naive": 0.2, "autoets": 0.4}) == pytest.approx(-0.5)


def test_a_trace_gives_its_targets_and_one_too_short_or_without_load_none() -> None:
    time_s = np.arange(0.0, 4600.0, 10.0)
    swing = forecast("swing", time_s, 1000.0 + 500.0 * np.sin(time_s / 800.0), 2)
    assert swing.gain is not None and swing.gain > 0.5 and [(each.least, each.most) for each in swing.measured] == [(None, None), (0.7, 0.9), (None, 0.5)]
    assert forecast("short", *ramp(900), 2) == forecast("silent", ramp(4600)[0], np.zeros(460), 2) == Found(measured=())


@pytest.mark.parametrize("name", LOADS)
def test_a_load_is_the_same_for_a_seed_and_another_for_another(name: str) -> None:
    time_s, rate = load(name, 1)
    again, other = load(name, 1), load(name, 2)
    assert np.array_equal(rate, again[1]) and not np.array_equal(rate[:1000], other[1][:1000])
    assert rate.min() >= 0 and np.all(np.isfinite(rate)) and 0.95 * SECONDS < len(rate) < SECONDS
    assert np.all(np.diff(time_s) >= 1) and 100 < np.diff(time_s).max() < 150, "once silent for two minutes"
    assert 0.01 < np.std(rate) / np.mean(rate) < 1.5


def pure_sine(period_s: float) -> tuple[Floats, Floats]:
    time_s = np.arange(0.0, SECONDS)
    return time_s, np.floor(32_500 + 27_500 * np.sin(2 * np.pi * time_s / period_s))


@pytest.mark.long
@pytest.mark.parametrize("what", [*LOADS, 7000.0, 10_800.0, 15_000.0])
def test_four_of_five_come_within_the_bounds_of_any_load(what: str | float) -> None:
    time_s, rate = load(what, 8) if isinstance(what, str) else pure_sine(what)
    origins = list(origins_of(time_s, rate, history_s=HISTORY_S, horizon_s=HORIZON_S, step_s=STEP_S, origins=40))
    assert 0.70 <= tried(origins, LoadForecast(), lambda *_: None, lambda: 0.0).evaluation().coverage_80 <= 0.90


@pytest.mark.long
def test_every_world_is_held_to_the_target_that_its_noise_permits() -> None:
    found = regressions(seeds=(100,)).measured
    assert [each.most for each in found] == [0.16] * len(RECOVERIES) + [0.09] * len(RECOVERIES) + [0.15] * len(LATENCIES)
    assert not [each.what for each in found if not each.met]
