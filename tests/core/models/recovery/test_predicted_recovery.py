import math
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import filling

from penstock.core.models.capacity.batch_cost import BatchCost, BatchMeasured
from penstock.core.models.capacity.batch_law import BatchLaw, LikelyLaws
from penstock.core.models.estimate import Estimate, NotReady, combined
from penstock.core.models.forecast.forecast import Forecast
from penstock.core.models.recovery.arrivals import Arrivals, forecast_arrivals
from penstock.core.models.recovery.batch_recovery import BatchOutage, recovery_by_batches_s
from penstock.core.models.recovery.outage import Outage, phoebe_recovery_s, recovery_s
from penstock.core.models.recovery.predicted_recovery import RecoveryModel, WorstCase, by_formula, by_regression, over_forecast, worst_case
from penstock.core.models.recovery.recovery_forms import PhysicalRecovery
from penstock.core.models.recovery.recovery_regression import RecoveryRegression, RecoverySeen
from penstock.core.models.surrogate.points import point

CAPACITY, INTERVAL_S, DOWNTIME_S = 1000.0, 10.0, 60.0
LEVELS = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
HISTORY = [(-300.0, 500.0), (0.0, 500.0)]


def load(*rates: float, spread: float = 0.0, step_s: float = 60.0) -> Forecast:
    """A forecast from 0 s on; at quantile q every step is off by (q - 1/2) of `spread`, as a share."""
    paths = tuple(tuple(rate * (1 + (level - 0.5) * spread) for rate in rates) for level in LEVELS)
    return Forecast(start_s=0.0, step_s=step_s, mean=rates, levels=LEVELS, paths=paths)


def batch_laws() -> LikelyLaws:
    law, chance = BatchLaw(overhead_s=1.0, row_s=0.0009, partitions=1), random.Random(1)
    rows = [chance.uniform(500, 9000) for _ in range(40)]
    seen = [BatchMeasured(rows=each, duration_s=law.duration_s(each, 1) * chance.lognormvariate(0, 0.05), executors=1) for each in rows]
    return BatchCost(partitions=1).learn(seen).laws()


def regression() -> RecoveryRegression:
    physical = PhysicalRecovery(downtime_s=DOWNTIME_S, capacity_rows_per_s=CAPACITY, pause_s=0.0)
    points = [(interval, rate) for interval in (10.0, 60.0, 120.0) for rate in (200.0, 400.0, 600.0, 800.0)]
    return RecoveryRegression().learn([RecoverySeen(interval_s=i, rate_rows_per_s=r, recovery_s=float(physical.at(point(i, r, None))[0])) for i, r in points])


def by_batches(arrivals: Arrivals, at_s: float) -> Estimate:
    outage = BatchOutage(at_s=at_s, downtime_s=DOWNTIME_S, cadence=filling(INTERVAL_S), executors=1, uncommitted_s=INTERVAL_S)
    return LAWS.estimate(lambda law: recovery_by_batches_s(law, arrivals, outage))


LAWS, M_R = batch_laws(), regression()
MODELS: dict[str, RecoveryModel] = {
    "phoebe": by_formula(Estimate.exactly(CAPACITY), Estimate.exactly(DOWNTIME_S), INTERVAL_S),
    "batches": by_batches,
    "regression": by_regression(lambda rate: M_R.predict(INTERVAL_S, rate), INTERVAL_S),
}


@pytest.mark.parametrize("name", MODELS)
def test_each_model_answers_over_a_forecast_and_a_wider_forecast_widens_its_bounds(name: str) -> None:
    sure, unsure = (over_forecast(MODELS[name], load(*[500.0] * 15, spread=each), history=HISTORY) for each in (0.0, 0.8))
    assert sure.value == unsure.value == pytest.approx(DOWNTIME_S + (INTERVAL_S + DOWNTIME_S), rel=0.15)
    assert unsure.low < sure.low <= sure.value <= sure.high < unsure.high
    assert not unsure.flagged and unsure.continued_share == 0.0


@pytest.mark.parametrize("name", MODELS)
def test_each_model_sees_what_is_coming_and_waits_for_the_end_of_an_overload(name: str) -> None:
    falling, rising = (over_forecast(MODELS[name], load(*np.linspace(500.0, last, 15)), history=HISTORY).value for last in (100.0, 700.0))
    steady = over_forecast(MODELS[name], load(*[500.0] * 15), history=HISTORY).value
    assert falling < steady < rising
    assert 180.0 < over_forecast(MODELS[name], load(500.0, 1300.0, 1300.0, *[300.0] * 27), history=HISTORY).value < math.inf


@pytest.mark.parametrize("name", MODELS)
def test_a_recovery_beyond_the_forecast_is_flagged_with_its_share_and_never_is_all_of_it(name: str) -> None:
    long = over_forecast(MODELS[name], load(*[850.0] * 3), history=HISTORY)
    assert long.flagged and long.continued_share == pytest.approx(1 - 180.0 / long.value)
    never = over_forecast(MODELS[name], load(*[1500.0] * 3), history=HISTORY)
    assert never.value == never.high == math.inf and never.flagged and never.continued_share == 1.0


def test_a_recovery_of_more_than_a_quarter_of_an_hour_is_flagged_even_within_a_long_forecast() -> None:
    assert over_forecast(MODELS["phoebe"], load(*[940.0] * 120), history=HISTORY).flagged


def test_a_model_that_is_not_ready_says_so() -> None:
    answer = over_forecast(by_regression(lambda rate: RecoveryRegression().predict(INTERVAL_S, rate), INTERVAL_S), load(500.0))
    assert isinstance(answer, NotReady) and "recoveries seen" in answer.why


def test_the_failure_may_strike_later_than_the_forecast_starts() -> None:
    rising = load(*np.linspace(200.0, 800.0, 15))
    early, late = (over_forecast(MODELS["phoebe"], rising, at_s=at_s, history=HISTORY) for at_s in (0.0, 600.0))
    assert early.value < late.value
    assert late.value == phoebe_recovery_s(forecast_arrivals(rising, HISTORY), Outage(at_s=600.0, interval_s=INTERVAL_S, downtime_s=DOWNTIME_S), CAPACITY)


def test_bounds_hold_the_recovery_under_loads_that_the_forecast_allows() -> None:
    forecast, chance, held = load(*[600.0] * 15, spread=0.6), random.Random(5), 0
    answer = over_forecast(MODELS["phoebe"], forecast, history=HISTORY)
    for _ in range(200):
        actual = forecast_arrivals(forecast, HISTORY, chance.uniform(0.05, 0.95))
        held += answer.low <= phoebe_recovery_s(actual, Outage(at_s=0.0, interval_s=INTERVAL_S, downtime_s=DOWNTIME_S), CAPACITY) <= answer.high
    assert held / 200 == pytest.approx(0.8 / 0.9, abs=0.08)


def test_a_doubtful_capacity_and_a_doubtful_downtime_widen_the_bounds_together() -> None:
    sure, unsure = Estimate.exactly(CAPACITY), Estimate(value=CAPACITY, low=0.9 * CAPACITY, high=1.1 * CAPACITY)
    waits = [Estimate.exactly(DOWNTIME_S), Estimate(value=DOWNTIME_S, low=40.0, high=90.0)]
    answers = [over_forecast(by_formula(capacity, wait, INTERVAL_S), load(*[500.0] * 15)) for capacity in (sure, unsure) for wait in waits]
    assert [each.value for each in answers] == pytest.approx([answers[0].value] * 4)
    widths = [each.high - each.low for each in answers]
    assert widths[0] == pytest.approx(0.0) and max(widths[1:3]) < widths[3] < sum(widths[1:3])


def test_bounds_of_never_are_open_above_and_begin_where_the_best_case_does() -> None:
    assert combined(math.inf, (100.0, math.inf), (300.0, math.inf)) == Estimate(value=math.inf, low=100.0, high=math.inf)
    assert combined(10.0, (0.0, math.inf), (0.0, 20.0)) == Estimate(value=10.0, low=0.0, high=math.inf)


@given(st.lists(st.floats(0, 900), min_size=1, max_size=12), st.floats(1, 300), st.floats(0, 120), st.floats(0, 400))
def test_the_physical_form_at_its_own_mean_rate_is_the_formula_for_any_load(rates: list[float], interval_s: float, downtime_s: float, at_s: float) -> None:
    arrivals = Arrivals.through([60.0 * number for number in range(len(rates))], rates)
    physical = PhysicalRecovery(downtime_s=downtime_s, capacity_rows_per_s=CAPACITY, pause_s=0.0)
    found = by_regression(lambda rate: Estimate.exactly(float(physical.at(point(interval_s, rate, None))[0])), interval_s)(arrivals, at_s)
    assert found.value == pytest.approx(phoebe_recovery_s(arrivals, Outage(at_s=at_s, interval_s=interval_s, downtime_s=downtime_s), CAPACITY), abs=1.5)


def test_a_forecast_becomes_the_rows_that_it_speaks_of() -> None:
    forecast = load(*np.linspace(300.0, 700.0, 15), spread=0.4)
    mean, upper = forecast_arrivals(forecast), forecast_arrivals(forecast, quantile=0.9)
    assert mean.rows(0.0, 900.0) == pytest.approx(60.0 * sum(forecast.mean), rel=0.01)
    assert upper.rows(0.0, 900.0) == pytest.approx(1.16 * mean.rows(0.0, 900.0))
    assert mean.last_s == forecast.end_s and mean.long_run_rate == pytest.approx(700.0)
    assert forecast_arrivals(replace(forecast, mean=(-1.0,) * 15)).rate(0.0) == 0.0


PEAK = load(*[20.0] * 30, *[50.0, 85.0, 90.0, 85.0, 50.0], *[20.0] * 100, step_s=10.0)


def failure(arrivals: Arrivals, at_s: float) -> float:
    return recovery_s(arrivals, at_s, 100.0, 10.0, 40.0)


def test_the_worst_failure_until_the_next_decision_is_the_longest_of_all_moments() -> None:
    found = worst_case(PEAK, failure, now_s=0.0, until_s=600.0)
    by_moment = {at_s: failure(forecast_arrivals(PEAK), at_s) for at_s in range(0, 600, 10)}
    assert found.recovery_s == max(by_moment.values()) > by_moment[0]
    assert by_moment[int(found.at_s)] == found.recovery_s and 250 < found.at_s < 360


def test_the_next_decision_itself_is_no_longer_counted() -> None:
    rising = load(*(9.0 * number for number in range(11)), step_s=10.0)
    for now_s, until_s, worst_s in ((0.0, 50.0, 40.0), (0.0, 51.0, 50.0), (0.0, 20.0, 10.0), (30.0, 30.0, 30.0)):
        assert worst_case(rising, failure, now_s=now_s, until_s=until_s).at_s == worst_s


def test_a_higher_quantile_of_the_forecast_is_never_better() -> None:
    unsure = load(*PEAK.mean, spread=0.75, step_s=10.0)
    found = [worst_case(unsure, failure, now_s=0.0, until_s=600.0, quantile=each).recovery_s for each in (0.1, 0.5, 0.9)]
    assert found == sorted(found) and found[0] < found[2]
    assert worst_case(unsure, failure, now_s=0.0, until_s=600.0).recovery_s == found[2]


def test_what_was_measured_before_now_is_what_has_to_be_repeated() -> None:
    calm, busy = ([(-20.0, rate), (0.0, rate)] for rate in (20.0, 80.0))
    found = [worst_case(load(20.0, 20.0, step_s=10.0), failure, now_s=0.0, until_s=0.0, history=each).recovery_s for each in (calm, busy)]
    assert found[0] < found[1]


def test_of_equal_moments_the_earliest_is_named_and_never_is_the_worst_of_all() -> None:
    assert worst_case(load(50.0, step_s=10.0), failure, now_s=5.0, until_s=100.0).at_s == 5.0
    assert worst_case(load(120.0, step_s=10.0), failure, now_s=5.0, until_s=100.0) == WorstCase(at_s=5.0, recovery_s=math.inf)


@pytest.mark.parametrize(("until_s", "step_s"), [(-1.0, 10.0), (10.0, 0.0)])
def test_moments_that_lead_nowhere_are_refused(until_s: float, step_s: float) -> None:
    with pytest.raises(ValueError, match="moments"):
        worst_case(PEAK, failure, now_s=0.0, until_s=until_s, step_s=step_s)
