import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.models.recovery.arrivals import Arrivals, long_run_level
from penstock.core.models.recovery.outage import recovery_s
from penstock.stores.codec import decode, encode

MOMENTS = st.floats(-200, 1000)
NO_TIMES = ((0.0, math.nan), (0.0, math.inf), (1.0, 0.0), (0.0, 0.0))


@st.composite
def any_arrivals(draw: st.DrawFn) -> Arrivals:
    steps = draw(st.lists(st.floats(0.01, 100), max_size=8))
    rates = draw(st.lists(st.floats(0, 1e5), min_size=len(steps) + 1, max_size=len(steps) + 1))
    return Arrivals.through(np.cumsum([draw(st.floats(-50, 50)), *steps]), rates)


def test_the_rate_is_linear_between_points_and_level_outside_of_them_and_rows_are_the_area_below_it() -> None:
    arrivals = Arrivals.through((10.0, 20.0, 50.0), (100.0, 200.0, 50.0))
    assert [arrivals.rate(each) for each in (-5.0, 10.0, 15.0, 20.0, 35.0, 50.0, 1e9)] == [100.0, 100.0, 150.0, 200.0, 125.0, 50.0, 50.0]
    assert (arrivals.last_s, arrivals.long_run_rate) == (50.0, 50.0)
    assert arrivals.rows(0.0, 60.0) == 1000.0 + 1500.0 + 3750.0 + 500.0
    assert (arrivals.rows(0.0, 5.0), arrivals.rows(15.0, 20.0), arrivals.rows(60.0, 70.0), arrivals.rows(30.0, 30.0)) == (500.0, 875.0, 500.0, 0.0)


@given(any_arrivals(), MOMENTS, MOMENTS)
def test_rows_are_the_integral_of_the_rate(arrivals: Arrivals, one: float, other: float) -> None:
    start_s, end_s = sorted((one, other))
    knots = np.unique([start_s, end_s, *(each for each in arrivals.time_s if start_s < each < end_s)])
    rates = [arrivals.rate(each) for each in knots]
    assert arrivals.rows(start_s, end_s) == pytest.approx(float(np.trapezoid(rates, knots)), rel=1e-9, abs=1e-6)


@given(any_arrivals(), MOMENTS)
def test_the_pieces_follow_each_other_without_end_and_hold_the_rate(arrivals: Arrivals, start_s: float) -> None:
    pieces = list(arrivals.pieces(start_s))
    assert pieces[0].start_s == start_s and pieces[-1].end_s == math.inf
    assert [each.start_s for each in pieces[1:]] == [each.end_s for each in pieces[:-1]]
    assert [each.rate_in for each in pieces] == pytest.approx([arrivals.rate(each.start_s) for each in pieces])


def test_beyond_noisy_points_the_rate_is_their_level_and_rows_pieces_and_rate_agree_on_it() -> None:
    rates = [110.0, 90.0] * 32
    arrivals = Arrivals.through(np.arange(64.0), rates)
    assert rates[-1] == 90.0 and arrivals.long_run_rate == pytest.approx(100.0)
    assert arrivals.rate(63.0) == arrivals.rate(1000.0) == list(arrivals.pieces(0.0))[-1].rate_in == arrivals.long_run_rate
    assert arrivals.rows(62.0, 73.0) == pytest.approx(100.0 + 1000.0)
    assert arrivals.rows(63.0, 73.0) == arrivals.rows(100.0, 110.0) == pytest.approx(1000.0)


def test_what_was_measured_counts_before_what_is_forecast() -> None:
    joined = Arrivals.joined([(0.0, 10.0), (7.0, 20.0)], [(5.0, 99.0), (7.0, 99.0), (30.0, 40.0)])
    assert joined == Arrivals.through((0.0, 7.0, 30.0), (10.0, 20.0, 40.0))
    assert Arrivals.joined([], [(3.0, 4.0)]).rate(0.0) == 4.0


@pytest.mark.parametrize(
    ("time_s", "rate"), [((), ()), *(((0.0, 1.0), rate) for rate in ((1.0,), (1.0, -0.1), (1.0, math.nan))), *((times_s, (1.0, 2.0)) for times_s in NO_TIMES)]
)
def test_what_is_no_rate_over_time_is_refused(time_s: tuple[float, ...], rate: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="arrivals"):
        Arrivals.through(time_s, rate)
    with pytest.raises(ValueError, match="earlier"):
        Arrivals.constant(1.0).rows(2.0, 1.0)


def test_a_million_points_keep_the_rows_of_a_short_time_exact() -> None:
    time_s = np.arange(1_000_000, dtype=float)
    arrivals = Arrivals.through(time_s, 1e5 + time_s % 2)
    assert arrivals.rows(999_000.0, 999_010.0) == pytest.approx(1_000_005.0, rel=1e-9)
    assert sum(arrivals.rows(each, each + 0.5) for each in range(0, 999_999, 1000)) == pytest.approx(1000 * 0.5 * 100_000.25, rel=1e-12)


def test_arrivals_go_through_json_and_back() -> None:
    arrivals = Arrivals.through((0.0, 2.0), (1.0, 5.0))
    again = decode(Arrivals, encode(arrivals))
    assert again == arrivals and again.rows(0.0, 2.0) == 6.0


def noisy(seed: int, level: float, noise: float, count: int = 1800, step_s: float = 1.0) -> Arrivals:
    rng = np.random.default_rng(seed)
    return Arrivals.through([step_s * number for number in range(count)], np.maximum(0.0, level * (1 + rng.normal(0, noise, count))))


@pytest.mark.parametrize("noise", [0.02, 0.1, 0.2])
@pytest.mark.parametrize("step_s", [1.0, 15.0])
def test_whether_a_job_ever_recovers_is_not_decided_by_the_noise_of_the_last_reading(noise: float, step_s: float) -> None:
    for load, recovers in ((90.0, True), (110.0, False)):
        found = [recovery_s(noisy(seed, load, noise, step_s=step_s), 1500.0 * step_s, 100.0, 10.0, 600.0 * step_s) for seed in range(20)]
        assert sum((each < math.inf) == recovers for each in found) >= 19


@pytest.mark.parametrize("lasts", [3, 5, 8])
def test_nor_by_noise_that_lasts_for_some_readings(lasts: int) -> None:
    levels = []
    for seed in range(40):
        noise = np.convolve(np.random.default_rng(seed).normal(0, 0.2, 1800 + lasts - 1), np.full(lasts, lasts**-0.5), mode="valid")
        levels.append(long_run_level(np.arange(1800.0), 90.0 * (1 + noise)))
    assert sum(each < 100.0 for each in levels) >= 38 and np.median(np.abs(np.array(levels) - 90.0)) < 4.0


def test_the_level_of_a_steady_noisy_load_is_its_mean() -> None:
    off = np.abs([noisy(seed, 1000.0, 0.1, 1024).long_run_rate - 1000.0 for seed in range(40)])
    assert np.median(off) < 5.0 and np.mean(off < 100.0) >= 0.95


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
    rate = np.where(np.arange(2000) < 1800, 100.0, 200.0) * (1 + np.random.default_rng(3).normal(0, 0.05, 2000))
    assert long_run_level(np.arange(2000.0), rate) == pytest.approx(200.0, rel=0.05)


def test_a_noisy_load_that_rises_goes_on_near_where_it_has_come_to() -> None:
    noise = [1 + np.random.default_rng(seed).normal(0, 0.05, 3600) for seed in range(20)]
    assert np.median([long_run_level(np.arange(3600.0), np.linspace(500.0, 1500.0, 3600) * each) for each in noise]) == pytest.approx(1500.0, rel=0.05)


def test_readings_at_uneven_times_show_a_trend_as_a_trend() -> None:
    times_s = np.cumsum(np.random.default_rng(1).uniform(0.1, 20.0, 200))
    assert long_run_level(times_s, 50.0 + 3.0 * times_s) == 50.0 + 3.0 * times_s[-1]
