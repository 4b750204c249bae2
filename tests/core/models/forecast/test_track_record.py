"""Forecasts that were used, judged when their horizon has come."""

from __future__ import annotations

import math
import random

from penstock.core.models.estimate import NotReady
from penstock.core.models.forecast.combined import LoadForecast, fit, refit_due
from penstock.core.models.forecast.forecast import Forecast
from penstock.core.models.forecast.series import LoadSeen
from penstock.core.models.forecast.track_record import MOST_PENDING
from penstock.core.models.score import Score

SMALL = LoadForecast(history_s=1200.0, horizon_s=300.0)


def used(model: LoadForecast, rates: list[float], *, fits: bool = False, step_s: float = 10.0) -> LoadForecast:
    for number, rate in enumerate(rates):
        model = model.learn([LoadSeen(at_s=number * step_s, rate_rows_per_s=rate)]).scored()
        if fits and number % 60 == 59 and refit_due(model):
            model = model.with_fits(fit(model))
        made = model.predict()
        model = model.with_made(made) if isinstance(made, Forecast) else model
    return model


def wave(chance: random.Random, count: int = 240) -> list[float]:
    return [5000.0 + 2000.0 * math.sin(number / 12) + chance.gauss(0.0, 50.0) for number in range(count)]


def test_a_load_that_waves_is_foretold_better_than_by_its_last_value() -> None:
    score = used(SMALL, wave(random.Random(1))).score()
    assert isinstance(score, Score)
    assert score.mape < score.constant_mape and score.paper_mape == score.constant_mape, "AutoARIMA was never fitted"
    assert score.held_out >= 15


def test_autoarima_alone_stands_beside_it_once_it_was_fitted() -> None:
    score = used(SMALL, wave(random.Random(2)), fits=True).score()
    assert isinstance(score, Score) and score.paper_mape not in (None, score.constant_mape)


def test_it_is_not_judged_before_its_horizon_has_come_and_few_wait() -> None:
    early = used(SMALL, wave(random.Random(3), 30))
    answer = early.score()
    assert isinstance(answer, NotReady) and early.record.pending
    late = used(SMALL, wave(random.Random(3)))
    assert len(late.record.pending) <= MOST_PENDING


def test_the_judgement_is_that_of_the_forecast_as_it_was_made() -> None:
    """A load that jumps after the forecast: nobody could know."""
    model = used(SMALL, [1000.0] * 60 + [2000.0] * 30)
    score = model.score()
    assert isinstance(score, Score) and score.mape > 0.1


def test_a_load_of_nothing_has_no_error() -> None:
    answer = used(SMALL, [0.0] * 90).score()
    assert isinstance(answer, NotReady) and "nothing came" in answer.why
