import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import UserMistake
from penstock.core.shapes.shape import parse_shape
from penstock.core.shapes.shape_terms import TERMS

DAY_S = 86_400.0
MOMENTS = st.lists(st.floats(0, 1e8), min_size=1, max_size=20)
SUMS = st.lists(st.sampled_from(sorted(TERMS)), min_size=1, max_size=4).map(" + ".join)


def rates(text: str, *t_s: float, seed: int = 0) -> list[float]:
    return [float(each) for each in parse_shape(text, seed).rate_at(np.array(t_s, dtype=np.float64))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("constant(500)", {0: 500, 1e7: 500}),
        ("step(before=100, after=500, at=60)", {0: 100, 60: 100, 61: 500, 1e6: 500}),
        ("ramp(start=100, end=1000, over=120, begin=60)", {0: 100, 60: 100, 120: 550, 180: 1000, 1e6: 1000}),
        ("sine(1000, 400, 600)", {0: 1000, 150: 1400, 450: 600}),
        ("sine(1000, 400, 600, phase=150)", {0: 1400}),
        ("sine(mean=100, amplitude=400, period=600)", {450: 0}),
    ],
)
def test_each_term_has_its_rates(text: str, expected: dict[float, float]) -> None:
    assert rates(text, *expected) == pytest.approx([*expected.values()])


def test_a_day_is_lowest_at_night_and_highest_in_the_evening() -> None:
    t_s = np.arange(0, DAY_S, 60)
    rate = parse_shape("diurnal(low=10, high=90)").rate_at(t_s)
    assert t_s[rate.argmin()] == 4 * 3600 and rate.min() == pytest.approx(10)
    assert t_s[rate.argmax()] == 20 * 3600 and rate.max() == pytest.approx(90)
    assert np.abs(np.diff(rate)).max() < 1
    assert rates("diurnal", 5_000) == pytest.approx(rates("diurnal", 5_000 + 30 * DAY_S))


def test_spikes_come_once_in_every_period_at_random_times() -> None:
    every, stretches = 300, 400
    rate = parse_shape("spikes(height=2k, every=5m, width=20)", seed=3).rate_at(np.arange(0.0, stretches * every, 0.5))
    starts = np.flatnonzero((rate[1:] > 0) & (rate[:-1] == 0))
    assert 0.9 * stretches < len(starts) <= stretches
    assert np.std(np.diff(starts) * 0.5) > 50
    assert 0.99 * 2000 < rate.max() <= 2 * 2000
    area = parse_shape("spikes(height=1000, every=300, width=20)").rate_at(np.arange(0.0, 300 * 1000))
    assert area.mean() == pytest.approx(1000 * 20 / 2 / 300, rel=0.01)


def test_noise_is_even_and_stays_within_its_amplitude() -> None:
    rate = parse_shape("constant(1000) + noise(amplitude=100)").rate_at(np.arange(100_000.0))
    assert 900 <= rate.min() < 901 and 1099 < rate.max() <= 1100
    assert rate.mean() == pytest.approx(1000, abs=1)
    assert abs(np.corrcoef(rate[1:], rate[:-1])[0, 1]) < 0.02


def test_noise_stands_still_between_draws_and_is_another_with_another_seed() -> None:
    assert rates("noise(100) + constant(1k)", 0, 1, 2, seed=1) != rates("noise(100) + constant(1k)", 0, 1, 2, seed=2)
    rate = np.array(rates("constant(1k) + noise(100, every=10)", *range(100), seed=1)).reshape(10, 10)
    assert (rate == rate[:, :1]).all() and len(set(rate[:, 0])) == 10


def test_two_noises_with_one_seed_do_not_move_together() -> None:
    t_s = np.arange(10_000.0)
    one, both = (parse_shape(text, seed=5).rate_at(t_s) for text in ("constant(1k) + noise(100)", "constant(1k) + noise(100) + noise(100)"))
    assert abs(np.corrcoef(one, both - one)[0, 1]) < 0.05


@given(SUMS, st.integers(0, 2**40), MOMENTS)
def test_any_sum_is_finite_never_negative_and_the_same_alone_as_among_others(text: str, seed: int, moments: list[float]) -> None:
    together = parse_shape(text, seed).rate_at(np.array(moments))
    assert np.isfinite(together).all() and (together >= 0).all()
    alone = [float(parse_shape(text, seed).rate_at(np.array([each]))[0]) for each in moments]
    np.testing.assert_allclose(together, alone, rtol=1e-9, atol=1e-6)


@given(SUMS, MOMENTS)
def test_from_when_it_is_settled_a_shape_does_not_move(text: str, moments: list[float]) -> None:
    shape = parse_shape(text)
    if np.isfinite(shape.settled_s):
        assert len(set(shape.rate_at(shape.settled_s + np.array(moments)).tolist())) == 1


@given(SUMS)
def test_a_shape_reads_back_what_it_prints(text: str) -> None:
    shape = parse_shape(text, 9)
    assert parse_shape(str(shape), 9) == shape


def test_parameters_come_with_units_by_name_by_position_or_by_default() -> None:
    assert parse_shape(" Sine( 1.5k , 500/s, Period = 10m )") == parse_shape("sine(mean=1500, amplitude=500, period=600)")
    assert parse_shape("sine + spikes") == parse_shape("sine() + spikes()")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "shape: found '', a sum such as"),
        ("sine +", "shape: found '', a sum such as"),
        ("sin(1)", "shape: found 'sin', known shapes are constant, step, ramp, sine, diurnal, spikes, noise"),
        ("sine(mean=1", "shape: found 'sine(mean=1', a sum such as"),
        ("sine * 2", "shape: found 'sine * 2', a sum such as"),
        ("__import__('os')", "shape: found '__import__', known shapes are"),
        ("sine(frequency=2)", "shape sine: found 'frequency', its parameters are mean, amplitude, period, phase"),
        ("constant(1, 2)", "shape constant: found '2' as value 2, its parameters are rate"),
        ("sine(mean=1, 2)", "shape sine: found '2' after a named parameter"),
        ("sine(1, mean=2)", "shape sine: mean: found twice"),
        ("constant(-5)", "shape constant: rate: found '-5', a rate such as"),
        ("constant(fast)", "shape constant: rate: found 'fast', a rate such as"),
        ("constant()  + constant(1,)", "shape constant: found '' as value 2"),
        ("constant(" + "9" * 400 + ")", "a rate of at most 1e+09 rows/s is allowed"),
        ("sine(period=0)", "shape sine: period: found '0', at least 4s is allowed"),
        ("sine(period=soon)", "shape sine: period: found 'soon', a duration such as"),
        ("ramp(over=0)", "shape ramp: over: found '0', at least 1s is allowed"),
        ("spikes(width=10m)", "shape spikes: width: found 10m, at most every (5m) is allowed"),
        ("diurnal(low=5, high=1)", "shape diurnal: low: found 5, at most high (1) is allowed"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_is_allowed(text: str, says: str) -> None:
    with pytest.raises(UserMistake) as caught:
        parse_shape(text)
    assert says in str(caught.value) and "\n" not in str(caught.value)
