from __future__ import annotations

import math

import pytest

from penstock.core.models.forecast.forecast import Forecast
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.forecast_arrivals import foreseen
from penstock.core.models.recovery.formula import recovery_s
from penstock.core.models.recovery.worst_case import WorstCase, uncommitted_s, worst_case


def certain(*rates: float, step_s: float = 10.0, spread: float = 0.0) -> Forecast:
    """A forecast of these rates, by default without any doubt."""
    paths = tuple(tuple(rate * (1 + sign * spread) for rate in rates) for sign in (-1, 0, 1))
    return Forecast(start_s=0.0, step_s=step_s, mean=rates, levels=(0.1, 0.5, 0.9), paths=paths)


PEAK = certain(*[20.0] * 30, *[50.0, 85.0, 90.0, 85.0, 50.0], *[20.0] * 100)


def failure(arrivals: Arrivals, at_s: float) -> float:
    return recovery_s(arrivals, at_s, 100.0, 10.0, 40.0)


def test_the_worst_failure_until_the_next_decision_is_the_longest_of_all_moments() -> None:
    found = worst_case(PEAK, failure, now_s=0.0, until_s=600.0)
    by_moment = {at_s: failure(foreseen(PEAK), at_s) for at_s in range(0, 600, 10)}
    assert found.recovery_s == max(by_moment.values()) > by_moment[0]
    assert by_moment[int(found.at_s)] == found.recovery_s and 250 < found.at_s < 360


def test_the_next_decision_itself_is_no_longer_counted() -> None:
    rising = certain(*(9.0 * number for number in range(11)))
    assert worst_case(rising, failure, now_s=0.0, until_s=50.0).at_s == 40.0
    assert worst_case(rising, failure, now_s=0.0, until_s=51.0).at_s == 50.0
    assert worst_case(rising, failure, now_s=0.0, until_s=20.0).at_s == 10.0
    assert worst_case(rising, failure, now_s=30.0, until_s=30.0).at_s == 30.0


def test_a_higher_quantile_of_the_forecast_is_never_better() -> None:
    unsure = certain(*PEAK.mean, spread=0.3)
    found = [worst_case(unsure, failure, now_s=0.0, until_s=600.0, quantile=each).recovery_s for each in (0.1, 0.5, 0.9)]
    assert found == sorted(found) and found[0] < found[2]
    assert worst_case(unsure, failure, now_s=0.0, until_s=600.0).recovery_s == found[2]


def test_what_was_measured_before_now_is_what_has_to_be_repeated() -> None:
    calm, busy = ([(-20.0, rate), (0.0, rate)] for rate in (20.0, 80.0))
    found = [worst_case(certain(20.0, 20.0), failure, now_s=0.0, until_s=0.0, history=each).recovery_s for each in (calm, busy)]
    assert found[0] < found[1]


def test_of_equal_moments_the_earliest_is_named_and_never_is_the_worst_of_all() -> None:
    assert worst_case(certain(50.0), failure, now_s=5.0, until_s=100.0).at_s == 5.0
    assert worst_case(certain(120.0), failure, now_s=5.0, until_s=100.0) == WorstCase(at_s=5.0, recovery_s=math.inf)


@pytest.mark.parametrize(("until_s", "step_s"), [(-1.0, 10.0), (10.0, 0.0)])
def test_moments_that_lead_nowhere_are_refused(until_s: float, step_s: float) -> None:
    with pytest.raises(ValueError, match="moments"):
        worst_case(PEAK, failure, now_s=0.0, until_s=until_s, step_s=step_s)


def test_what_a_fault_just_before_a_commit_repeats_depends_on_the_batch() -> None:
    assert uncommitted_s(10.0) == 10.0
    assert uncommitted_s(10.0, batch_s=2.0) == 12.0
    assert uncommitted_s(10.0, batch_s=12.0) == 24.0
