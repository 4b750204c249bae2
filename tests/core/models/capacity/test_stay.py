"""A stay in columns is the stay that is kept."""

from __future__ import annotations

import random
from dataclasses import replace

from penstock.core.models.capacity.stay import Stay, columns_of, first_stay
from penstock.selftest.worlds.workers import rising, skewed

HALF_LIFE_S = 3600.0


def learnt(seed: int = 0) -> Stay:
    chance = random.Random(seed)
    seen = skewed(chance, 5).ramp(chance, rising(0.1, 0.5, 12))
    return columns_of(first_stay(seen[0])).learned(seen, HALF_LIFE_S).stay()


def test_it_goes_to_columns_and_back_as_it_was() -> None:
    stay = learnt()
    assert columns_of(stay).stay() == stay and len(stay.workers) == 5
    assert columns_of(stay).learned([], HALF_LIFE_S).stay() == stay
    assert columns_of(stay).names == stay.names and columns_of(stay).readings == stay.load.count


def test_a_worker_without_co_moments_stays_without_and_the_others_do_not_lose_theirs() -> None:
    stay = learnt()
    old = replace(stay, workers=(replace(stay.workers[0], with_load=None, with_mean=None), *stay.workers[1:]))
    assert columns_of(old).stay() == old
    chance = random.Random(0)
    seen = skewed(chance, 5).ramp(chance, rising(0.1, 0.5, 12))
    later = [replace(reading, at_s=reading.at_s + 600.0) for reading in seen]
    grown, whole = (columns_of(each).learned(later, HALF_LIFE_S).stay() for each in (old, stay))
    assert grown.workers[0].with_load is None and grown.workers[1:] == whole.workers[1:]
