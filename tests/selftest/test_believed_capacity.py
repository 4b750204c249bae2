import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from penstock.core.domain.fault import FaultKind
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.recovery_cost import recovery_from_failure_s
from penstock.selftest.believed_capacity import Believed, Recovering, believed_of, capacities, measure_believed, recoveries, watched
from penstock.selftest.worlds.random_jobs import random_job


def test_the_capacity_of_random_jobs_and_their_recoveries_are_believed_as_they_are() -> None:
    """A few of those that `penstock selftest capacity` measures."""
    progress: list[float] = []
    found = measure_believed(10, 4, 0, None, lambda done, total: progress.append(done / total))
    errors = {each.what: each for each in found.measured}
    assert all(errors[f"capacity of {which} executors: median error"].found < 0.15 for which in ("present", "unseen"))
    assert errors["recovery of micro-batches: median error"].found < 0.5 and progress[-1] == 1.0


def test_a_seed_is_a_job_and_its_load_stays_below_its_capacity() -> None:
    jobs = [random_job(seed) for seed in range(50)]
    assert jobs[7].settings == random_job(7).settings != jobs[8].settings
    assert all(max(job.load.rate_rows_per_s) < job.settings.law.capacity_rows_per_s(job.executors, job.cadence) for job in jobs)
    assert {bool(job.settings.contention) for job in jobs} == {bool(job.settings.drift_per_hour) for job in jobs} == {True, False}


def test_what_is_not_known_is_counted_and_has_no_error() -> None:
    known = Believed(present=True, truth=100.0, value=110.0, low=90.0, high=120.0)
    share, median, most, covered = capacities([known, known, Believed(present=True, truth=100.0)], "present", 0.15, 0.35)
    assert median.found == pytest.approx(0.1) == most.found and covered.found == 1.0
    assert (share.found, share.beside, share.met) == (pytest.approx(2 / 3), "2 of 3", False)


def test_recoveries_that_are_over_with_the_next_batch_are_named() -> None:
    kinds: tuple[FaultKind, ...] = ("kill", "restart")
    short, long = (Recovering(kind=kind, predicted_s=10.0, measured_s=took_s, cycle_s=10.0) for kind, took_s in zip(kinds, (5.0, 100.0), strict=True))
    share, found, *of_kinds = recoveries([short, long, Recovering(kind="kill", predicted_s=None, measured_s=3.0, cycle_s=1.0)])
    assert (share.found, share.beside, share.met) == (pytest.approx(2 / 3), "2 of 3", False)
    assert found.found == pytest.approx(0.95) and found.beside == "1 are over within 2 of the longest cycles: 1.00"
    assert [each.what for each in of_kinds] == ["recovery, kill: median error", "recovery, restart: median error"]


@pytest.mark.parametrize("seed", range(6))
def test_no_number_of_executors_is_said_to_carry_less_than_a_smaller_one(seed: int) -> None:
    by_truth = sorted(believed_of(random_job(seed)), key=lambda each: each.truth)
    values = [each.value for each in by_truth if each.value is not None]
    assert values == sorted(values)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 100_000))
def test_no_capacity_is_below_what_is_processed_at_this_moment_while_the_lag_falls(seed: int) -> None:
    """Over random laws, triggers, noise and contention; the job falls behind first, and then catches up. Nor does a failure then last for ever."""
    job = random_job(seed)
    times_s, rates = np.array(job.load.time_s), np.array(job.load.rate_rows_per_s)
    behind = replace(job, load=Arrivals.through(times_s, np.where(times_s < 150.0, 2.5, 0.7) * rates))
    before, checked = None, 0
    for reading, assessment in watched(behind):
        seen = assessment()
        falls = before is not None and reading.lag_rows is not None and reading.lag_rows < before
        before, now = reading.lag_rows, reading.throughput_rows_per_s or 0.0
        known, saturated = seen.capacity(job.executors), seen.saturated(job.executors)
        if not falls or known is None or saturated is None:
            continue
        checked += 1
        assert saturated >= now * (1 - 1e-9)
        assert seen.batch_laws is None or seen.batch_laws.best.saturated_rows_per_s(job.executors, seen.cadence.interval_s) >= now * (1 - 1e-9)
        arriving = replace(seen, arrivals=Arrivals.constant(0.95 * now))
        assert seen.batch_laws is None or math.isfinite(recovery_from_failure_s(arriving, job.executors, known) or 0.0)
        (query,) = reading.queries
        if query.batch is not None and query.batch.total_s <= seen.cadence.longest_s:
            assert known >= now * (1 - 1e-9)
    assume(checked > 3)
