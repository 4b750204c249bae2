import math
import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from conformance import World, conforming
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.models.arrays import Floats
from penstock.core.models.estimate import HIGH_LEVEL, LOW_LEVEL, Estimate, NotReady
from penstock.core.models.forecast.combined import LoadForecast, fit, refit_due
from penstock.core.models.forecast.forecast import Forecast
from penstock.core.models.forecast.series import LoadSeen
from penstock.core.models.forecast.track_record import MOST_PENDING
from penstock.stores.codec import decode, encode

SMALL = LoadForecast(history_s=1200.0, horizon_s=300.0)


def seen(rates: list[float], step_s: float = 10.0) -> list[LoadSeen]:
    return [LoadSeen(at_s=number * step_s, rate_rows_per_s=rate) for number, rate in enumerate(rates)]


def noisy_ramp(chance: random.Random) -> World:
    slope, noise = chance.uniform(-20.0, 20.0), chance.uniform(20.0, 200.0)
    rates = [8000.0 + slope * number + chance.gauss(0.0, noise) for number in range(150)]
    return World(seen=seen(rates[:120]), truth=rates[149])


def last(model: LoadForecast) -> Estimate | NotReady:
    """The rate at the end of the horizon, with its bounds."""
    if isinstance(found := model.predict(), NotReady):
        return found
    value, low, high = found.mean[-1], found.at(LOW_LEVEL)[-1], found.at(HIGH_LEVEL)[-1]
    return Estimate(value=value, low=min(low, value), high=max(high, value))


def used(model: LoadForecast, load: Sequence[LoadSeen], *, fits: bool = False) -> LoadForecast:
    """A job that makes a forecast with every reading."""
    for number, each in enumerate(load):
        model = model.learn([each]).scored()
        if fits and number % 60 == 59 and refit_due(model):
            model = model.with_fits(fit(model))
        made = model.predict()
        model = model.with_made(made) if isinstance(made, Forecast) else model
    return model


TestLoadForecast = conforming(empty=SMALL, world=noisy_ramp, ask=last, taught=used, wide="the first bounds of a load are wide, as its errors are of one past")


def test_a_constant_load_stays_constant_and_is_certain_but_for_its_rounding() -> None:
    found = SMALL.learn(seen([500.0] * 120)).predict()
    assert found.mean == pytest.approx([500.0] * 30)
    assert [*found.at(0.1), *found.at(0.9)] == pytest.approx([500.0] * 60, abs=0.1)


def test_a_load_that_begins_after_an_idle_hour_has_bounds_of_its_own_scale() -> None:
    found = SMALL.learn(seen([0.0] * 170 + [1000.0] * 20)).scored().predict()
    assert found.mean[-1] == pytest.approx(1000.0, rel=0.3) and max(found.at(0.9)) <= 5000.0


def test_a_load_of_zero_is_forecast_as_zero() -> None:
    model = SMALL.learn(seen([0.0] * 120))
    assert model.with_fits(fit(model)).predict().mean == (0.0,) * 30


@settings(max_examples=15, deadline=None)
@given(st.lists(st.floats(0.0, 1e5), min_size=6, max_size=60))
def test_a_forecast_is_never_negative_and_its_quantiles_are_in_order(rates: list[float]) -> None:
    found = SMALL.learn(seen(rates)).predict()
    assert len(found.mean) == 30 and min(found.mean) >= 0.0 and max(found.mean) <= 2 * max(rates) - min(rates) + 1e-6
    assert np.min(found.paths) >= 0.0 and np.all(np.diff(found.paths, axis=0) >= 0)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1000), st.floats(1e-3, 1e3))
def test_twice_the_load_is_twice_the_forecast(seed: int, factor: float) -> None:
    rates = np.abs(np.random.default_rng(seed).normal(0.0, 50.0, 90).cumsum() + 1000.0)
    one, other = (SMALL.learn(seen((rates * times).tolist())).predict() for times in (1.0, factor))
    assert other.mean == pytest.approx(np.multiply(one.mean, factor), rel=1e-6)
    assert other.at(0.9) == pytest.approx(np.multiply(one.at(0.9), factor), rel=1e-5)


def test_it_starts_where_the_newest_bin_ends_and_other_steps_and_another_horizon_can_be_asked_for() -> None:
    model = SMALL.learn(seen([100.0 + number for number in range(60)]))
    usual, found = model.predict(), model.predict(horizon_s=600.0, step_s=1.0)
    assert (usual.start_s, usual.step_s, usual.end_s) == (600.0, 10.0, 900.0)
    assert len(found.mean) == 600 and found.step_s == 1.0 and found.mean[4] == pytest.approx(usual.mean[0], rel=1e-3)


def test_a_few_missing_readings_change_little() -> None:
    rates = [1000.0 + 300.0 * math.sin(number / 25.0) for number in range(120)]
    whole = seen(rates)
    with_holes = [each for number, each in enumerate(whole) if number % 7 and not 60 <= number < 70]
    assert SMALL.learn(with_holes).predict().mean == pytest.approx(SMALL.learn(whole).predict().mean, rel=0.05)


def test_after_a_long_gap_the_past_does_not_count() -> None:
    old = [LoadSeen(at_s=10.0 * number, rate_rows_per_s=9000.0) for number in range(60)]
    new = [LoadSeen(at_s=1000.0 + 10.0 * number, rate_rows_per_s=10.0) for number in range(10)]
    assert SMALL.learn(old + new).predict().mean == pytest.approx([10.0] * 30)
    assert isinstance(SMALL.learn(old + new[:3]).predict(), NotReady)


@pytest.mark.parametrize("horizon_s", [10.0, 30.0, 70.0])
def test_a_horizon_of_a_few_steps_is_forecast(horizon_s: float) -> None:
    model = LoadForecast(history_s=300.0, horizon_s=horizon_s).learn(seen([100.0 + number % 4 for number in range(60)]))
    assert refit_due(model)
    found = model.with_fits(fit(model)).predict()
    assert len(found.mean) == horizon_s / 10.0 and 99.0 < min(found.mean) <= max(found.mean) < 104.0


@pytest.mark.parametrize(
    ("shape", "within"),
    [
        pytest.param(lambda number: 1000.0 + 800.0 * math.sin(2 * math.pi * number / 360), 0.02, id="sine"),
        pytest.param(lambda number: 500.0 + 20.0 * (number % 25), 0.03, id="sawtooth"),
        pytest.param(lambda number: 1000.0 + 10.0 * number, 0.01, id="ramp"),
    ],
)
def test_with_fits_it_continues_regular_loads(shape: Callable[[int], float], within: float) -> None:
    chance = random.Random(7)
    model = SMALL.learn(seen([shape(number) * chance.gauss(1.0, 0.005) for number in range(170)]))
    assert refit_due(model)
    truth = np.array([shape(number) for number in range(170, 200)])
    assert np.abs(np.array(model.with_fits(fit(model)).predict().mean) - truth).sum() / truth.sum() < within


@pytest.mark.parametrize(
    "generated",
    [
        pytest.param(lambda chance: 5000.0 + chance.normal(0.0, 50.0, 180).cumsum(), id="walk"),
        pytest.param(lambda chance: 1000.0 * np.repeat(chance.uniform(1.0, 3.0, 6), 30) + chance.normal(0.0, 30.0, 180), id="steps"),
        pytest.param(lambda chance: 3000.0 + 1000.0 * np.sin(np.arange(180) / chance.uniform(15.0, 60.0)) + chance.normal(0.0, 100.0, 180), id="swing"),
        pytest.param(lambda chance: 3000.0 + chance.normal(0.0, 300.0, 180), id="noise"),
    ],
)
def test_the_mixture_is_hardly_worse_than_naive_on_unpredictable_loads(generated: Callable[[np.random.Generator], Floats]) -> None:
    """The ratio of the errors over a dozen seeds; a walk cannot be forecast better than by its last value."""
    ours = naive = 0.0
    for seed in range(12):
        rates = np.maximum(generated(np.random.default_rng(seed)), 0.0)
        ours += float(np.abs(np.array(SMALL.learn(seen(rates[:150].tolist())).predict().mean) - rates[150:]).sum())
        naive += float(np.abs(rates[149] - rates[150:]).sum())
    assert ours < 1.15 * naive


def test_the_memory_grows_with_every_horizon_that_has_passed_and_goes_through_json() -> None:
    chance = random.Random(3)
    samples = seen([1000.0 + 200.0 * math.sin(number / 20.0) + chance.gauss(0.0, 20.0) for number in range(200)])
    model = SMALL.learn(samples[:150])
    model = model.with_fits(fit(model)).scored()
    assert model.scored() is model, "nothing new to score"
    first = model.memory
    model = model.learn(samples[150:]).scored()
    assert len(model.memory.errors) > len(first.errors) > 0 and model.memory.load > first.load
    again = decode(LoadForecast, encode(model))
    assert again == model and again.predict() == model.predict()


@pytest.mark.parametrize(("model", "length"), [(LoadForecast(), 60), (LoadForecast(history_s=600.0), 210)], ids=["first forecast", "ten minutes seen"])
def test_ten_minutes_of_history_are_forecast_for_a_quarter_of_an_hour_within_honest_bounds(model: LoadForecast, length: int) -> None:
    inside = []
    for seed in range(40):
        chance = np.random.default_rng(seed)
        walk, noise = chance.normal(0.0, 10.0, length + 90).cumsum(), chance.normal(0.0, 40.0, length + 90)
        rates = 5000.0 + walk + noise + chance.uniform(-8.0, 8.0) * np.arange(length + 90)
        found = model.learn(seen(rates[:length].tolist())).predict()
        inside.append(np.mean((rates[length:] >= found.at(0.1)) & (rates[length:] <= found.at(0.9))))
    assert 0.65 < np.mean(inside) < 0.95


def test_a_history_shorter_than_the_horizon_is_fitted_as_soon_as_a_model_can_be() -> None:
    chance = random.Random(4)
    model = LoadForecast(history_s=600.0).learn(seen([1000.0 + 5.0 * number + chance.gauss(0.0, 5.0) for number in range(60)]))
    assert refit_due(model)
    fitted = model.with_fits(fit(model))
    assert {"autoets", "autoarima"} <= set(fitted.fits) and not refit_due(fitted)
    found = fitted.predict()
    assert found.mean[-1] > 1400.0 and found.at(0.9)[-1] > 1000.0 + 5.0 * 149, "the line may go on"


@pytest.mark.parametrize("every", [4, 6, 30])
def test_backtests_of_a_rarely_sampled_trace_use_no_later_samples(every: int) -> None:
    chance = random.Random(9)
    samples = [LoadSeen(at_s=10.0 * number, rate_rows_per_s=chance.uniform(0.0, 1e4)) for number in range(0, 180, every)]
    history = SMALL.learn(samples).history()
    origins = history.origins(None, 1)
    assert origins
    for origin, window in zip(origins, history.windows(origins), strict=True):
        known = SMALL.learn([each for each in samples if each.at_s < 10.0 * origin]).series
        assert known.end == origin and window == pytest.approx(known.even()[-history.window :])


def wave(seed: int, count: int = 240) -> list[LoadSeen]:
    chance = random.Random(seed)
    return seen([5000.0 + 2000.0 * math.sin(number / 12) + chance.gauss(0.0, 50.0) for number in range(count)])


def test_a_wave_is_predicted_better_than_by_its_last_value_and_autoarima_alone_is_scored_once_it_was_fitted() -> None:
    score = used(SMALL, wave(1)).score()
    assert score.held_out >= 15 and score.mape < score.constant_mape and score.paper_mape == score.constant_mape, "AutoARIMA was never fitted"
    fitted = used(SMALL, wave(2), fits=True).score()
    assert fitted.paper_mape not in (None, fitted.constant_mape)


def test_a_forecast_is_not_graded_before_its_horizon_has_passed_and_few_are_pending() -> None:
    early = used(SMALL, wave(3, 30))
    assert isinstance(early.score(), NotReady) and early.record.pending
    assert len(used(SMALL, wave(3)).record.pending) <= MOST_PENDING


def test_the_grade_is_that_of_the_forecast_as_it_was_made() -> None:
    """A load that jumps after the forecast, which no forecast can predict."""
    assert used(SMALL, seen([1000.0] * 60 + [2000.0] * 30)).score().mape > 0.1


def test_a_load_of_zero_has_no_error() -> None:
    answer = used(SMALL, seen([0.0] * 90)).score()
    assert isinstance(answer, NotReady) and "no rows arrived" in answer.why
