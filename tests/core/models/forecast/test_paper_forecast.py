import math
import random
from dataclasses import replace

import numpy as np
import pytest

from penstock.core.models.forecast.backtest import History
from penstock.core.models.forecast.combined import LoadForecast, fit, refit_due
from penstock.core.models.forecast.forecast import Forecast
from penstock.core.models.forecast.paper_forecast import KEPT, REFIT_AFTER, PaperForecast
from penstock.core.models.forecast.pool import PAPER
from penstock.core.models.forecast.series import LoadSeen
from penstock.stores.codec import decode, encode

EMPTY = LoadForecast(method="daedalus")


def minutes(model: LoadForecast, rates: list[float]) -> LoadForecast:
    """A minute for each rate, in bins of ten seconds, with a forecast at its end."""
    chance, begin = random.Random(len(model.series.sums)), model.series.end
    for number, rate in enumerate(rates):
        bins = range(begin + 6 * number, begin + 6 * number + 6)
        model = model.learn([LoadSeen(at_s=10.0 * place + 5.0, rate_rows_per_s=rate * chance.uniform(0.99, 1.01)) for place in bins]).scored()
        made = model.predict()
        model = model.with_made(made) if isinstance(made, Forecast) else model
    return model


def wave(count: int) -> list[float]:
    return [1000.0 + 300.0 * math.sin(number / 9.0) for number in range(count)]


@pytest.fixture(scope="module")
def fitted() -> LoadForecast:
    model = minutes(EMPTY, wave(60))
    assert refit_due(model)
    found = model.with_fits(fit(model))
    assert set(found.fits) == {PAPER.name} and not refit_due(found)
    return found


def made(model: LoadForecast) -> Forecast:
    found = model.predict()
    assert isinstance(found, Forecast)
    return found


def test_before_the_first_fit_the_last_rate_is_held() -> None:
    model = minutes(EMPTY, [100.0, 200.0, 300.0])
    found = made(model)
    assert found.shares == (("naive", 1.0),) and len(set(found.mean)) == 1 and found.mean[0] == pytest.approx(300.0, rel=0.02)


def test_the_forecast_is_that_of_arima_alone_while_it_is_good(fitted: LoadForecast) -> None:
    model = minutes(fitted, wave(64)[60:])
    found = made(model)
    assert found.shares == (("autoarima", 1.0),) and not model.paper.is_poor
    history = model.history()
    assert found.mean[:90] == pytest.approx(PAPER.paths(model.fits[PAPER.name].parameters or {}, history.latest[None, :], 90)[0].tolist())


def test_after_a_poor_forecast_the_slope_of_the_last_minute_is_continued_until_one_is_good_again(fitted: LoadForecast) -> None:
    jumped = minutes(minutes(fitted, wave(61)[60:]), [2500.0])
    found = made(jumped)
    assert found.shares == (("line", 1.0),) and found.mean[0] == pytest.approx(2500.0, rel=0.05)
    assert made(minutes(jumped, [2500.0] * 15)).shares == (("autoarima", 1.0),)


def test_many_poor_forecasts_in_a_row_ask_for_a_new_fit_which_begins_anew(fitted: LoadForecast) -> None:
    model, jumps = fitted, 0
    while not refit_due(model):
        model, jumps = minutes(model, [(500.0, 2500.0)[jumps % 2]]), jumps + 1
        assert jumps < 2 * REFIT_AFTER
    assert REFIT_AFTER <= jumps <= REFIT_AFTER + 2
    again = model.with_fits(fit(model))
    assert again.paper == PaperForecast() and not refit_due(again)


def test_a_forecast_without_anything_that_came_since_is_not_judged() -> None:
    last, nothing = PaperForecast(first=5, made=(10.0,) * 3, poor_in_a_row=2), np.zeros(9)
    assert last.judged(History(values=np.ones(5), end=5, horizon=3, reach=5)) == last
    assert last.judged(History(values=nothing, end=9, horizon=3, reach=5)) == last
    assert last.judged(History(values=np.full(3, 10.0), end=8, horizon=3, reach=3)).poor_in_a_row == 0, "history begins after a gap"


def test_its_state_is_small_and_survives_json(fitted: LoadForecast) -> None:
    model = minutes(fitted, wave(62)[60:])
    assert len(model.paper.made) == KEPT
    assert decode(LoadForecast, encode(model)) == model
    assert made(replace(model, method="mixture")).shares != made(model).shares
