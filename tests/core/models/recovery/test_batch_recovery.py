import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import filling

from penstock.core.domain.cadence import Cadence
from penstock.core.models.capacity.batch_law import BatchLaw
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.batch_recovery import BatchOutage, cold_batch_s, cold_work_s, recovery_by_batches_s, uncommitted_s, worst_uncommitted_s

LAW = BatchLaw(overhead_s=1.0, row_s=0.001, partitions=1)


def recovery(
    law: BatchLaw, arrivals: Arrivals, downtime_s: float = 30.0, interval_s: float = 10.0, uncommitted: float | None = None, lag_rows: float = 0.0
) -> float:
    outage = BatchOutage(at_s=0.0, downtime_s=downtime_s, cadence=filling(interval_s), executors=1, uncommitted_s=uncommitted, lag_rows=lag_rows)
    return recovery_by_batches_s(law, arrivals, outage)


@settings(max_examples=60)
@given(st.floats(0.05, 0.9), st.floats(1.0, 200.0), st.floats(0.0, 60.0))
def test_for_a_small_interval_it_tends_to_the_integral_form(u: float, downtime_s: float, uncommitted_s: float) -> None:
    interval_s = 1e-4
    law = BatchLaw(overhead_s=interval_s / 100, row_s=u / 1000.0, partitions=1)
    expected = downtime_s + (uncommitted_s + downtime_s) * u / (1 - u)
    assert recovery(law, Arrivals.constant(1000.0), downtime_s, interval_s, uncommitted_s) == pytest.approx(expected, rel=1e-3)


def test_the_case_of_the_paper_notes_takes_234_9_seconds() -> None:
    law = BatchLaw(overhead_s=1e-7, row_s=0.51 / 1000.0, partitions=1)
    assert recovery(law, Arrivals.constant(1000.0), 110.0, 1e-4, 10.0) == pytest.approx(234.9, abs=0.05)


def test_it_agrees_with_the_batches_measured_on_spark_after_a_timeout() -> None:
    """SPARK-FACTS: 1,800 rows/s, trigger 3 s; 32,400 rows waited, batches took 10.0, 5.9, 3.9 and 2.7 s."""
    law = BatchLaw(overhead_s=0.61, row_s=0.00029, partitions=1)
    found = recovery(law, Arrivals.constant(1800.0), downtime_s=0.0, interval_s=3.0, uncommitted=32_400 / 1800.0)
    assert found == pytest.approx(10.0 + 5.9 + 3.9 + 2.7, rel=0.05)


def test_the_worst_case_before_the_fault_is_a_cycle_and_a_batch_also_under_overload() -> None:
    worst, known, short = (recovery(LAW, Arrivals.constant(500.0), uncommitted=each) for each in (None, 10.0 + 6.0, 10.0))
    assert worst == known > short
    assert worst_uncommitted_s(LAW, rate_rows_per_s=2000.0, interval_s=10.0, executors=1) == 42


@settings(max_examples=40)
@given(st.floats(10, 880), st.floats(1, 100), st.floats(0, 100), st.floats(0, 1e5))
def test_a_longer_downtime_or_more_lag_recovers_at_most_a_trigger_sooner(rate: float, downtime_s: float, longer_s: float, lag_rows: float) -> None:
    arrivals = Arrivals.constant(rate)
    alone = recovery(LAW, arrivals, downtime_s)
    assert alone <= recovery(LAW, arrivals, downtime_s + longer_s) + 10.0, "but for the wait for a trigger"
    assert alone <= recovery(LAW, arrivals, downtime_s, lag_rows=lag_rows) + 10.0


def test_without_arrivals_a_job_is_back_when_it_runs_again_and_at_or_above_the_saturated_throughput_never() -> None:
    assert recovery(LAW, Arrivals.constant(0.0)) == 30
    assert [recovery(LAW, Arrivals.constant(rate)) == math.inf for rate in (900.0, 950.0, 999.0, 1000.0, 5000.0)] == [False, False, False, True, True]


def test_an_overload_delays_recovery_if_it_passes_makes_it_infinite_if_it_stays_and_does_not_matter_after_it() -> None:
    calm, passing = Arrivals.constant(400.0), Arrivals.through((0.0, 60.0, 300.0, 360.0), (400.0, 2000.0, 2000.0, 400.0))
    assert recovery(LAW, calm) < recovery(LAW, passing) < 3600
    assert recovery(LAW, Arrivals.through((0.0, 10.0, 20.0), (800.0, 800.0, 5000.0))) == math.inf
    assert recovery(LAW, Arrivals.through((0.0, 3600.0, 3700.0), (400.0, 400.0, 5000.0))) == pytest.approx(recovery(LAW, calm))


@settings(max_examples=40)
@given(st.lists(st.floats(0, 1500), min_size=2, max_size=5), st.sampled_from([None, 9000.0]), st.integers(1, 6))
def test_points_that_say_again_what_is_known_change_nothing(rates: list[float], limit_rows: float | None, more: int) -> None:
    times_s, law = [60.0 * number for number in range(len(rates))], replace(LAW, limit_rows=limit_rows)
    longer = Arrivals.through([*times_s, *(times_s[-1] + 600.0 * number for number in range(1, more + 1))], [*rates, *[rates[-1]] * more])
    assert recovery(law, longer) == pytest.approx(recovery(law, Arrivals.through(times_s, rates)))


@settings(max_examples=40)
@given(st.floats(50, 700), st.floats(1.05, 3.0))
def test_a_limit_of_rows_never_recovers_sooner_and_drains_at_what_full_batches_carry(rate: float, spare: float) -> None:
    limit = rate * 10.0 * spare
    limited, arrivals = replace(LAW, limit_rows=limit), Arrivals.constant(rate)
    found, free = recovery(limited, arrivals, 600.0), recovery(LAW, arrivals, 600.0)
    assert found >= free * (1 - 1e-9)
    drained = 600.0 * rate / (limited.saturated_rows_per_s(1, 10.0) - rate)
    assert 0.4 * drained < found - 600.0 < 1.5 * drained + 60.0


def test_a_limit_below_the_arrivals_of_an_interval_never_recovers_and_a_trigger_shorter_than_the_overhead_does() -> None:
    assert recovery(replace(LAW, limit_rows=4999.0), Arrivals.constant(500.0)) == math.inf
    assert 30.0 < recovery(LAW, Arrivals.constant(10.0), interval_s=0.9) < 36.0, "a batch of 46 s of rows, and one of those that came meanwhile"


def test_without_a_promise_a_job_has_recovered_when_its_latency_is_that_of_before() -> None:
    outage = BatchOutage(at_s=0.0, downtime_s=30.0, cadence=Cadence(interval_s=10.0, longest_s=40.0), executors=1)
    promised, usual = (
        recovery_by_batches_s(LAW, Arrivals.constant(700.0), replace(outage, cadence=replace(outage.cadence, promised=each))) for each in (True, False)
    )
    assert promised < usual < math.inf


ON_SPARK = BatchLaw(overhead_s=0.57, row_s=0.00119, partitions=12)
"""The job whose failures SPARK-FACTS reports: four executors, 1,800 rows/s, trigger 3 s."""


def lost(executors: int, *, at_s: float = 0.0, downtime_s: float = 1.0, interval_s: float = 10.0, latency_s: float = 1e3) -> BatchOutage:
    """The loss of an executor after the start of a batch at 0 s; the first batch that takes all rows is the last if the latency allowed is high."""
    cadence = Cadence(interval_s=interval_s, longest_s=latency_s)
    return BatchOutage(at_s=0.0, downtime_s=downtime_s, cadence=cadence, executors=executors, uncommitted_s=interval_s, lost_s=at_s)


def test_a_batch_that_is_hit_has_the_rows_it_began_with_and_repeats_the_tasks_of_the_lost_executor() -> None:
    """5 s of work in five rounds on six executors: the five that are left run five tasks of 1 s again, at once."""
    law = replace(LAW, row_s=0.006, partitions=30)
    stopped = replace(lost(6), lost_s=None)
    assert [recovery_by_batches_s(law, Arrivals.constant(500.0), each) for each in (stopped, lost(6))] == [pytest.approx(7.5), pytest.approx(8.0)]


@pytest.mark.parametrize(("executors", "partitions", "repeated_s"), [(6, 6, 5.0), (6, 3, 5.0), (6, 12, 2.5), (2, 12, 5.0), (3, 12, 2.5), (4, 18, 2.0)])
def test_whole_tasks_are_repeated_in_waves(executors: int, partitions: int, repeated_s: float) -> None:
    """5 s of work: in one round of tasks a task takes all of it; of five rounds on four executors, five tasks of 1 s run on three."""
    rounds = -(-partitions // executors)
    law = replace(LAW, row_s=0.001 * partitions / rounds, partitions=partitions)
    assert recovery_by_batches_s(law, Arrivals.constant(500.0), lost(executors)) == pytest.approx(1.0 + 5.0 + 1.0 + repeated_s)


def test_it_agrees_with_the_batches_measured_on_spark_after_a_kill() -> None:
    """SPARK-FACTS: 4.9 s in place of 2.4 s, then 4.0 s, 3.0 s and one of the usual length."""
    outage = replace(lost(4, at_s=1.0, downtime_s=2.0, interval_s=3.0), cadence=Cadence(interval_s=3.0, longest_s=3.0, promised=False))
    assert recovery_by_batches_s(ON_SPARK, Arrivals.constant(1800.0), outage) == pytest.approx(4.9 + 4.0 + 3.0 + 2.4, rel=0.05)


def test_it_agrees_with_the_time_measured_on_spark_after_an_executor_froze() -> None:
    """SPARK-FACTS: noticed after 20 s; the batch took 23.9 s, and the job was normal after 65 s."""
    hit = lost(4, at_s=21.0, downtime_s=2.0, interval_s=3.0)
    outages = (hit, replace(hit, cadence=Cadence(interval_s=3.0, longest_s=3.0, promised=False)))
    found = [recovery_by_batches_s(ON_SPARK, Arrivals.constant(1800.0), outage) for outage in outages]
    assert found == [pytest.approx(23.9, rel=0.05), pytest.approx(66.0, rel=0.15)]


def test_a_batch_that_hangs_until_the_loss_is_noticed_ends_no_sooner_and_repeats_the_tasks_then() -> None:
    law = replace(LAW, row_s=0.006, partitions=30)
    ends_s = [recovery_by_batches_s(law, Arrivals.constant(500.0), lost(6, at_s=at_s)) for at_s in (0.0, 5.0, 6.0, 7.0, 26.0)]
    assert ends_s == [pytest.approx(each) for each in (8.0, 8.0, 8.0, 9.0, 28.0)]


@pytest.mark.parametrize("at_s", [0.0, 4.0, 30.0])
def test_the_replacement_starts_when_the_loss_is_noticed_and_is_cold_in_the_next_batch(at_s: float) -> None:
    """Each of two batches has 5,000 rows, and then there are no more. How long the first hung is no age. A round of tasks ends with the slowest."""
    law, cadence = replace(LAW, row_s=0.002, partitions=2), Cadence(interval_s=0.0, longest_s=1.0)
    arrivals = Arrivals.through((-100.0, 10.0, 10.0 + 1e-6), (500.0, 500.0, 0.0))
    hit_s = max(6.0, at_s) + 1.0 + 5.0
    found = recovery_by_batches_s(law, arrivals, replace(lost(2, at_s=at_s), cadence=cadence))
    assert found == pytest.approx(hit_s + 6.0 + cold_work_s(5.0, hit_s - at_s - 2.5)) and found > hit_s + 6.5


def test_an_executor_lost_between_two_batches_delays_none_but_its_replacement_is_cold() -> None:
    law = replace(LAW, row_s=0.002, partitions=2)
    for ago_s, age_s in ((0.1, 0.0), (2.5, 0.0), (6.5, 4.0)):
        assert recovery_by_batches_s(law, Arrivals.constant(500.0), lost(2, at_s=-ago_s)) == pytest.approx(6.0 + cold_work_s(5.0, age_s))


def test_the_work_of_the_only_executor_waits_for_its_replacement_and_begins_again_cold() -> None:
    """It comes after 2.5 s and has no tasks to run for another 1 s."""
    arrivals = Arrivals.constant(500.0)
    assert recovery_by_batches_s(LAW, arrivals, lost(1, at_s=4.0)) == pytest.approx(4.0 + 2.5 + 1.0 + 6.0 + cold_work_s(6.0, 1.0))
    assert recovery_by_batches_s(LAW, arrivals, lost(1, at_s=-1.0)) == pytest.approx(1.5 + 6.0 + cold_work_s(6.0, 0.0)), "the next batch waits too"
    assert recovery_by_batches_s(LAW, arrivals, lost(1, at_s=-6.5)) == pytest.approx(6.0 + cold_work_s(6.0, 4.0))


@given(task_s=st.floats(0.01, 50.0), rounds=st.integers(1, 50), executors=st.integers(1, 50), age_s=st.floats(0.0, 60.0))
def test_a_cold_executor_costs_a_batch_between_the_mean_and_its_own_loss(task_s: float, rounds: int, executors: int, age_s: float) -> None:
    own_s, found_s = cold_work_s(rounds * task_s, age_s), cold_batch_s(rounds * task_s, task_s, rounds, [age_s], executors)
    assert own_s / executors - 1e-9 <= found_s <= own_s + 1e-9
    assert rounds > 1 or found_s == pytest.approx(own_s)


def test_an_executor_lost_at_a_known_moment_of_a_steady_job_leaves_the_rows_of_one_cycle() -> None:
    outage = lost(6, latency_s=10.0)
    law = replace(LAW, row_s=0.006, partitions=30)
    assert recovery_by_batches_s(law, Arrivals.constant(500.0), replace(outage, uncommitted_s=None)) == pytest.approx(8.0)


def test_a_backlog_of_more_batches_than_are_followed_is_drained_by_the_integral_form() -> None:
    assert recovery(replace(LAW, limit_rows=5100.0), Arrivals.constant(500.0), lag_rows=1_000_000.0) == pytest.approx(1_000_000.0 / 10.0, rel=0.05)


def test_a_negative_downtime_is_refused() -> None:
    with pytest.raises(ValueError, match="downtime"):
        recovery(LAW, Arrivals.constant(1.0), downtime_s=-1.0)


def test_the_work_that_a_fault_just_before_a_commit_repeats_depends_on_the_batch() -> None:
    assert [uncommitted_s(10.0, batch_s=each) for each in (2.0, 12.0)] == [12.0, 24.0]
