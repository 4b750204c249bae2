import numpy as np
import pytest

from penstock.core.models.surrogate.linear import LogLinear, Plane
from penstock.core.models.surrogate.points import Points

INTERVALS = np.repeat([10.0, 30.0, 60.0], 5)
RATES = np.tile([100.0, 200.0, 300.0, 400.0, 500.0], 3)
GRID = Points(interval_s=INTERVALS, rate=RATES)


def test_the_parameters_say_the_same_as_the_fit() -> None:
    seen = np.exp(0.5 + 0.01 * INTERVALS + 0.002 * RATES + 1e-5 * INTERVALS * RATES)
    fit = LogLinear(name="exponential", scale="plain").fit(GRID, seen)
    named = fit.parameters
    by_hand = named["constant"] + named["interval"] * INTERVALS + named["rate"] * RATES + named["interval_rate"] * INTERVALS * RATES
    assert np.log(fit.at(GRID)) == pytest.approx(by_hand)
    assert fit.at(GRID) == pytest.approx(seen, rel=0.02)


def test_the_plane_is_ordinary_least_squares() -> None:
    seen = np.random.default_rng(1).uniform(50, 500, len(GRID))
    expected = np.linalg.lstsq(np.column_stack([np.ones(len(GRID)), INTERVALS, RATES]), seen, rcond=None)[0]
    assert list(Plane().fit(GRID, seen).parameters.values()) == pytest.approx(expected)


def test_a_plane_that_crosses_zero_stays_positive() -> None:
    steep = Plane().fit(GRID, 1.0 + RATES)
    assert steep.at(Points(interval_s=np.array([10.0]), rate=np.array([-1e3])))[0] > 0


def test_an_interval_that_never_moved_gets_no_slope() -> None:
    still = Points(interval_s=np.full(5, 10.0), rate=RATES[:5])
    for form in (Plane(), LogLinear(name="log", scale="log"), LogLinear(name="plain", scale="plain")):
        fit = form.fit(still, 50 + RATES[:5])
        assert fit.at(Points(interval_s=np.array([500.0]), rate=RATES[2:3])) == pytest.approx(fit.at(still)[2])
        assert fit.parameters["interval"] == 0


@pytest.mark.parametrize("scale", ["log", "plain"])
def test_outliers_bend_the_robust_regression_little(scale: str) -> None:
    form = LogLinear(name="form", scale=scale)  # type: ignore[arg-type]
    seen = 20 * INTERVALS**0.3 * np.exp(RATES / 400)
    spoilt = seen.copy()
    spoilt[7] *= 3
    assert form.fit(GRID, spoilt).at(GRID) == pytest.approx(form.fit(GRID, seen).at(GRID), rel=0.08)
