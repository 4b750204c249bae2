"""The level at which arrivals go on: not that of one noisy reading, nor the mean of a load that moves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.formula import recovery_s
from penstock.core.models.recovery.long_run import long_run_level


def noisy(seed: int, level: float, noise: float, count: int = 1800, step_s: float = 1.0) -> Arrivals:
    rng = np.random.default_rng(seed)
    return Arrivals.through([step_s * number for number in range(count)], np.maximum(0.0, level * (1 + rng.normal(0, noise, count))))


@pytest.mark.parametrize("noise", [0.02, 0.1, 0.2])
@pytest.mark.parametrize("step_s", [1.0, 15.0])
def test_whether_a_job_ever_recovers_is_not_decided_by_the_noise_of_the_last_reading(noise: float, step_s: float) -> None:
    enough = [recovery_s(noisy(seed, 90.0, noise, step_s=step_s), 1500.0 * step_s, 100.0, 10.0, 600.0 * step_s) for seed in range(20)]
    too_little = [recovery_s(noisy(seed, 110.0, noise, step_s=step_s), 1500.0 * step_s, 100.0, 10.0, 600.0 * step_s) for seed in range(20)]
    assert sum(each < math.inf for each in enough) >= 19
    assert sum(each == math.inf for each in too_little) >= 19


@pytest.mark.parametrize("lasts", [3, 5, 8])
def test_nor_by_noise_that_lasts_for_some_readings(lasts: int) -> None:
    levels = []
    for seed in range(40):
        noise = np.convolve(np.random.default_rng(seed).normal(0, 0.2, 1800 + lasts - 1), np.full(lasts, lasts**-0.5), mode="valid")
        levels.append(long_run_level(np.arange(1800.0), 90.0 * (1 + noise)))
    assert sum(each < 100.0 for each in levels) >= 38
    assert np.median(np.abs(np.array(levels) - 90.0)) < 4.0


def test_the_level_of_a_steady_noisy_load_is_its_mean() -> None:
    levels = [noisy(seed, 1000.0, 0.1, 1024).long_run_rate for seed in range(40)]
    assert np.median(np.abs(np.array(levels) - 1000.0)) < 5.0
    assert np.mean(np.abs(np.array(levels) - 1000.0) < 100.0) >= 0.95


@given(st.floats(0.01, 1000), st.integers(1, 200))
def test_a_constant_load_goes_on_to_the_last_digit(rate: float, count: int) -> None:
    assert Arrivals.through(np.arange(float(count)), np.full(count, rate)).long_run_rate == rate


@given(st.floats(0.1, 10), st.integers(2, 2000))
def test_a_smooth_load_that_moves_goes_on_at_its_last_level(slope: float, count: int) -> None:
    rising = np.array([100.0 + slope * number for number in range(count)])
    assert long_run_level(np.arange(float(count)), rising) == rising[-1]


@pytest.mark.parametrize("phase", [0.0, 1.0, 2.0, 4.0, 5.0])
def test_a_forecast_along_a_wave_goes_on_at_its_last_level(phase: float) -> None:
    wave = 100.0 + 50.0 * np.sin(phase + np.arange(90) / 20.0)
    assert long_run_level(np.arange(90.0), wave) == wave[-1]


def test_a_load_that_has_jumped_goes_on_at_its_new_level() -> None:
    rng = np.random.default_rng(3)
    rate = np.where(np.arange(2000) < 1800, 100.0, 200.0) * (1 + rng.normal(0, 0.05, 2000))
    assert long_run_level(np.arange(2000.0), rate) == pytest.approx(200.0, rel=0.05)


def test_a_noisy_load_that_rises_goes_on_near_where_it_has_come_to() -> None:
    ends = []
    for seed in range(20):
        rising = np.linspace(500.0, 1500.0, 3600) * (1 + np.random.default_rng(seed).normal(0, 0.05, 3600))
        ends.append(long_run_level(np.arange(3600.0), rising))
    assert np.median(ends) == pytest.approx(1500.0, rel=0.05)


def test_readings_at_uneven_times_show_a_trend_as_a_trend() -> None:
    times_s = np.cumsum(np.random.default_rng(1).uniform(0.1, 20.0, 200))
    assert long_run_level(times_s, 50.0 + 3.0 * times_s) == 50.0 + 3.0 * times_s[-1]
