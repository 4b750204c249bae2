from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.drain import drained_s


@st.composite
def pressed_arrivals(draw: st.DrawFn) -> Arrivals:
    """Rates around a capacity of 100, often above it for a while."""
    steps = draw(st.lists(st.floats(0.5, 60), max_size=8))
    rates = draw(st.lists(st.floats(0, 180), min_size=len(steps) + 1, max_size=len(steps) + 1))
    return Arrivals.through(np.cumsum([0.0, *steps]), rates)


@given(pressed_arrivals(), st.floats(-20, 300), st.floats(0, 5000))
def test_it_is_the_first_moment_at_which_all_is_processed(arrivals: Arrivals, from_s: float, backlog_rows: float) -> None:
    end_s = drained_s(arrivals, from_s, backlog_rows, 100.0)
    seen_until_s = min(end_s, max(arrivals.last_s, from_s) + 1000.0)
    for moment_s in np.linspace(from_s, seen_until_s, 50)[:-1]:
        assert backlog_rows + arrivals.rows(from_s, float(moment_s)) - 100.0 * (moment_s - from_s) >= -1e-6
    if end_s < math.inf:
        assert backlog_rows + arrivals.rows(from_s, end_s) == pytest.approx(100.0 * (end_s - from_s), rel=1e-6, abs=1e-5)
    else:
        assert arrivals.long_run_rate >= 100.0


def test_a_peak_of_spare_capacity_between_two_points_is_enough() -> None:
    arrivals = Arrivals.through((0.0, 10.0, 20.0), (90.0, 110.0, 110.0))
    assert drained_s(arrivals, 0.0, 24.0, 100.0) == pytest.approx(5.0 - math.sqrt(1.0))
    assert drained_s(arrivals, 0.0, 26.0, 100.0) == math.inf


def test_no_backlog_is_gone_at_once_even_under_overload() -> None:
    assert drained_s(Arrivals.constant(500.0), 7.0, 0.0, 100.0) == 7.0


def test_without_capacity_nothing_is_ever_gone() -> None:
    assert drained_s(Arrivals.constant(0.0), 0.0, 1.0, 0.0) == math.inf
    assert drained_s(Arrivals.constant(0.0), 0.0, 1.0, -5.0) == math.inf


@pytest.mark.parametrize("capacity", [math.nan, math.inf])
def test_a_capacity_that_is_no_number_is_refused(capacity: float) -> None:
    with pytest.raises(ValueError, match="capacity"):
        drained_s(Arrivals.constant(1.0), 0.0, 1.0, capacity)


def test_a_slope_that_is_nearly_flat_loses_no_precision() -> None:
    arrivals = Arrivals.through((0.0, 1e6), (50.0, float(np.nextafter(50.0, 51.0))))
    assert drained_s(arrivals, 0.0, 1e6, 100.0) == pytest.approx(20_000.0, rel=1e-12)
    rising = Arrivals.through((0.0, 1e6), (150.0, float(np.nextafter(150.0, 149.0))))
    assert drained_s(rising, 0.0, 1.0, 100.0) == math.inf


def test_a_backlog_that_grows_first_is_gone_within_the_same_stretch_once_the_overload_has_passed() -> None:
    falling = Arrivals.through((0.0, 100.0), (110.0, 10.0))
    assert drained_s(falling, 0.0, 10.0, 100.0) == pytest.approx(10.0 + math.sqrt(120.0))
