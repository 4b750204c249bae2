import random

import numpy as np
import pytest

from penstock.core.models.capacity.executor_use import ExecutorUses, as_arrays
from penstock.core.models.capacity.stay import Stay, first_stay
from penstock.selftest.worlds.uneven_executors import rising, skewed
from penstock.stores.codec import decode, encode


def seen(seed: int = 0) -> list[ExecutorUses]:
    chance = random.Random(seed)
    return skewed(chance, 5).ramp(chance, rising(0.1, 0.5, 12))


def test_it_keeps_the_moments_of_every_executor_and_their_co_moments_with_all() -> None:
    readings = seen()
    whole = first_stay(readings[0]).learned(readings, 1e12)
    pieces = first_stay(readings[0]).learned(readings[:5], 1e12).learned(readings[5:], 1e12)
    utilization, throughput = as_arrays(readings)
    loads, means = throughput.sum(axis=1), utilization.mean(axis=1)
    for stay in (whole, pieces):
        uses = stay.by_executor
        assert uses.moments.mean_x == pytest.approx(utilization.mean(axis=0)) and uses.moments.mean_y == pytest.approx(throughput.mean(axis=0))
        assert uses.proportion == pytest.approx((utilization / utilization.max(axis=1)[:, None]).mean(axis=0))
        assert uses.with_load == pytest.approx((loads - loads.mean()) @ (utilization - utilization.mean(axis=0)))
        assert uses.with_mean == pytest.approx((means - means.mean()) @ (utilization - utilization.mean(axis=0)))
        assert stay.readings == pytest.approx(12.0) and stay.highest_utilization == np.max(utilization)


def test_it_goes_through_json_and_back_and_learns_nothing_from_no_readings() -> None:
    readings = seen()
    stay = first_stay(readings[0]).learned(readings, 3600.0)
    assert decode(Stay, encode(stay)) == stay == stay.learned([], 3600.0)
