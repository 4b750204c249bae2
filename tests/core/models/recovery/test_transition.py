from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.transition import LiveRescale, recovery_after_rescale_s, rows_above, transition_s

RATES = st.lists(st.floats(0, 200), min_size=4, max_size=4)


def rescale(now: float, new: float, *, lag: float = 0.0, ready: float = 30.0) -> LiveRescale:
    return LiveRescale(at_s=0.0, ready_after_s=ready, capacity_now_rows_per_s=now, capacity_new_rows_per_s=new, excess_lag_rows=lag)


def test_what_the_present_size_cannot_do_waits_for_the_new_one() -> None:
    assert transition_s(Arrivals.constant(120.0), rescale(100.0, 200.0)) == 30.0 + 20.0 * 30 / 80
    assert transition_s(Arrivals.constant(120.0), rescale(100.0, 200.0, lag=400.0)) == 30.0 + (400.0 + 20.0 * 30) / 80


def test_a_job_that_keeps_up_on_its_way_has_nothing_to_recover_from() -> None:
    assert transition_s(Arrivals.constant(80.0), rescale(100.0, 90.0)) == 0.0


def test_a_new_size_that_does_not_suffice_never_recovers_from_a_lag() -> None:
    assert transition_s(Arrivals.constant(120.0), rescale(100.0, 110.0)) == math.inf


def test_recovery_after_a_rescale_is_the_worse_of_transition_and_failure() -> None:
    change = rescale(100.0, 200.0)
    assert recovery_after_rescale_s(Arrivals.constant(120.0), change, 20.0) == 37.5
    assert recovery_after_rescale_s(Arrivals.constant(120.0), change, 90.0) == 90.0


@given(RATES, st.floats(0, 200), st.floats(-20, 60), st.floats(0, 80))
def test_rows_above_a_level_are_the_integral_of_what_exceeds_it(rates: list[float], level: float, start_s: float, width_s: float) -> None:
    arrivals = Arrivals.through((0.0, 10.0, 25.0, 40.0), rates)
    moments_s = np.linspace(start_s, start_s + width_s, 801)
    over = np.maximum([arrivals.rate(float(each)) - level for each in moments_s], 0.0)
    assert rows_above(arrivals, level, start_s, start_s + width_s) == pytest.approx(float(np.trapezoid(over, moments_s)), rel=1e-3, abs=2.0)


@given(RATES, st.floats(1, 300), st.floats(0, 100))
def test_a_larger_new_size_never_means_a_longer_transition(rates: list[float], new: float, more: float) -> None:
    arrivals = Arrivals.through((0.0, 10.0, 25.0, 40.0), rates)
    assert transition_s(arrivals, rescale(100.0, new + more, lag=50.0)) <= transition_s(arrivals, rescale(100.0, new, lag=50.0)) * (1 + 1e-6) + 1e-4


def test_a_rescale_that_is_ready_before_it_began_is_refused() -> None:
    with pytest.raises(ValueError, match="ready_after_s"):
        rescale(1.0, 2.0, ready=-1.0)
