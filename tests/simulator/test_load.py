import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.models.recovery.arrivals import Arrivals
from penstock.simulator.load import Load

RATES = st.lists(st.one_of(st.just(0.0), st.floats(1.0, 1e5)), min_size=1, max_size=10)


def through(rates: list[float]) -> Arrivals:
    return Arrivals.through([100.0 + 10.0 * number for number in range(len(rates))], rates)


@given(rates=RATES, start_s=st.floats(50.0, 150.0), times_s=st.lists(st.floats(0.0, 200.0), min_size=1, max_size=10))
def test_rows_are_the_exact_integral_of_the_arrivals(rates: list[float], start_s: float, times_s: list[float]) -> None:
    load = Load.of(through(rates), start_s)
    found = load.rows_until(start_s + np.array(times_s))
    assert found == pytest.approx([through(rates).rows(start_s, start_s + each) for each in times_s], rel=1e-9, abs=1e-6)
    assert load.start_s == start_s and load.rows_until(np.array([start_s - 10.0, start_s])).tolist() == [0.0, 0.0]


@given(rates=RATES, times_s=st.lists(st.floats(100.0, 250.0), min_size=1, max_size=10))
def test_the_time_of_a_row_has_as_many_rows_before_it(rates: list[float], times_s: list[float]) -> None:
    load = Load.of(through(rates), 100.0)
    rows = load.rows_until(np.array(times_s))
    found_s = load.arrived_s(rows)
    assert np.isfinite(found_s).all()
    assert load.rows_until(found_s) == pytest.approx(rows, rel=1e-6, abs=0.1)


def test_rows_after_a_silence_came_when_it_ended_and_rows_that_never_come_have_no_time() -> None:
    load = Load.of(Arrivals.through((0.0, 10.0, 20.0, 30.0, 31.0), (100.0, 0.0, 0.0, 100.0, 100.0)), 0.0)
    assert load.rows_until(np.array([10.0, 20.0])).tolist() == [500.0, 500.0]
    assert load.arrived_s(np.array([500.0])).tolist() == [20.0]
    assert Load.of(Arrivals.constant(100.0), 0.0).then(5.0, 0.0).arrived_s(np.array([400.0, 501.0])).tolist() == [4.0, np.inf]


@given(rates=RATES, at_s=st.floats(100.0, 200.0), rate=st.floats(0.0, 1e5))
def test_a_new_rate_leaves_the_past_as_it_was(rates: list[float], at_s: float, rate: float) -> None:
    before = Load.of(through(rates), 100.0)
    after = before.then(at_s, rate)
    past_s = np.linspace(100.0, at_s, 7)
    assert after.rows_until(past_s) == pytest.approx(before.rows_until(past_s))
    assert after.rows_until(np.array([at_s + 20.0])) - after.rows_until(np.array([at_s])) == pytest.approx(20.0 * rate, abs=1e-4)
