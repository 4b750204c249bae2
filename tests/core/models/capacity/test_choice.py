"""The model that is surer of a capacity is chosen, the physical one unless the other is far surer, and the reason is said."""

from __future__ import annotations

import pytest

from penstock.core.models.capacity.choice import MICRO_BATCH, UTILIZATION, choose_capacity_model
from penstock.core.models.estimate import Estimate


def sure(value: float, share: float) -> Estimate:
    return Estimate(value=value, low=value * (1 - share), high=value * (1 + share))


@pytest.mark.parametrize(
    ("batches", "utilization", "model"), [(0.1, 0.3, MICRO_BATCH), (0.2, 0.2, MICRO_BATCH), (0.2, 0.11, MICRO_BATCH), (0.2, 0.05, UTILIZATION)]
)
def test_the_physical_form_answers_unless_the_regression_is_far_surer(batches: float, utilization: float, model: str) -> None:
    choice = choose_capacity_model(sure(1000.0, batches), sure(800.0, utilization))
    assert choice.model == model and ("far surer" in choice.why) == (model == UTILIZATION)
    assert f"1,000 rows/s, ± {100 * batches:.0f} %" in choice.why and f"800 rows/s, ± {100 * utilization:.0f} %" in choice.why


def test_a_regression_that_says_nothing_can_be_processed_is_not_believed() -> None:
    assert choose_capacity_model(sure(1000.0, 0.9), Estimate(value=0.0, low=0.0, high=0.0)).model == MICRO_BATCH
