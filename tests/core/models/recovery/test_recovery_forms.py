import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.models.recovery.recovery_forms import FORMS, PhysicalRecovery, WithinCapacity, fit_physical
from penstock.core.models.surrogate.linear import Plane
from penstock.core.models.surrogate.points import Points, point

JOBS = st.builds(PhysicalRecovery, downtime_s=st.floats(0, 300), capacity_rows_per_s=st.floats(10, 1e6), pause_s=st.floats(0, 4), replay=st.floats(0.1, 1))
JOB = PhysicalRecovery(downtime_s=60, capacity_rows_per_s=1000, pause_s=1.5)
INTERVALS = np.repeat([10.0, 30.0, 60.0, 90.0, 120.0], 12)
RATES = np.tile(np.linspace(150, 650, 12), 5)
GRID = Points(interval_s=INTERVALS, rate=RATES)


def recovery_s(job: PhysicalRecovery, interval_s: float, rate: float, executors: int | None = None) -> float:
    return float(job.at(point(interval_s, rate, executors))[0])


@given(JOBS, st.floats(5, 500), st.floats(0, 1), st.floats(0, 1))
def test_recovery_rises_with_the_rate(job: PhysicalRecovery, interval_s: float, one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert recovery_s(job, interval_s, low * job.capacity_rows_per_s) <= recovery_s(job, interval_s, high * job.capacity_rows_per_s)


@given(JOBS, st.floats(0, 0.99), st.floats(5, 500), st.floats(5, 500))
def test_without_a_pause_recovery_rises_with_the_interval(job: PhysicalRecovery, load: float, one: float, other: float) -> None:
    free, rate = replace(job, pause_s=0.0), load * job.capacity_rows_per_s
    short, long = sorted((one, other))
    assert recovery_s(free, short, rate) <= recovery_s(free, long, rate) * (1 + 1e-12)


@given(JOBS, st.floats(5, 500), st.floats(1, 10))
def test_recovery_is_infinite_at_and_beyond_the_capacity(job: PhysicalRecovery, interval_s: float, times: float) -> None:
    assert recovery_s(job, interval_s, times * job.capacity_rows_per_s * max(0.0, 1.0 - job.pause_s / interval_s)) == math.inf


def test_a_pause_makes_recovery_u_shaped_in_the_interval() -> None:
    short, middle, long = (recovery_s(JOB, interval, 700) for interval in (6, 20, 120))
    assert short > middle < long


def test_the_fit_finds_the_job_behind_noiseless_recoveries() -> None:
    found = fit_physical(GRID, JOB.at(GRID))
    assert [found.downtime_s, found.capacity_rows_per_s] == pytest.approx([60, 1000], rel=0.02) and found.pause_s == pytest.approx(1.5, abs=0.3)


@pytest.mark.parametrize(("pause_s", "off"), [(0.2, 0.1), (1.0, 0.15), (3.0, 0.1)])
def test_a_small_pause_is_found_from_exact_recoveries_of_25_rows(pause_s: float, off: float) -> None:
    job = PhysicalRecovery(downtime_s=40, capacity_rows_per_s=10_000, pause_s=pause_s)
    grid = Points(interval_s=np.repeat([10.0, 30.0, 60.0, 90.0, 120.0], 5), rate=np.tile([2000.0, 3000.0, 4000.0, 5000.0, 6000.0], 5))
    found = fit_physical(grid, job.at(grid))
    assert found.pause_s == pytest.approx(pause_s, abs=off)
    assert found.at(grid) == pytest.approx(job.at(grid), rel=0.02)


def test_a_recovery_of_three_times_the_time_does_not_bend_the_fit() -> None:
    seen = JOB.at(GRID) * np.random.default_rng(4).lognormal(0, 0.05, len(GRID))
    spoilt = seen.copy()
    spoilt[[7, 30]] *= 3
    assert fit_physical(GRID, spoilt).at(GRID) == pytest.approx(fit_physical(GRID, seen).at(GRID), rel=0.05)


def test_no_recovery_that_was_seen_is_infinite_for_the_fit() -> None:
    for seed in range(5):
        noisy = JOB.at(GRID) * np.random.default_rng(seed).lognormal(0, 0.6, len(GRID))
        assert np.all(np.isfinite(fit_physical(GRID, noisy).at(GRID)))


def test_half_replayed_intervals_are_recognised_where_that_is_free() -> None:
    assert fit_physical(GRID, replace(JOB, replay=0.5).at(GRID), free_replay=True).replay == pytest.approx(0.5, abs=0.1)


def test_capacity_grows_with_the_executors_as_it_was_seen_to() -> None:
    executor_counts = np.tile([2.0, 4.0, 8.0], 20)
    grid = Points(interval_s=INTERVALS, rate=RATES * executor_counts**0.8, executors=executor_counts)
    job = replace(JOB, power=0.8)
    found = fit_physical(grid, job.at(grid))
    assert found.power == pytest.approx(0.8, abs=0.05)
    assert recovery_s(found, 60, 3000, executors=6) == pytest.approx(recovery_s(job, 60, 3000, executors=6), rel=0.1)


def test_with_constant_executors_capacity_is_proportional_to_them() -> None:
    grid = Points(interval_s=INTERVALS, rate=RATES, executors=np.full(60, 4.0))
    found = fit_physical(grid, JOB.at(grid))
    assert 8 * found.capacity_rows_per_s == pytest.approx(2000, rel=0.05)
    assert recovery_s(found, 1e9, 7.99 * found.capacity_rows_per_s, 8) < math.inf == recovery_s(found, 1e9, 8.01 * found.capacity_rows_per_s, 8)


def test_rates_of_zero_leave_the_downtime() -> None:
    still = Points(interval_s=np.array([10.0, 20.0, 30.0, 40.0]), rate=np.zeros(4))
    assert recovery_s(fit_physical(still, np.full(4, 42.0)), 10, 0) == pytest.approx(42, rel=0.01)


FULL_GRID = Points(interval_s=np.repeat([10.0, 60.0, 120.0], 6), rate=np.tile(np.linspace(200, 800, 6), 3))
SEEN = PhysicalRecovery(downtime_s=60, capacity_rows_per_s=1000).at(FULL_GRID)


def test_beyond_the_capacity_every_form_says_never_and_at_what_was_seen_none_does() -> None:
    beyond = Points(interval_s=np.array([60.0]), rate=np.array([3000.0]))
    assert len({form.name for form in FORMS}) == len(FORMS)
    for form in FORMS:
        fitted = form.fit(FULL_GRID, SEEN)
        assert np.isfinite(fitted.at(FULL_GRID)).all() and np.isinf(fitted.at(beyond)).all(), form.name


def test_within_the_capacity_a_regression_says_what_it_says_by_itself() -> None:
    assert WithinCapacity(inner=Plane()).fit(FULL_GRID, SEEN).at(FULL_GRID).tolist() == Plane().fit(FULL_GRID, SEEN).at(FULL_GRID).tolist()
