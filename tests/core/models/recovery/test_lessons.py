import random
from dataclasses import replace

import pytest
from disturbed_plant import watched

from penstock.core.domain.disturbance import DisturbanceKind
from penstock.core.models.anomaly.keeping_up import FlowSeen
from penstock.core.models.anomaly.recovery_watch import RecoveryMeasured
from penstock.core.models.estimate import NotReady
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.downtime import Downtimes, DowntimeSeen
from penstock.core.models.recovery.lessons import Surroundings, downtime_lesson, recovery_lesson
from penstock.core.models.recovery.recovery_regression import RecoveryRegression

CAPACITY, DOWNTIME_S, STRUCK_S = 1000.0, 40.0, 300.0
LOST = RecoveryMeasured(kind="executor_loss", started_s=STRUCK_S, recovered_s=400.0)
AROUND = Surroundings(arrivals=Arrivals.constant(500.0), interval_s=10.0, capacity_rows_per_s=CAPACITY)


def readings(rate: float, interval_s: float, seed: int) -> list[FlowSeen]:
    """A job that loses an executor, is down, repeats an interval and catches up; read every second."""
    chance, seen, backlog = random.Random(seed), [], 0.0
    for second in range(int(STRUCK_S + 3 * (interval_s + DOWNTIME_S) + 60)):
        arrived = rate * (1 + chance.gauss(0, 0.02))
        if second == STRUCK_S:
            backlog += rate * interval_s
        working = not STRUCK_S <= second < STRUCK_S + DOWNTIME_S
        read = min(backlog + arrived, CAPACITY) if working else 0.0
        backlog += arrived - read
        seen.append(FlowSeen(at_s=float(second), workload_rows_per_s=arrived, throughput_rows_per_s=read, lag_rows=backlog))
    return seen


def recovered(seen: list[FlowSeen], kind: DisturbanceKind) -> tuple[RecoveryMeasured, Arrivals]:
    """The recovery as it is detected, and the arrivals as they were read."""
    _, (measured,) = watched(seen, {STRUCK_S: kind})
    return measured, Arrivals.through([each.at_s for each in seen], [each.workload_rows_per_s or 0.0 for each in seen])


def test_readings_of_failures_teach_recovery_and_downtime_through_their_detection() -> None:
    regression, downtimes = RecoveryRegression(), Downtimes()
    assert isinstance(regression.predict(60.0, 500.0), NotReady) and isinstance(downtimes.predict("executor_loss"), NotReady)
    for seed, (interval_s, rate) in enumerate((interval, rate) for interval in (10.0, 60.0, 120.0) for rate in (300.0, 500.0, 700.0)):
        measured, arrivals = recovered(readings(rate, interval_s, seed), "executor_loss")
        around = Surroundings(arrivals=arrivals, interval_s=interval_s, capacity_rows_per_s=CAPACITY)
        recovery, downtime = recovery_lesson(measured, around), downtime_lesson(measured, around)
        assert recovery is not None and downtime is not None
        regression, downtimes = regression.learn([recovery]), downtimes.learn([downtime])
    recovery_s, downtime_s = regression.predict(90.0, 600.0), downtimes.predict("executor_loss")
    assert recovery_s.value == pytest.approx(DOWNTIME_S + 600.0 * (90.0 + DOWNTIME_S) / (CAPACITY - 600.0), rel=0.1)
    assert downtime_s.value == pytest.approx(DOWNTIME_S, rel=0.1)
    assert isinstance(downtimes.predict("driver_restart"), NotReady)


@pytest.mark.parametrize("kind", ["rescale_up", "rescale_down", "task_retry"])
def test_what_does_not_stop_the_job_teaches_its_downtime_but_no_recovery_from_a_failure(kind: DisturbanceKind) -> None:
    measured, around = replace(LOST, kind=kind, recovered_s=STRUCK_S + 60.0), replace(AROUND, repeated_s=0.0)
    assert recovery_lesson(measured, around) is None
    assert downtime_lesson(measured, around) == DowntimeSeen(kind=kind, downtime_s=30.0)


def test_nothing_is_learnt_from_an_unannounced_disturbance_and_no_recovery_from_one_that_did_not_show() -> None:
    measured = replace(LOST, kind="unannounced")
    assert recovery_lesson(measured, AROUND) is None and downtime_lesson(measured, AROUND) is None
    assert recovery_lesson(replace(LOST, recovered_s=STRUCK_S), AROUND) is None


def test_two_disturbances_in_one_recovery_teach_only_a_downtime_that_was_observed() -> None:
    both, observed = replace(LOST, kind="query_restart", alone=False), replace(AROUND, capacity_rows_per_s=None, downtime_s=12.0)
    assert recovery_lesson(both, AROUND) is None and downtime_lesson(both, AROUND) is None
    assert downtime_lesson(both, observed) == DowntimeSeen(kind="query_restart", downtime_s=12.0)


def test_an_observed_downtime_counts_before_one_that_is_inferred() -> None:
    assert downtime_lesson(LOST, replace(AROUND, downtime_s=12.0)).downtime_s == 12.0
    assert downtime_lesson(LOST, AROUND).downtime_s == pytest.approx(45.0)


@pytest.mark.parametrize("capacity", [None, 400.0])
def test_without_a_capacity_or_with_one_that_explains_nothing_no_downtime_is_inferred(capacity: float | None) -> None:
    assert downtime_lesson(LOST, replace(AROUND, capacity_rows_per_s=capacity)) is None


def test_the_rate_of_a_recovery_is_the_mean_from_the_last_commit_until_its_end() -> None:
    rising = Arrivals.through((290.0, 400.0), (100.0, 650.0))
    lesson = recovery_lesson(LOST, Surroundings(arrivals=rising, interval_s=10.0, executors=3))
    assert lesson.rate_rows_per_s == pytest.approx(375.0) and lesson.executors == 3


@pytest.mark.parametrize(("interval_s", "capacity"), [(0.0, 1.0), (1.0, 0.0), (float("nan"), 1.0)])
def test_a_job_without_an_interval_or_a_capacity_is_refused(interval_s: float, capacity: float) -> None:
    with pytest.raises(ValueError, match="above 0"):
        Surroundings(arrivals=AROUND.arrivals, interval_s=interval_s, capacity_rows_per_s=capacity)
