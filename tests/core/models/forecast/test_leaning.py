"""What the combination gets wrong again and again is made good; what it gets wrong once is not."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.core.models.forecast.leaning import Leaning
from penstock.core.models.forecast.series import Floats

ALL = np.array([True, True])


def world(seed: int, share: tuple[float, float], noise: float, origins: int = 200) -> tuple[Floats, Floats]:
    """Departures of two candidates at four leads, and errors that are a share of each."""
    chance = np.random.default_rng(seed)
    departures = chance.normal(0.0, 10.0, (2, origins, 4))
    return departures, np.einsum("c,coh->oh", share, departures) + chance.standard_t(2, (origins, 4)) * noise


@pytest.mark.parametrize("share", [(0.4, -0.3), (0.0, 0.5), (-0.2, 0.0)])
def test_with_much_seen_it_finds_most_of_what_was_missing_in_spite_of_outliers(share: tuple[float, float]) -> None:
    departures, errors = world(1, share, 1.0)
    assert Leaning().learn(departures, errors, 1000.0, np.ones(200)).towards(1000.0, ALL) == pytest.approx(share, abs=0.06)


def test_with_little_seen_it_leans_little() -> None:
    learnt = Leaning().learn(*world(2, (0.5, 0.5), 1.0, 5), 1000.0, np.ones(5))
    few, many = (np.abs(learnt.towards(horizons, ALL)).sum() for horizons in (0.3, 30.0))
    assert 0 < few < many <= 1.1


def test_it_learns_the_same_in_two_parts_of_one_scale_and_units_do_not_matter() -> None:
    departures, errors = world(3, (0.3, 0.1), 0.0)
    ones = np.ones(200)
    once = Leaning().learn(departures, errors, 1000.0, ones).towards(10.0, ALL)
    assert Leaning().learn(departures * 1e3, errors * 1e3, 1e6, ones).towards(10.0, ALL) == pytest.approx(once)
    twice = Leaning().learn(departures, errors, 1000.0, ones).learn(departures, errors, 1000.0, ones)
    assert twice.towards(10.0, ALL) == pytest.approx(once) and twice.faded(0.5).towards(10.0, ALL) == pytest.approx(once)


def test_an_error_still_to_come_and_a_candidate_not_ready_count_for_nothing() -> None:
    departures, errors = world(4, (0.3, 0.2), 1.0)
    known = Leaning().learn(departures[:, :100], errors[:100], 1000.0, np.ones(100))
    hidden = np.where(np.arange(200)[:, None] < 100, errors, np.nan)
    assert Leaning().learn(departures, hidden, 1000.0, np.ones(200)).towards(5.0, ALL) == pytest.approx(known.towards(5.0, ALL))
    assert known.towards(5.0, np.array([False, True]))[0] == 0.0 and not known.towards(5.0, np.array([False, False])).any()


def test_before_anything_was_learnt_and_without_an_error_it_leans_nowhere() -> None:
    assert not Leaning().towards(1.0, ALL).any()
    assert not Leaning().learn(np.zeros((2, 3, 4)), np.zeros((3, 4)), 0.0, np.ones(3)).towards(1.0, ALL).any()
