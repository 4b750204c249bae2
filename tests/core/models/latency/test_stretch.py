"""A physical latency stretched to what was measured."""

from __future__ import annotations

import math

import numpy as np
import pytest

from penstock.core.models.estimate import Estimate
from penstock.core.models.latency.stretch import stretch

PHYSICAL = np.linspace(1.0, 9.0, 30)


def test_one_wild_latency_does_not_decide_it() -> None:
    measured = 1.2 * PHYSICAL
    measured[7] *= 20
    assert stretch(PHYSICAL, measured).at(np.array([5.0]))[0] == pytest.approx(6.0, rel=0.03)


def test_a_latency_that_rises_more_slowly_than_the_physical_one_is_followed() -> None:
    found = stretch(PHYSICAL, 2 * PHYSICAL**0.8).at(PHYSICAL)
    assert found == pytest.approx(2 * PHYSICAL**0.8, rel=0.03)


@pytest.mark.parametrize("seed", range(5))
def test_whatever_was_measured_it_keeps_the_order_of_the_physical_latencies(seed: int) -> None:
    found = stretch(PHYSICAL, np.random.default_rng(seed).lognormal(0, 2, 30))
    assert np.all(np.diff(found.at(np.linspace(0.1, 30, 50))) > 0)


def test_bounds_hold_those_of_the_physical_form_and_its_own() -> None:
    physical = Estimate(value=5.0, low=4.0, high=6.0)
    none, few, many = (stretch(PHYSICAL[:rows], PHYSICAL[:rows]).estimate(physical) for rows in (0, 3, 30))
    assert none.high - none.low > few.high - few.low > many.high - many.low > 0.9 * (physical.high - physical.low)


def test_infinite_stays_infinite_and_zero_stays_finite() -> None:
    found = stretch(PHYSICAL, 1.2 * PHYSICAL)
    never = found.estimate(Estimate(value=math.inf, low=3.0, high=math.inf))
    assert never.value == never.high == math.inf and 3.0 < never.low < math.inf
    assert found.estimate(Estimate(value=5.0, low=0.0, high=math.inf)).high == math.inf
    assert 0 <= found.estimate(Estimate(value=0.0, low=0.0, high=0.0)).value < 1e-6
