"""A glitch is told from a change."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.core.models.arrays import Floats
from penstock.core.models.capacity.glitches import WINDOW, glitches, leading_glitches


def noisy(moments: int, seed: int) -> tuple[Floats, Floats]:
    chance = np.random.default_rng(seed)
    load = np.linspace(0.2, 0.5, moments)[:, None] * np.array([1.0, 0.8, 0.6])
    return load + chance.normal(0, 0.02, load.shape), 1000.0 * load * (1 + chance.normal(0, 0.04, load.shape))


@pytest.mark.parametrize("seed", range(5))
def test_a_moment_without_throughput_at_high_utilisation_is_one(seed: int) -> None:
    utilization, throughput = noisy(WINDOW, seed)
    utilization[4, 1], throughput[4, 1] = 0.9, 0.0
    assert glitches(utilization, throughput)[4]


def test_healthy_noise_is_seldom_one() -> None:
    flags = np.concatenate([leading_glitches(*noisy(200, seed)) for seed in range(5)])
    assert flags.mean() < 0.1


def test_what_lasts_is_no_glitch() -> None:
    utilization, throughput = noisy(WINDOW, 0)
    throughput[3:] *= 0.5
    assert not glitches(utilization, throughput)[3:].any()


def test_a_steep_flank_that_utilisation_follows_a_minute_later_is_no_glitch() -> None:
    load = (0.5 - 0.4 * np.cos(np.linspace(0.0, 4.0 * np.pi, 120)))[:, None] * np.array([1.0, 0.8, 0.6])
    late = np.array([load[max(0, moment - 3) : moment + 1].mean(axis=0) for moment in range(len(load))])
    assert not leading_glitches(late, 1000.0 * load).any()


def test_leading_moments_are_judged_as_in_their_own_window() -> None:
    utilization, throughput = noisy(30, 7)
    throughput[[4, 17]] = 0.0
    expected = [bool(glitches(utilization[i : i + WINDOW], throughput[i : i + WINDOW])[0]) for i in range(30 - WINDOW + 1)]
    assert leading_glitches(utilization, throughput).tolist() == expected
    assert expected[4] and expected[17]
