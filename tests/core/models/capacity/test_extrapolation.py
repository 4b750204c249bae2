import random

import pytest

from penstock.core.models.capacity.extrapolation import quiet, score_extrapolation
from penstock.core.models.estimate import NotReady
from penstock.selftest.worlds.uneven_executors import rising, skewed


def test_the_score_is_beside_that_of_a_constant_and_of_the_paper() -> None:
    chance = random.Random(2)
    readings = skewed(chance, utilization_noise=0.02).ramp(chance, rising(0.05, 0.95, 120))
    score = score_extrapolation(readings, max_utilization=0.5)
    assert score.paper_mape is not None and score.mape < 0.05 < score.constant_mape
    assert score.held_out == len(readings) - len(quiet(readings, 0.5))


@pytest.mark.parametrize("max_utilization", [0.01, 2.0])
def test_without_both_sides_there_is_no_score(max_utilization: float) -> None:
    chance = random.Random(2)
    readings = skewed(chance).ramp(chance, rising(0.2, 0.9, 30))
    assert isinstance(score_extrapolation(readings, max_utilization=max_utilization), NotReady)
