import numpy as np
import pytest

from penstock.core.models.estimate import HIGH_LEVEL, LOW_LEVEL
from penstock.core.models.forecast import calibration
from penstock.core.models.forecast.backtest import ORIGINS_A_HORIZON
from penstock.core.models.forecast.combined import LoadForecast
from penstock.core.models.forecast.evaluate import origins_of, tried

LEADS = len(calibration.LEAD_SHARES)
LEVELS = (LOW_LEVEL, HIGH_LEVEL)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_after_four_horizons_bounds_hold_four_in_five_whatever_the_size_of_errors(scale: float) -> None:
    covered = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        errors, stretch = np.zeros((0, LEADS)), 1.0
        for _ in range(4 * 3):
            new, known = rng.normal(0.0, scale, (ORIGINS_A_HORIZON // 3, LEADS)), errors[:-ORIGINS_A_HORIZON]
            if len(known) >= ORIGINS_A_HORIZON:
                stretch = calibration.stretched(stretch, calibration.tails(known, LEVELS, len(known) / ORIGINS_A_HORIZON, 4.0, stretch), new)
            errors = np.concatenate([errors, new])
        low, high = calibration.tails(errors, LEVELS, 4.0, 4.0, stretch)
        fresh = rng.normal(0.0, scale, (500, LEADS))
        covered.append(np.mean((fresh >= low) & (fresh <= high)))
    assert 0.70 <= np.mean(covered) <= 0.90


def test_leads_without_measured_errors_keep_the_prior_errors() -> None:
    early = np.full((4, LEADS), np.nan)
    early[:, :3] = 1e-3
    high = calibration.tails(early, LEVELS, 0.3, 4.0)[1]
    fresh = calibration.tails(np.zeros((0, LEADS)), LEVELS, 0.0, 4.0)[1]
    assert high[3:] == pytest.approx(fresh[3:], rel=0.3) and np.all(high[:3] < 0.6 * fresh[:3])


@pytest.mark.slow
def test_a_load_that_jumps_between_exact_levels_has_honest_bounds() -> None:
    rng = np.random.default_rng(3)
    time_s = np.arange(0.0, 4800.0, 10.0)
    rate = rng.uniform(10_000.0, 60_000.0, 13)[(time_s // 400).astype(int)]
    moments = list(origins_of(time_s, rate, history_s=1200.0, horizon_s=300.0, step_s=10.0, origins=16))
    found = tried(moments, LoadForecast(history_s=1200.0, horizon_s=300.0), lambda *_: None, lambda: 0.0).evaluation()
    assert 0.70 <= found.coverage_80 <= 0.95


def test_a_load_is_as_uncertain_between_two_jumps_as_after_one() -> None:
    jumps = np.repeat([10.0, 1010.0, 10.0], 120)
    after, between = (calibration.spread(np.ones((1, 1, 1)), np.ones(1), np.ones((1, 1)), jumps[None, :end])[0, 0] for end in (250, 350))
    assert 20.0 < between < after < 2 * between
