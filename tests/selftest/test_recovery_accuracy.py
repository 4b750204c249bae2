import math

import numpy as np
import pytest
from laws import filling

from penstock.selftest.recovery_accuracy import Engine, formula, queue_s

STEADY = np.full(4000, 600.0)


def test_every_target_of_the_recovery_formulas_is_met() -> None:
    measured = formula([("steady", np.arange(4000.0), STEADY)]).measured
    assert len(measured) == 6
    assert [each.most for each in measured] == [0.12] * 5 + [1.0] and all(each.met and each.found >= 0 for each in measured)
    for each in measured[:4]:
        assert each.constant is not None and each.paper is not None and each.found < min(each.constant, each.paper + 0.01), each


@pytest.mark.parametrize("utilization", [0.3, 0.6, 0.9])
def test_the_queue_empties_when_the_closed_form_says(utilization: float) -> None:
    assert queue_s(STEADY, 100, 600.0 / utilization, 10, 110) == pytest.approx(110 + 120 * utilization / (1 - utilization), abs=1e-6)
    assert queue_s(STEADY, 100, 599.0, 10, 110) == math.inf


def test_an_uneven_queue_is_off_by_little_and_not_to_one_side() -> None:
    found = [queue_s(STEADY, 100, 1000.0, 10, 110, np.random.default_rng(seed)) for seed in range(200)]
    exact = 110 + 120 * 0.6 / 0.4
    assert np.std(found) > 1.0 and np.mean(found) == pytest.approx(exact, rel=0.02)


def test_the_engine_leaves_the_rest_to_the_next_trigger_under_a_limit_of_rows() -> None:
    found = Engine(overhead_s=1.0, row_s=0.001, cadence=filling(10.0), limit_rows=8000).recovery_s(np.arange(4000.0), STEADY, 100.0, 20.0, 10.0)
    waiting, starts = 18_000.0, 0
    while waiting > 8000:
        waiting, starts = waiting - 8000 + 6000, starts + 1
    assert found == pytest.approx(20.0 + 10.0 * starts + 1.0 + waiting / 1000)
