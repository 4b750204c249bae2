"""Bounds from errors on what was held out."""

from __future__ import annotations

import math

import numpy as np
import pytest

from penstock.core.models.surrogate.crossvalidation import within_errors


@pytest.mark.parametrize("count", [4, 6, 9, 15, 60])
def test_the_next_error_lies_within_in_about_four_of_five_cases(count: int) -> None:
    rng = np.random.default_rng(count)
    inside = 0
    for _ in range(800):
        answer = within_errors(100.0, rng.normal(0, 0.2, count))
        inside += answer.low <= 100.0 * math.exp(rng.normal(0, 0.2)) <= answer.high
    assert 0.74 < inside / 800 < 0.87


def test_without_errors_nothing_is_excluded() -> None:
    answer = within_errors(5.0, np.array([]))
    assert (answer.low, answer.high) == (0.0, math.inf)


def test_errors_all_on_one_side_still_hold_the_value() -> None:
    answer = within_errors(5.0, np.linspace(0.1, 0.2, 20))
    assert answer.low == answer.value < answer.high
