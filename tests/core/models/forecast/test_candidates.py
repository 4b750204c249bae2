import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.models.forecast.backtest import History, backtest
from penstock.core.models.forecast.candidates import Candidate, Harmonic, Learner, Level, Line
from penstock.core.models.forecast.fitted_candidates import Arima, Ets, Seasonal, season_of
from penstock.core.models.forecast.forecast import Forecast
from penstock.core.models.forecast.series import LoadSeen, Series


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 1000)), min_size=1, max_size=40), st.integers(1, 39))
def test_bins_are_the_same_in_any_batching(samples: list[tuple[int, int]], cut: int) -> None:
    seen = [LoadSeen(at_s=float(at_s), rate_rows_per_s=float(rate)) for at_s, rate in samples]
    whole = Series().with_seen(seen, 100.0)
    assert Series().with_seen(seen[:cut], 100.0).with_seen(seen[cut:], 100.0).even().tolist() == whole.even().tolist()
    assert len(whole.sums) <= 10


@pytest.mark.parametrize("rate", [-1.0, math.nan, math.inf])
def test_a_rate_that_is_negative_or_not_finite_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="not a load"):
        LoadSeen(at_s=0.0, rate_rows_per_s=rate)


@pytest.mark.parametrize("period", [12, 25, 80])
def test_a_season_seen_twice_is_found_in_noise(period: int) -> None:
    time = np.arange(240)
    values = 100.0 + 0.1 * time + 20.0 * (time % period) / period + np.random.default_rng(period).normal(0.0, 1.0, 240)
    assert season_of(values) == pytest.approx(period, abs=1)


def test_no_season_is_found_in_noise_in_a_line_or_in_half_a_period() -> None:
    noise, half = np.random.default_rng(0).normal(100.0, 5.0, 240), 100.0 + 50.0 * np.sin(np.linspace(0.0, np.pi, 240))
    assert [season_of(values) for values in (noise, half, np.linspace(5.0, 500.0, 240), np.full(240, 7.0))] == [None] * 4


@pytest.mark.parametrize("period", [60, 150, 400, 1000])
def test_a_sinusoid_is_continued_even_if_less_than_a_period_was_seen(period: int) -> None:
    swing = 100.0 + 50.0 * np.sin(2 * np.pi * np.arange(330) / period + 1.0)
    assert Harmonic().paths({}, swing[None, :240], 90)[0] == pytest.approx(swing[240:], rel=0.02)


@pytest.mark.parametrize("candidate", [Level(), Level(window=5), Line(window=10), Line(window=10, fading=20.0), Harmonic()], ids=lambda each: each.name)
def test_a_constant_is_forecast_as_a_constant(candidate: Candidate) -> None:
    assert candidate.paths({}, np.full((2, 120), 3.0), 8) == pytest.approx(np.full((2, 8), 3.0))


@pytest.mark.parametrize("learner", [Ets(), Arima(), Seasonal()], ids=lambda each: each.name)
def test_no_model_is_fitted_to_a_constant(learner: Learner) -> None:
    assert not learner.applies(np.full(120, 3.0)) and not learner.applies(np.zeros(120))


@pytest.mark.parametrize(("slope", "walks"), [(0.0, True), (0.5, False)])
def test_parameters_carried_over_forecast_like_the_model_they_came_from(slope: float, walks: bool) -> None:
    from statsforecast.models import AutoARIMA, AutoETS

    shocks = np.random.default_rng(1).normal(0.0, 1.0, 240)
    values = 100.0 + slope * np.arange(240) + (shocks.cumsum() if walks else shocks)
    assert Ets().paths(Ets().fit(values), values[None, :], 20)[0] == pytest.approx(AutoETS(season_length=1, model="ZZN").forecast(values, 20)["mean"], rel=0.02)
    coarse = AutoARIMA(season_length=1).forecast(values.reshape(-1, 3).mean(axis=1), 7)["mean"]
    assert Arima().paths(Arima().fit(values), values[None, :], 20)[0][1::3] == pytest.approx(coarse, rel=0.02)


def test_a_seasonal_forecast_repeats_the_season_on_the_trend() -> None:
    time = np.arange(240)
    values = 100.0 + 0.2 * time + 30.0 * (time % 40 < 10)
    fitted, ahead = Seasonal().fit(values), np.arange(240, 300)
    assert fitted["period"] == 40
    assert Seasonal().paths(fitted, values[None, :], 60)[0] == pytest.approx(100.0 + 0.2 * ahead + 30.0 * (ahead % 40 < 10), rel=0.05)


def test_quantiles_beyond_those_carried_are_refused() -> None:
    found = Forecast(start_s=0.0, step_s=1.0, mean=(5.0,), levels=(0.1, 0.9), paths=((4.0,), (8.0,)))
    with pytest.raises(ValueError, match=r"0\.99"):
        found.at(0.99)


def test_a_backtest_does_not_see_the_values_it_forecasts() -> None:
    values = np.arange(100.0)
    spoiled = np.concatenate([values[:60], np.full(40, 1e6)])
    candidates, fitted = [Level(), Line(window=5)], {"naive": {}, "line-5": {}}
    one, other = (backtest(candidates, fitted, History(values=each, end=100, horizon=10, reach=40), [60]).paths for each in (values, spoiled))
    assert one.tolist() == other.tolist()
