from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.models.capacity.batch_fit import evenly, fit_durations

LOADS = np.linspace(10.0, 500.0, 40)
COLUMNS = np.column_stack([np.ones(40), LOADS])


@settings(max_examples=30)
@given(st.integers(0, 1000))
def test_coefficients_and_their_draws_are_never_negative(seed: int) -> None:
    chance = np.random.default_rng(seed)
    fit = fit_durations(COLUMNS, chance.lognormal(0.0, 0.5, 40))
    assert (fit.coefficients >= 0).all() and (fit.draws() >= 0).all()


@settings(max_examples=30)
@given(st.integers(0, 1000), st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_units_do_not_matter(seed: int, time_unit: float, row_unit: float) -> None:
    durations = (1.0 + 0.01 * LOADS) * np.random.default_rng(seed).lognormal(0.0, 0.1, 40)
    plain, scaled = fit_durations(COLUMNS, durations), fit_durations(COLUMNS * [1.0, row_unit], durations * time_unit)
    assert (scaled.coefficients * [1.0, row_unit] / time_unit).tolist() == pytest.approx(plain.coefficients.tolist(), rel=1e-5, abs=1e-9)


def test_the_left_out_prediction_does_not_follow_the_row_that_was_left_out() -> None:
    durations = 1.0 + 0.01 * LOADS + np.random.default_rng(0).normal(0, 0.05, 40)
    moved = durations.copy()
    moved[0] *= 1.05
    before, after = (fit_durations(COLUMNS, each) for each in (durations, moved))
    assert abs(after.left_out_s[0] - before.left_out_s[0]) < 0.01 < abs(moved[0] - durations[0])


def test_even_points_have_the_quantiles_of_the_uniform() -> None:
    for column in evenly(64, 3).T:
        assert np.abs(np.sort(column) - (np.arange(64) + 0.5) / 64).max() < 0.06
