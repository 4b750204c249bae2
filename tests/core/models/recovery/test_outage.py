import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.models.arrays import Floats
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.lessons import implied_downtime_s
from penstock.core.models.recovery.outage import Outage, drained_s, phoebe_recovery_s, recovery_s

WORKLOADS = Path("/work/shared/data/workloads")
TRACES = ("sine_60000_6h.csv", "tm_6h_100K.csv", "cars_1D_1S_35K_small.csv")


@st.composite
def arrivals_up_to(draw: st.DrawFn, highest: float) -> Arrivals:
    steps = draw(st.lists(st.floats(0.5, 300), max_size=8))
    rates = draw(st.lists(st.floats(0, highest), min_size=len(steps) + 1, max_size=len(steps) + 1))
    return Arrivals.through(np.cumsum([0.0, *steps]), rates)


OUTAGES = st.builds(Outage, at_s=st.floats(-50, 500), interval_s=st.floats(0, 120), downtime_s=st.floats(0, 200), lag_rows=st.floats(0, 20_000))
DOWN = Outage(at_s=0.0, interval_s=10.0, downtime_s=110.0)


def daedalus_recovery_s(arrivals: Arrivals, outage: Outage, capacity: float) -> float:
    """Daedalus sec. 3.4 in continuous time: when the spare capacity since the restart has made up for the backlog."""
    return drained_s(arrivals, outage.back_s, outage.backlog_rows(arrivals), capacity) - outage.at_s


def closed_form_s(outage: Outage, rate: float, capacity: float) -> float:
    busy = rate / capacity
    return outage.downtime_s + ((outage.interval_s + outage.downtime_s) * busy + outage.lag_rows / capacity) / (1 - busy)


def test_the_backlog_is_what_came_since_the_last_commit_until_the_restart_and_the_lag() -> None:
    arrivals = Arrivals.through((0.0, 100.0), (0.0, 100.0))
    outage = Outage(at_s=20.0, interval_s=10.0, downtime_s=30.0, lag_rows=7.0)
    assert outage.back_s == 50.0 and outage.backlog_rows(arrivals) == pytest.approx((50.0**2 - 10.0**2) / 2 + 7.0)


@pytest.mark.parametrize(
    ("interval_s", "downtime_s", "lag_rows"), [(-1.0, 1.0, 0.0), (1.0, -1.0, 0.0), (1.0, 1.0, -1.0), (1.0, math.nan, 0.0), (math.inf, 1.0, 0.0)]
)
def test_an_outage_with_less_than_nothing_is_refused(interval_s: float, downtime_s: float, lag_rows: float) -> None:
    with pytest.raises(ValueError, match="of an outage"):
        Outage(at_s=0.0, interval_s=interval_s, downtime_s=downtime_s, lag_rows=lag_rows)


@given(arrivals_up_to(180.0), st.floats(-20, 300), st.floats(0, 5000))
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


def test_no_backlog_is_gone_at_once_even_under_overload_and_without_capacity_nothing_is_ever_gone() -> None:
    assert drained_s(Arrivals.constant(500.0), 7.0, 0.0, 100.0) == 7.0
    assert [drained_s(Arrivals.constant(0.0), 0.0, 1.0, capacity) for capacity in (0.0, -5.0)] == [math.inf] * 2
    assert phoebe_recovery_s(Arrivals.constant(1.0), DOWN, 0.0) == math.inf


def test_a_capacity_that_is_no_number_or_a_stopping_rule_that_never_stops_is_refused() -> None:
    for capacity in (math.nan, math.inf):
        with pytest.raises(ValueError, match="capacity"):
            drained_s(Arrivals.constant(1.0), 0.0, 1.0, capacity)
    with pytest.raises(ValueError, match="stop"):
        phoebe_recovery_s(Arrivals.constant(1.0), DOWN, 10.0, stop_s=0.0)


def test_a_slope_that_is_nearly_flat_loses_no_precision() -> None:
    arrivals = Arrivals.through((0.0, 1e6), (50.0, float(np.nextafter(50.0, 51.0))))
    assert drained_s(arrivals, 0.0, 1e6, 100.0) == pytest.approx(20_000.0, rel=1e-12)
    rising = Arrivals.through((0.0, 1e6), (150.0, float(np.nextafter(150.0, 149.0))))
    assert drained_s(rising, 0.0, 1.0, 100.0) == math.inf


def test_a_backlog_that_grows_first_is_gone_within_the_same_stretch_once_the_overload_has_passed() -> None:
    falling = Arrivals.through((0.0, 100.0), (110.0, 10.0))
    assert drained_s(falling, 0.0, 10.0, 100.0) == pytest.approx(10.0 + math.sqrt(120.0))


@settings(max_examples=50)
@given(OUTAGES, st.floats(0, 99.9))
def test_for_a_constant_rate_both_are_the_closed_form(outage: Outage, rate: float) -> None:
    expected_s = pytest.approx(closed_form_s(outage, rate, 100.0), rel=1e-6, abs=1e-6)
    assert phoebe_recovery_s(Arrivals.constant(rate), outage, 100.0) == expected_s
    assert daedalus_recovery_s(Arrivals.constant(rate), outage, 100.0) == expected_s


@settings(max_examples=50)
@given(OUTAGES, st.floats(0, 99.0), st.lists(st.floats(0.5, 300), min_size=1, max_size=8))
def test_for_a_constant_rate_the_number_of_points_does_not_matter(outage: Outage, rate: float, steps: list[float]) -> None:
    arrivals = Arrivals.through(np.cumsum([0.0, *steps]), [rate] * (len(steps) + 1))
    for tail in (True, False):
        expected_s = phoebe_recovery_s(Arrivals.constant(rate), outage, 100.0, tail=tail)
        assert phoebe_recovery_s(arrivals, outage, 100.0, tail=tail) == pytest.approx(expected_s, rel=1e-6, abs=1.001 if not tail else 1e-6)


def test_the_example_of_the_notes_is_exact_and_the_paper_stops_within_a_second_of_it() -> None:
    exact_s, paper_s = (phoebe_recovery_s(Arrivals.constant(51.0), DOWN, 100.0, tail=tail) for tail in (True, False))
    assert exact_s == pytest.approx(110 + 120 * 0.51 / 0.49, rel=1e-12) and 0 < exact_s - paper_s < 1.0


def test_it_is_smooth_over_the_utilisation() -> None:
    times_s = [phoebe_recovery_s(Arrivals.constant(busy), DOWN, 100.0) for busy in range(45, 96)]
    assert times_s == pytest.approx([closed_form_s(DOWN, busy, 100.0) for busy in range(45, 96)], rel=1e-9)
    assert all(0 < later / earlier - 1 < 0.12 for earlier, later in pairwise(times_s[: 80 - 45 + 1 : 2])), "up to 80 %"


@settings(max_examples=50)
@given(arrivals_up_to(180.0), OUTAGES)
def test_phoebe_with_its_tail_and_daedalus_in_continuous_time_agree(arrivals: Arrivals, outage: Outage) -> None:
    ours_s, theirs_s = phoebe_recovery_s(arrivals, outage, 100.0), daedalus_recovery_s(arrivals, outage, 100.0)
    near = [each for each in (ours_s, theirs_s) if abs(left_rows(arrivals, outage, each)) < 1e-3]
    assert ours_s == pytest.approx(theirs_s, rel=1e-6, abs=1e-4) or len(near) == 2


def left_rows(arrivals: Arrivals, outage: Outage, after_s: float, capacity: float = 100.0) -> float:
    """Backlog at a time after the stop, if the job worked at its capacity since the restart; it may be negative."""
    if after_s == math.inf:
        return 0.0 if arrivals.long_run_rate >= capacity else math.inf
    return outage.lag_rows + arrivals.rows(outage.at_s - outage.interval_s, outage.at_s + after_s) - capacity * (after_s - outage.downtime_s)


@settings(max_examples=50)
@given(arrivals_up_to(180.0), OUTAGES)
def test_nothing_is_left_at_the_end_of_the_recovery_and_something_before(arrivals: Arrivals, outage: Outage) -> None:
    found_s = phoebe_recovery_s(arrivals, outage, 100.0)
    assert found_s >= outage.downtime_s - 1e-9
    assert left_rows(arrivals, outage, found_s) == pytest.approx(0.0, abs=1e-3)
    for moment_s in np.linspace(outage.downtime_s, min(found_s, 1e5), 40)[:-1]:
        assert left_rows(arrivals, outage, float(moment_s)) >= -1e-3


@settings(max_examples=50)
@given(arrivals_up_to(90.0), OUTAGES)
def test_the_papers_sequence_approaches_the_same_number_as_its_stopping_rule_tightens(arrivals: Arrivals, outage: Outage) -> None:
    exact_s = phoebe_recovery_s(arrivals, outage, 100.0)
    for stop_s in (1.0, 0.1, 0.01):
        stopped_s = phoebe_recovery_s(arrivals, outage, 100.0, tail=False, stop_s=stop_s)
        assert -1e-6 <= exact_s - stopped_s <= 0.9 / 0.1 * stop_s + 1e-6


@settings(max_examples=50)
@given(arrivals_up_to(180.0), OUTAGES, st.floats(10, 300), st.floats(0, 100))
def test_more_capacity_never_means_a_longer_recovery(arrivals: Arrivals, outage: Outage, capacity: float, more: float) -> None:
    assert phoebe_recovery_s(arrivals, outage, capacity + more) <= phoebe_recovery_s(arrivals, outage, capacity) * (1 + 1e-6) + 1e-4


@settings(max_examples=50)
@given(arrivals_up_to(180.0), st.floats(-50, 500), st.tuples(*[st.floats(0, 200)] * 3), st.tuples(*[st.floats(0, 100)] * 3))
def test_longer_outages_longer_intervals_and_more_lag_never_mean_a_shorter_recovery(
    arrivals: Arrivals, at_s: float, least: tuple[float, float, float], more: tuple[float, float, float]
) -> None:
    short, long = least, tuple(one + other for one, other in zip(least, more, strict=True))
    found = [phoebe_recovery_s(arrivals, Outage(at_s=at_s, interval_s=each[0], downtime_s=each[1], lag_rows=each[2]), 100.0) for each in (short, long)]
    assert found[0] <= found[1] * (1 + 1e-6) + 1e-4


@settings(max_examples=50)
@given(arrivals_up_to(150.0), OUTAGES, st.floats(0, 60))
def test_a_higher_rate_never_means_a_shorter_recovery(arrivals: Arrivals, outage: Outage, more: float) -> None:
    higher = Arrivals.through(arrivals.time_s, [each + more for each in arrivals.rate_rows_per_s])
    assert phoebe_recovery_s(arrivals, outage, 100.0) <= phoebe_recovery_s(higher, outage, 100.0) * (1 + 1e-6) + 1e-4


@pytest.mark.parametrize("stop_with_tail", [True, False])
def test_an_overload_that_passes_lengthens_the_recovery_and_one_that_stays_makes_it_infinite(stop_with_tail: bool) -> None:
    outage = Outage(at_s=0.0, interval_s=10.0, downtime_s=60.0)
    passing = Arrivals.through((0.0, 100.0, 200.0, 300.0), (50.0, 150.0, 150.0, 50.0))
    staying = Arrivals.through((0.0, 100.0), (50.0, 150.0))
    exact_s = daedalus_recovery_s(passing, outage, 100.0)
    assert 300 < exact_s < math.inf
    assert phoebe_recovery_s(passing, outage, 100.0, tail=stop_with_tail) == pytest.approx(exact_s, abs=0.0001 if stop_with_tail else 1.0)
    assert phoebe_recovery_s(staying, outage, 100.0, tail=stop_with_tail) == math.inf
    assert daedalus_recovery_s(staying, outage, 100.0) == math.inf


def test_an_overload_after_the_recovery_does_not_make_it_infinite() -> None:
    arrivals = Arrivals.through((0.0, 600.0, 700.0), (20.0, 20.0, 500.0))
    outage = Outage(at_s=0.0, interval_s=10.0, downtime_s=60.0)
    assert [form(arrivals, outage, 100.0) for form in (phoebe_recovery_s, daedalus_recovery_s)] == pytest.approx([60 + 70 * 0.2 / 0.8] * 2)


def test_a_rate_just_below_the_capacity_is_answered_without_counting_to_it() -> None:
    for tail, expected_s in ((True, 120e9), (False, 119e9)):
        assert phoebe_recovery_s(Arrivals.constant(100.0 * (1 - 1e-9)), DOWN, 100.0, tail=tail) == pytest.approx(expected_s, rel=1e-3)


@settings(max_examples=50)
@given(arrivals_up_to(95.0), OUTAGES)
def test_the_downtime_is_found_again_in_the_recovery_it_caused_and_not_in_one_too_short_for_its_backlog(arrivals: Arrivals, outage: Outage) -> None:
    found_s = recovery_s(arrivals, outage.at_s, 100.0, outage.interval_s, outage.downtime_s, outage.lag_rows)
    again_s = implied_downtime_s(arrivals, outage.at_s, 100.0, outage.interval_s, found_s + 1e-9, outage.lag_rows)
    assert again_s is not None or outage.downtime_s < 1e-4
    assert (again_s or 0.0) == pytest.approx(outage.downtime_s, abs=1e-4)
    assert implied_downtime_s(Arrivals.constant(90.0), 0.0, 100.0, 60.0, 10.0) is None


@pytest.mark.skipif(not WORKLOADS.exists(), reason="the measured workloads are not here")
@pytest.mark.parametrize("name", TRACES)
def test_on_measured_traces_all_agree_with_a_queue_simulated_second_by_second(name: str) -> None:
    t_s, rate = np.loadtxt(WORKLOADS / name, delimiter=",", skiprows=1, unpack=True)
    arrivals = Arrivals.through(t_s, rate)
    compared = 0
    for at_s in range(1200, int(t_s[-1]), 4800):
        for headroom in (0.8, 1.15, 1.6, 2.5):
            capacity = headroom * arrivals.rate(at_s)
            outage = Outage(at_s=float(at_s), interval_s=10.0, downtime_s=60.0)
            simulated_s = queue_recovery_s(t_s, [*rate[:-1], arrivals.long_run_rate], outage, capacity)
            assert phoebe_recovery_s(arrivals, outage, capacity) == pytest.approx(simulated_s, abs=1.0)
            assert daedalus_recovery_s(arrivals, outage, capacity) == pytest.approx(simulated_s, abs=1.0)
            compared += simulated_s < math.inf
    assert compared > 8


def queue_recovery_s(t_s: Floats, rate: Sequence[float], outage: Outage, capacity: float) -> float:
    """A queue in steps of a second: it takes in what arrives, at last the last rate for ever, and gives out its capacity; done when it is empty."""
    start = round(outage.at_s - outage.interval_s - t_s[0])
    restart = round(outage.at_s + outage.downtime_s - t_s[0])
    queue = 0.0
    for second in range(start, 400_000):
        come = (rate[min(second, len(rate) - 1)] + rate[min(second + 1, len(rate) - 1)]) / 2
        queue += come
        if second >= restart:
            queue -= capacity
            if queue <= 0:
                return float(second + 1 + t_s[0] - outage.at_s)
        if second > len(rate) and come >= capacity:
            return math.inf
    raise AssertionError("the queue did not empty in time")
