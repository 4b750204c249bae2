import random

import numpy as np
import pytest
from executor_moments import moved

from penstock.core.models.arrays import Floats
from penstock.core.models.capacity.executor_use import WINDOW, ExecutorUses, WarmUp, glitches, leading_glitches, warm_ups, without
from penstock.selftest.worlds.uneven_executors import LOADS, rising, skewed


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


def seen(seed: int, load: str, readings: int = 120, period_s: float = 15.0, **settings: float) -> list[ExecutorUses]:
    chance = random.Random(seed)
    return skewed(chance, 6, utilization_noise=0.02, **settings).ramp(chance, LOADS[load](readings), period_s=period_s)


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("warm_after_s", [60.0, 120.0, 240.0])
@pytest.mark.parametrize("period_s", [5.0, 15.0])
def test_the_minutes_of_a_warm_up_are_found(load: str, warm_after_s: float, period_s: float) -> None:
    (found,) = warm_ups(seen(1, load, readings=int(1800 / period_s), period_s=period_s, warm_after_s=warm_after_s))
    assert found.from_s == 0.0 and 0.5 * warm_after_s <= found.until_s <= warm_after_s + 60.0


@pytest.mark.parametrize("load", LOADS)
def test_executors_that_are_warm_from_the_start_keep_nearly_all_their_readings(load: str) -> None:
    found = [warm_ups(seen(seed, load, noise_lasts_s=30.0)) for seed in range(40)]
    assert sum(map(bool, found)) <= 2


def test_a_file_too_short_to_judge_is_kept_whole() -> None:
    assert warm_ups(seen(1, "rising", readings=12, warm_after_s=60.0)) == () and warm_ups([]) == ()


def test_every_set_of_executors_has_a_warm_up_of_its_own() -> None:
    first = seen(1, "rising", warm_after_s=90.0)
    later = moved(seen(2, "a sine", warm_after_s=90.0), later_s=1800.0, prefix="new")
    assert [found.from_s for found in warm_ups([*first, *later])] == [0.0, 1800.0]


def test_what_is_left_out_are_the_moments_before_executors_were_warm() -> None:
    chance = random.Random(3)
    readings = skewed(chance, 3).ramp(chance, rising(0.1, 0.5, 10))
    assert [each.at_s for each in without(readings, [WarmUp(from_s=0.0, until_s=60.0)])] == [60.0, 75.0, 90.0, 105.0, 120.0, 135.0]
    assert without(readings, []) == readings
