import math

import numpy as np
import pytest

from penstock.core.models.surrogate.crossvalidation import interval_groups, within_errors


@pytest.mark.parametrize("count", [4, 6, 9, 15, 60])
def test_the_next_error_lies_within_the_bounds_in_about_four_of_five_cases(count: int) -> None:
    rng = np.random.default_rng(count)
    inside = 0
    for _ in range(800):
        answer = within_errors(100.0, rng.normal(0, 0.2, count))
        inside += answer.low <= 100.0 * math.exp(rng.normal(0, 0.2)) <= answer.high
    assert 0.74 < inside / 800 < 0.87


def test_without_errors_bounds_exclude_nothing_and_errors_on_one_side_still_include_the_value() -> None:
    unknown, above = within_errors(5.0, np.array([])), within_errors(5.0, np.linspace(0.1, 0.2, 20))
    assert (unknown.low, unknown.high) == (0.0, math.inf) and above.low == above.value < above.high


def test_intervals_measured_a_little_differently_are_one() -> None:
    intervals_s = np.repeat([10.0, 30.0, 60.0, 90.0], 5) * np.random.default_rng(0).uniform(0.98, 1.02, 20)
    assert len(np.unique(interval_groups(intervals_s))) == 4
