import numpy as np
import pytest

from penstock.core.models.arrays import Floats
from penstock.core.models.surrogate.parts import Axis, Prior, fit_parts, nonnegative

RATE = np.linspace(0.1, 0.8, 24)
POLE = Axis(lowest=0.81, highest=3.0, values=5)


def pole(shapes: Floats) -> Floats:
    return np.stack([np.ones((len(shapes), len(RATE))), RATE / (shapes[:, :1] - RATE)], axis=-1)


@pytest.mark.parametrize("seed", range(10))
def test_nonnegative_amounts_are_those_of_scipy(seed: int) -> None:
    from scipy.optimize import nnls

    rng = np.random.default_rng(seed)
    design, target = rng.normal(size=(20, 4)), rng.normal(size=20)
    found = nonnegative((design.T @ design)[None], (design.T @ target)[None])[0]
    assert found == pytest.approx(nnls(design, target)[0], abs=1e-9)


@pytest.mark.parametrize("capacity", [0.9, 1.0, 1.37, 2.9])
def test_the_shape_is_found_between_the_values_of_the_grid(capacity: float) -> None:
    shape, amounts = fit_parts(pole, 2 + 3 * RATE / (capacity - RATE), (Prior(), Prior()), (POLE,))
    assert shape[0] == pytest.approx(capacity, rel=0.03)
    assert pole(shape[None])[0] @ amounts == pytest.approx(2 + 3 * RATE / (capacity - RATE), rel=0.02)


def test_rows_of_three_times_the_size_do_not_bend_the_fit() -> None:
    truth = 2 + 3 * RATE / (1 - RATE)
    spoilt = truth * np.random.default_rng(1).lognormal(0, 0.03, len(RATE))
    spoilt[[4, 20]] *= 3
    shape, amounts = fit_parts(pole, spoilt, (Prior(), Prior()), (POLE,))
    assert pole(shape[None])[0] @ amounts == pytest.approx(truth, rel=0.08)


def test_a_prior_decides_where_rows_do_not() -> None:
    def twice(_: Floats) -> Floats:
        return np.stack([np.ones((1, 24)), np.ones((1, 24))], axis=-1)

    _, amounts = fit_parts(twice, np.full(24, 5.0), (Prior(), Prior(centre=1.5, width=0.1)))
    assert amounts == pytest.approx([3.5, 1.5], rel=0.01)
    _, amounts = fit_parts(twice, np.full(24, 5.0), (Prior(), Prior(share=0.01)))
    assert amounts == pytest.approx([5.0, 0.0], abs=0.01)


def test_the_prior_of_a_shape_decides_where_rows_do_not() -> None:
    axis = Axis(lowest=0.0, highest=4.0, values=5, centre=1.3, width=1.0)
    shape, _ = fit_parts(lambda shapes: np.ones((len(shapes), 24, 1)), np.full(24, 5.0), (Prior(),), (axis,))
    assert shape[0] == pytest.approx(1.3, abs=0.05)
