"""The trial of forecasts that the tool and the benchmark share, and the loads it is made on."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

from penstock.core.models.arrays import Floats
from penstock.core.models.forecast.combined import HISTORY_S, HORIZON_S, LoadForecast
from penstock.core.models.forecast.evaluate import Origin, compared, gain, origins_of, tried
from penstock.core.models.forecast.series import STEP_S
from penstock.core.models.score import wape
from penstock.selftest.models.forecasts import forecast
from penstock.selftest.worlds.loads import LOADS, SECONDS, load


def ramp(length_s: int) -> tuple[Floats, Floats]:
    time_s = np.arange(0.0, length_s, 10.0)
    return time_s, 1000.0 + time_s


def moments(time_s: Floats, rate: Floats) -> list[Origin]:
    return list(origins_of(time_s, rate, history_s=600.0, horizon_s=300.0, step_s=10.0, origins=2))


def test_each_forecast_is_timed_and_told_of() -> None:
    told: list[tuple[int, int]] = []
    ticks = count(0.0, 3.0)
    trial = tried(moments(*ramp(2000)), LoadForecast(history_s=600.0, horizon_s=300.0), lambda *done: told.append(done), lambda: next(ticks))
    assert trial.seconds_per_forecast == 3.0 and told == [(1, 2), (2, 2)] and len(trial.results) == 2
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
    measured, better = forecast("swing", time_s, 1000.0 + 500.0 * np.sin(time_s / 800.0), 2)
    assert better is not None and better > 0.5 and [(each.least, each.most) for each in measured] == [(None, None), (0.7, 0.9), (None, 0.5)]
    assert forecast("short", *ramp(900), 2) == ([], None)
    assert forecast("silent", ramp(4600)[0], np.zeros(460), 2) == ([], None)


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
    found = tried(origins, LoadForecast(), lambda *_: None, lambda: 0.0).evaluation()
    assert 0.70 <= found.coverage_80 <= 0.90
