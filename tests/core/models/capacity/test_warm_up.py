"""Workers that were still warming up are told from their later readings."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from penstock.core.models.capacity.readings import WorkersReading
from penstock.core.models.capacity.warm_up import WarmUp, warm_ups, without
from penstock.selftest.worlds.workers import LOADS, rising, skewed


def seen(seed: int, load: str, readings: int = 120, period_s: float = 15.0, **settings: float) -> list[WorkersReading]:
    chance = random.Random(seed)
    return skewed(chance, 6, utilization_noise=0.02, **settings).ramp(chance, LOADS[load](readings), period_s=period_s)


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("warm_after_s", [60.0, 120.0, 240.0])
@pytest.mark.parametrize("period_s", [5.0, 15.0])
def test_the_minutes_of_a_warm_up_are_found(load: str, warm_after_s: float, period_s: float) -> None:
    (found,) = warm_ups(seen(1, load, readings=int(1800 / period_s), period_s=period_s, warm_after_s=warm_after_s))
    assert found.from_s == 0.0 and 0.5 * warm_after_s <= found.until_s <= warm_after_s + 60.0


@pytest.mark.parametrize("load", LOADS)
def test_workers_that_are_warm_from_the_start_keep_nearly_all_their_readings(load: str) -> None:
    found = [warm_ups(seen(seed, load, noise_lasts_s=30.0)) for seed in range(40)]
    assert sum(map(bool, found)) <= 2


def test_a_file_too_short_to_tell_is_kept_whole() -> None:
    assert warm_ups(seen(1, "rising", readings=12, warm_after_s=60.0)) == () and warm_ups([]) == ()


def test_every_set_of_workers_has_a_warm_up_of_its_own() -> None:
    first = seen(1, "rising", warm_after_s=90.0)
    later = [
        replace(reading, at_s=reading.at_s + 1800.0, workers=tuple(replace(worker, worker="new" + worker.worker) for worker in reading.workers))
        for reading in seen(2, "a sine", warm_after_s=90.0)
    ]
    assert [found.from_s for found in warm_ups([*first, *later])] == [0.0, 1800.0]


def test_what_is_left_out_are_the_moments_before_workers_were_warm() -> None:
    chance = random.Random(3)
    readings = skewed(chance, 3).ramp(chance, rising(0.1, 0.5, 10))
    assert [each.at_s for each in without(readings, [WarmUp(from_s=0.0, until_s=60.0)])] == [60.0, 75.0, 90.0, 105.0, 120.0, 135.0]
    assert without(readings, []) == readings
