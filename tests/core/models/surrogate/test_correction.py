import numpy as np
import pytest

from penstock.core.models.surrogate.correction import Corrected, smooth_residual
from penstock.core.models.surrogate.linear import LogLinear
from penstock.core.models.surrogate.points import Points, point

INTERVALS = np.repeat([10.0, 30.0, 60.0, 90.0, 120.0], 12)
RATES = np.tile(np.linspace(100, 700, 12), 5)
GRID = Points(interval_s=INTERVALS, rate=RATES)
WAVE = 0.3 * np.sin(RATES / 60)


def test_a_residual_that_all_intervals_share_is_predicted_for_a_held_out_one() -> None:
    held = INTERVALS == 60
    smooth = smooth_residual(GRID.where(~held), (WAVE + np.random.default_rng(0).normal(0, 0.05, 60))[~held])
    assert smooth is not None and np.abs(smooth.at(GRID.where(held)) - WAVE[held]).mean() < 0.06


def test_far_from_all_rows_and_with_few_rows_nothing_is_corrected() -> None:
    assert smooth_residual(GRID.where(np.arange(60) < 7), WAVE[:7]) is None
    smooth = smooth_residual(GRID, WAVE)
    assert smooth is not None and smooth.at(point(60, 1e5, None))[0] == pytest.approx(0, abs=1e-9)


def test_pure_noise_is_hardly_corrected() -> None:
    for seed in range(5):
        smooth = smooth_residual(GRID, np.random.default_rng(seed).normal(0, 0.1, 60))
        assert smooth is None or np.abs(smooth.at(GRID)).mean() < 0.05


def test_one_outlier_is_hardly_corrected() -> None:
    spoilt = np.random.default_rng(1).normal(0, 0.05, 60)
    spoilt[20] = 1.1
    smooth = smooth_residual(GRID, spoilt)
    assert smooth is None or np.abs(smooth.at(GRID)).max() < 0.15


def test_a_corrected_form_is_better_than_the_form_where_the_form_is_wrong() -> None:
    form = LogLinear(name="log", scale="log")
    seen = 100 * np.exp(WAVE)
    plain, corrected = form.fit(GRID, seen), Corrected(base=form).fit(GRID, seen)
    assert np.abs(np.log(corrected.at(GRID) / seen)).mean() < 0.5 * np.abs(np.log(plain.at(GRID) / seen)).mean()
    assert Corrected(base=form).name == "log, corrected" and corrected.parameters == plain.parameters
