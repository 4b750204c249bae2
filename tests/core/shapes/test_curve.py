import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.shapes.chance import FloatArray
from penstock.core.shapes.curve import AT_END, BLOCK_S, KnotCurve, Knots, RateCurve, SampledCurve, curve_of_shape
from penstock.core.shapes.shape import parse_shape

MONTH_S = 30 * 86_400.0
BUSY = "diurnal(low=1k, high=20k) + sine(500, 400, 10m) + spikes + noise"
TEXTS = ("constant(500)", "constant(0)", "step(0, 7, at=90)", "ramp(5, 0, over=60)", "sine(10, 40, 60)", "spikes(height=3, every=9h, width=20)", BUSY)
STEPS = st.one_of(st.floats(0.01, 100), st.integers(1, 100).map(float))
RATES = st.one_of(st.just(0.0), st.floats(1e-6, 1e4), st.integers(0, 1000).map(float))


def knots(*points: tuple[float, float]) -> Knots:
    t_s, rate = np.array(points, dtype=np.float64).T
    return Knots(t_s=t_s, rate=rate)


@st.composite
def knot_curves(draw: st.DrawFn) -> KnotCurve:
    steps = draw(st.lists(STEPS, max_size=6))
    rates = draw(st.lists(RATES, min_size=len(steps) + 1, max_size=len(steps) + 1))
    return KnotCurve(Knots(t_s=np.cumsum([0.0, *steps]), rate=np.array(rates)), draw(st.sampled_from(AT_END)))


CURVES: st.SearchStrategy[RateCurve] = st.one_of(knot_curves(), st.sampled_from([curve_of_shape(parse_shape(each)) for each in TEXTS]))
MOMENTS = st.lists(st.floats(0, 50_000), min_size=1, max_size=20).map(lambda each: np.array(sorted(each)))


def test_the_integral_of_a_ramp_is_a_parabola() -> None:
    curve = KnotCurve(knots((0, 0), (10, 10)), "hold")
    assert curve.rows_by(np.array([0.0, 2.0, 10.0, 11.0])).tolist() == [0, 2, 50, 60]
    assert curve.time_of(np.array([0.0, 2.0, 50.0, 60.0])).tolist() == [0, 2, 10, 11]


def test_after_the_end_a_trace_holds_repeats_or_stops() -> None:
    points, later = knots((0, 10), (10, 20)), np.array([25.0])
    assert [float(KnotCurve(points, each).rate_at(later)[0]) for each in AT_END] == [20, 15, 0]
    assert [float(KnotCurve(points, each).rows_by(later)[0]) for each in AT_END] == [450, 362.5, 150]
    assert [float(KnotCurve(points, each).time_of(np.array([151.0]))[0]) for each in AT_END] == pytest.approx([10.05, 10.0995, np.inf], abs=1e-4)


def test_a_row_due_when_the_rate_falls_to_zero_is_due_then_and_not_after_the_pause() -> None:
    curve = KnotCurve(knots((0, 10), (10, 0), (100, 0), (110, 10)), "stop")
    assert curve.time_of(np.array([50.0])).tolist() == [10]
    assert 100 < curve.time_of(np.array([50.001]))[0] < 101


def test_one_knot_is_a_constant_rate_and_a_trace_of_zero_never_sends_a_row() -> None:
    for at_end in AT_END:
        assert KnotCurve(knots((0, 7)), at_end).rows_by(np.array([1000.0])).tolist() == [7000]
        assert KnotCurve(knots((0, 0), (5, 0)), at_end).time_of(np.array([0.0, 1.0])).tolist() == [0, np.inf]
    assert curve_of_shape(parse_shape("constant(0)")).time_of(np.array([1.0])).tolist() == [np.inf]


def test_a_nearly_flat_slope_loses_no_precision() -> None:
    curve = KnotCurve(knots((0, 1000), (1e6, np.nextafter(1000, 2000))), "hold")
    rows = np.linspace(0, 1e9, 1001)
    np.testing.assert_allclose(curve.time_of(rows), rows / 1000, rtol=1e-14)


@given(CURVES, MOMENTS)
def test_the_integral_never_falls(curve: RateCurve, t_s: FloatArray) -> None:
    rows = curve.rows_by(t_s)
    assert (np.diff(rows) >= -1e-12 * rows[1:]).all() and rows[0] >= 0


@given(CURVES, MOMENTS)
def test_the_time_of_rows_is_the_earliest_at_which_they_are_due(curve: RateCurve, t_s: FloatArray) -> None:
    rows = curve.rows_by(t_s) * (1 - 1e-12)
    found_s = curve.time_of(rows)
    assert (found_s <= t_s + 1e-6).all()
    np.testing.assert_allclose(curve.rows_by(found_s), rows, rtol=1e-9, atol=1e-9)


@given(CURVES, MOMENTS)
def test_between_breaks_the_rate_is_linear_and_its_integral_the_trapezoid(curve: RateCurve, t_s: FloatArray) -> None:
    from_s, to_s = float(t_s[0]), min(float(t_s[0]) + 200, float(t_s[-1]) + 1)
    breaks = curve.breaks(from_s, to_s, 100_000)
    for low, high in (each for each in pairwise([from_s, *breaks.tolist(), to_s]) if each[1] - each[0] > 1e-9):
        inside = low + (high - low) * np.array([0.0, 0.25, 0.5, 0.75])
        rows, rate = curve.rows_by(np.array([low, high])), curve.rate_at(inside[1:])
        assert rate[0] + rate[2] == pytest.approx(2 * rate[1], abs=1e-3)
        assert rows[1] - rows[0] == pytest.approx(rate[1] * (high - low), rel=1e-6, abs=1e-5)


@settings(max_examples=20, deadline=None)
@given(st.sampled_from((BUSY, "sine(10, 40, 60)")), st.lists(st.floats(0, 6 * BLOCK_S), min_size=1, max_size=6))
def test_the_order_of_questions_does_not_change_the_answers(text: str, t_s: list[float]) -> None:
    by_one, at_once = SampledCurve(parse_shape(text)), SampledCurve(parse_shape(text))
    assert [float(by_one.rows_by(np.array([each]))[0]) for each in t_s] == at_once.rows_by(np.array(t_s)).tolist()


def test_blocks_of_samples_join_without_a_seam() -> None:
    curve = SampledCurve(parse_shape(BUSY))
    border = np.array([BLOCK_S - 1e-6, BLOCK_S, BLOCK_S + 1e-6])
    assert np.ptp(curve.rows_by(border)) < 0.1 and np.ptp(curve.rate_at(border)) < 0.1
    np.testing.assert_allclose(curve.time_of(curve.rows_by(border)), border, atol=1e-9)


def test_a_shape_that_settles_agrees_with_its_samples() -> None:
    shape, t_s = parse_shape("ramp(100, 1000, over=7000.5) + step(at=20000)"), np.linspace(0, 60_000, 999)
    np.testing.assert_allclose(curve_of_shape(shape).rows_by(t_s), SampledCurve(shape).rows_by(t_s), rtol=1e-12)


def test_too_many_breaks_are_not_listed() -> None:
    assert [each.breaks(0, MONTH_S, 4096) for each in (curve_of_shape(parse_shape(BUSY)), KnotCurve(knots((0, 1), (1, 2)), "repeat"))] == [None, None]


def test_a_month_old_curve_answers_at_once() -> None:
    curve, now = curve_of_shape(parse_shape(BUSY)), np.array([MONTH_S])
    recent = curve.rows_by(now) - np.arange(100_000.0)
    curve.time_of(recent)
    began = time.perf_counter()
    curve.rows_by(now)
    asked = time.perf_counter()
    curve.time_of(recent)
    assert asked - began < 0.1 and time.perf_counter() - asked < 0.2
