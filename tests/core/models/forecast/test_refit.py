import math
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest

from penstock.core.models.arrays import Floats
from penstock.core.models.forecast.backtest import History
from penstock.core.models.forecast.candidates import Learner
from penstock.core.models.forecast.fitted_candidates import Arima, Ets, Seasonal
from penstock.core.models.forecast.refit import any_due, due, fitted, refitted

HORIZON, REACH, LENGTH = 30, 120, 600


def until(values: Floats, end: int) -> History:
    """Return the history kept after the first `end` values of a series."""
    return History(values=values[max(0, end - REACH - 2 * HORIZON) : end], end=end, horizon=HORIZON, reach=REACH)


def fitted_at(values: Floats, learner: Learner, ends: range) -> list[int]:
    """Return when a learner is fitted for the first and for the second time in a series."""
    times, found = [], None
    for end in ends:
        if len(times) < 2 and due(learner, found, until(values, end)):
            found = fitted(learner, until(values, end))
            times.append(end)
    return times


def steady(seed: int) -> Floats:
    return 1000.0 + np.random.default_rng(seed).normal(0.0, 20.0, LENGTH)


@pytest.mark.parametrize("learner", [Ets(), Arima()], ids=lambda each: each.name)
@pytest.mark.parametrize("seed", range(3))
def test_a_steady_load_is_not_fitted_again(learner: Learner, seed: int) -> None:
    assert fitted_at(steady(seed), learner, range(200, LENGTH, 10)) == [200]


@pytest.mark.parametrize("learner", [Ets(), Arima()], ids=lambda each: each.name)
@pytest.mark.parametrize("change", ["noise", "swing", "calm"])
def test_a_load_that_has_changed_is_fitted_again_within_a_horizon(learner: Learner, change: str) -> None:
    values, after = steady(1), np.arange(LENGTH - 300)
    values[300:] = {
        "noise": 1000.0 + 6 * (values[300:] - 1000.0),
        "swing": values[300:] + 500.0 * np.sin(after / 8.0),
        "calm": 1000.0 + 0.1 * (values[300:] - 1000.0),
    }[change]
    times = fitted_at(values, learner, range(200, 400, 10))
    assert times[0] == 200 and 300 < times[1] <= 300 + 2 * HORIZON


def test_a_first_fit_comes_with_enough_history_and_another_with_twice_as_much() -> None:
    assert fitted_at(steady(2), Ets(), range(10, 200, 5)) == [Ets().needs, 2 * Ets().needs]


def test_a_season_is_fitted_when_it_appears() -> None:
    values = steady(3)
    values[300:] += 400.0 * (np.arange(LENGTH - 300) % 20 < 5)
    times = fitted_at(values, Seasonal(), range(200, LENGTH, 5))
    assert times and 300 < times[0] < 300 + REACH


def test_nothing_is_due_for_a_constant_load_or_one_of_zero() -> None:
    for level in (0.0, 7.0):
        assert not any_due(until(np.full(LENGTH, level), 400), {})


def test_a_fit_that_failed_is_repeated_after_a_horizon_and_not_before() -> None:
    values = steady(4)
    failed = {name: replace(fit, parameters=None, promised=None) for name, fit in refitted(until(values, 300), {}).items()}
    assert not any_due(until(values, 300 + HORIZON - 1), failed) and any_due(until(values, 300 + HORIZON), failed)


def test_a_load_that_is_predicted_exactly_is_not_fitted_again_for_rounding_errors() -> None:
    line = 1000.0 + 3.0 * np.arange(LENGTH) + 1e-9 * np.array([math.sin(number) for number in range(LENGTH)])
    assert fitted_at(line, Ets(), range(200, LENGTH, 10)) == [200]


def test_a_fit_that_fails_is_left_out_but_lack_of_memory_or_of_a_library_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ets, "fit", fails := Mock(side_effect=ValueError))
    assert fitted(Ets(), until(steady(1), 200)).parameters is None
    for fails.side_effect in (MemoryError, ImportError):
        with pytest.raises(fails.side_effect):
            fitted(Ets(), until(steady(1), 200))
