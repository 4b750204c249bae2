import random
from itertools import pairwise
from math import sin

import pytest
from conformance import DETECTS, World, conforming

from penstock.core.models.anomaly.online_arima import OnlineArima
from penstock.core.models.estimate import Estimate, NotReady


def wandering(rng: random.Random, count: int) -> list[float]:
    """An ARIMA(1,1,0) series."""
    value, change, values = 50_000.0, 0.0, []
    for _ in range(count):
        change = 0.7 * change + rng.gauss(0.0, 100.0)
        value += change
        values.append(value)
    return values


def world(rng: random.Random) -> World:
    *seen, truth = wandering(rng, 151)
    return World(seen=seen, truth=truth)


TestConformance = conforming(empty=OnlineArima(lags=3), world=world, unscored=DETECTS)


def test_it_learns_a_law_without_noise_exactly() -> None:
    *seen, last = [100.0 + 10.0 * sin(0.3 * t) for t in range(400)]
    assert OnlineArima(lags=4).learn(seen).predict().value == pytest.approx(last, abs=0.05)


def test_it_beats_the_last_value_on_a_series_whose_changes_go_on() -> None:
    values = wandering(random.Random(1), 600)
    model, errors, naive = OnlineArima().learn(values[:300]), 0.0, 0.0
    for before, value in pairwise(values[299:]):
        errors += abs(value - model.expected)
        naive += abs(value - before)
        model = model.learn([value])
    assert errors < 0.85 * naive


@pytest.mark.parametrize("differences", [0, 1, 2])
@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_the_unit_does_not_matter(differences: int, factor: float) -> None:
    values = wandering(random.Random(2), 120)
    plain, scaled = (OnlineArima(lags=5, differences=differences).learn([value * unit for value in values]).predict() for unit in (1.0, factor))
    assert scaled.value == pytest.approx(plain.value * factor, rel=1e-5)
    assert scaled.high - scaled.low == pytest.approx((plain.high - plain.low) * factor, rel=1e-3)


def test_missing_values_widen_the_bounds_and_the_next_value_narrows_them_again() -> None:
    values = wandering(random.Random(3), 200)
    model = OnlineArima().learn(values)
    answers = [model.learn(seen).predict() for seen in ([], [None], [None] * 5, [None, values[-1]])]
    widths = [answer.high - answer.low for answer in answers]
    assert widths[0] < widths[1] < widths[2] and widths[3] == pytest.approx(widths[0], rel=0.2)


def test_bounds_several_steps_ahead_hold_the_truth() -> None:
    held = 0
    for seed in range(40):
        values = wandering(random.Random(seed), 180)
        answer = OnlineArima(lags=3).learn([*values[:150], *[None] * 29]).predict()
        held += answer.low <= values[179] <= answer.high
    assert 0.6 <= held / 40 <= 0.95


def test_a_jump_is_unexpected_and_an_ordinary_value_is_not() -> None:
    values = wandering(random.Random(4), 500)
    model = OnlineArima().learn(values[:-1])
    assert [model.unexpected(values[-1]), model.unexpected(values[-1] / 2), OnlineArima().unexpected(1.0)] == [False, True, None]


def test_a_series_that_never_moves_is_expected_to_stay() -> None:
    model = OnlineArima(differences=0, least=1.0).learn([7.0] * 100)
    assert model.predict() == Estimate(value=7.0, low=7.0, high=7.0)
    assert model.unexpected(7.5) is False and model.unexpected(9.0) is True


def test_missing_values_before_it_knows_anything_are_harmless() -> None:
    assert isinstance(OnlineArima().learn([None, 1.0, None]).predict(), NotReady)
