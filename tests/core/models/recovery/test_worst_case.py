from __future__ import annotations

import math

import pytest

from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.formula import recovery_s
from penstock.core.models.recovery.worst_case import WorstCase, uncommitted_s, worst_case

PEAK = Arrivals.through((0.0, 300.0, 330.0, 360.0, 2000.0), (20.0, 20.0, 90.0, 20.0, 20.0))


def failure(arrivals: Arrivals, at_s: float) -> float:
    return recovery_s(arrivals, at_s, 100.0, 10.0, 40.0)


def test_the_worst_failure_until_the_next_decision_is_the_longest_of_all_moments() -> None:
    found = worst_case(lambda quantile: PEAK, failure, now_s=0.0, until_s=600.0)
    by_moment = {at_s: failure(PEAK, at_s) for at_s in range(0, 600, 10)}
    assert found.recovery_s == max(by_moment.values()) > failure(PEAK, 0.0)
    assert by_moment[int(found.at_s)] == found.recovery_s and 250 < found.at_s < 360


def test_the_next_decision_itself_is_no_longer_counted() -> None:
    rising = Arrivals.through((0.0, 100.0), (0.0, 90.0))
    assert worst_case(lambda quantile: rising, failure, now_s=0.0, until_s=50.0).at_s == 40.0
    assert worst_case(lambda quantile: rising, failure, now_s=0.0, until_s=51.0).at_s == 50.0
    assert worst_case(lambda quantile: rising, failure, now_s=0.0, until_s=20.0).at_s == 10.0
    assert worst_case(lambda quantile: rising, failure, now_s=30.0, until_s=30.0).at_s == 30.0


def test_a_higher_quantile_of_the_forecast_is_never_better() -> None:
    def forecast(quantile: float) -> Arrivals:
        return Arrivals.through(PEAK.time_s, [each * (0.5 + quantile) for each in PEAK.rate_rows_per_s])

    found = [worst_case(forecast, failure, now_s=0.0, until_s=600.0, quantile=each).recovery_s for each in (0.1, 0.5, 0.9)]
    assert found == sorted(found) and found[0] < found[2]
    assert worst_case(forecast, failure, now_s=0.0, until_s=600.0).recovery_s == found[2]


def test_of_equal_moments_the_earliest_is_named_and_never_is_the_worst_of_all() -> None:
    assert worst_case(lambda quantile: Arrivals.constant(50.0), failure, now_s=5.0, until_s=100.0).at_s == 5.0
    assert worst_case(lambda quantile: Arrivals.constant(120.0), failure, now_s=5.0, until_s=100.0) == WorstCase(at_s=5.0, recovery_s=math.inf)


@pytest.mark.parametrize(("until_s", "step_s"), [(-1.0, 10.0), (10.0, 0.0)])
def test_moments_that_lead_nowhere_are_refused(until_s: float, step_s: float) -> None:
    with pytest.raises(ValueError, match="moments"):
        worst_case(lambda quantile: PEAK, failure, now_s=0.0, until_s=until_s, step_s=step_s)


def test_what_a_fault_just_before_a_commit_repeats_depends_on_the_batch() -> None:
    assert uncommitted_s(10.0) == 10.0
    assert uncommitted_s(10.0, batch_s=2.0) == 12.0
    assert uncommitted_s(10.0, batch_s=12.0) == 24.0
