"""Every recovery model over one forecast: the number it gives on the mean, bounds from the quantiles too, and what lies beyond the end."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.models.capacity.batch_cost import BatchCost, BatchMeasured
from penstock.core.models.capacity.batch_law import BatchLaw
from penstock.core.models.estimate import Estimate, NotReady
from penstock.core.models.forecast.forecast import Forecast
from penstock.core.models.recovery import daedalus, phoebe
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.asking import by_batches, by_formula, by_regression
from penstock.core.models.recovery.batches import BatchOutage
from penstock.core.models.recovery.forecast_arrivals import foreseen
from penstock.core.models.recovery.outage import Outage
from penstock.core.models.recovery.over_forecast import RecoveryEstimate, RecoveryModel, bounds_of, over_forecast
from penstock.core.models.recovery.physical import PhysicalRecovery
from penstock.core.models.recovery.regression import RecoveryRegression, RecoverySeen

CAPACITY, INTERVAL_S, DOWNTIME_S = 1000.0, 10.0, 60.0
LEVELS = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
HISTORY = [(-300.0, 500.0), (0.0, 500.0)]


def exactly(value: float) -> Estimate:
    return Estimate(value=value, low=value, high=value)


def load(*rates: float, spread: float = 0.0, step_s: float = 60.0) -> Forecast:
    """A forecast from 0 s on; at quantile q every step is off by (q - 1/2) of `spread`, as a share."""
    paths = tuple(tuple(rate * (1 + (level - 0.5) * spread) for rate in rates) for level in LEVELS)
    return Forecast(start_s=0.0, step_s=step_s, mean=rates, levels=LEVELS, paths=paths)


def batch_cost() -> BatchCost:
    law, chance = BatchLaw(overhead_s=1.0, row_s=0.0009, partitions=1), random.Random(1)
    rows = [chance.uniform(500, 9000) for _ in range(40)]
    seen = [BatchMeasured(rows=each, duration_s=law.duration_s(each, 1) * chance.lognormvariate(0, 0.05), scaleout=1) for each in rows]
    return BatchCost(partitions=1).learn(seen)


def regression() -> RecoveryRegression:
    physical = PhysicalRecovery(downtime_s=DOWNTIME_S, capacity_rows_per_s=CAPACITY, pause_s=0.0)
    points = [(interval, rate) for interval in (10.0, 60.0, 120.0) for rate in (200.0, 400.0, 600.0, 800.0)]
    return RecoveryRegression().learn([RecoverySeen(interval_s=i, rate_rows_per_s=r, recovery_s=physical.recovery_s(i, r)) for i, r in points])


M_R = regression()
MODELS: dict[str, RecoveryModel] = {
    "phoebe": by_formula(exactly(CAPACITY), exactly(DOWNTIME_S), INTERVAL_S),
    "daedalus": by_formula(exactly(CAPACITY), exactly(DOWNTIME_S), INTERVAL_S, formula=daedalus.recovery_s),
    "batches": by_batches(batch_cost(), BatchOutage(at_s=0.0, downtime_s=DOWNTIME_S, interval_s=INTERVAL_S, scaleout=1, uncommitted_s=INTERVAL_S)),
    "regression": by_regression(lambda rate: M_R.predict(INTERVAL_S, rate), INTERVAL_S),
}


def known(answer: RecoveryEstimate | NotReady) -> RecoveryEstimate:
    assert isinstance(answer, RecoveryEstimate), answer
    return answer


@pytest.mark.parametrize("name", MODELS)
def test_each_model_answers_over_a_forecast_and_a_wider_forecast_widens_its_bounds(name: str) -> None:
    sure, unsure = (known(over_forecast(MODELS[name], load(*[500.0] * 15, spread=each), history=HISTORY)) for each in (0.0, 0.8))
    assert sure.value == unsure.value == pytest.approx(DOWNTIME_S + (INTERVAL_S + DOWNTIME_S), rel=0.15)
    assert unsure.low < sure.low <= sure.value <= sure.high < unsure.high
    assert not unsure.flagged and unsure.continued_share == 0.0


@pytest.mark.parametrize("name", MODELS)
def test_each_model_sees_what_is_coming(name: str) -> None:
    falling, rising = (known(over_forecast(MODELS[name], load(*np.linspace(500.0, last, 15)), history=HISTORY)).value for last in (100.0, 700.0))
    steady = known(over_forecast(MODELS[name], load(*[500.0] * 15), history=HISTORY)).value
    assert falling < steady < rising


@pytest.mark.parametrize("name", MODELS)
def test_a_recovery_beyond_the_forecast_is_flagged_with_its_share_and_never_is_all_of_it(name: str) -> None:
    long = known(over_forecast(MODELS[name], load(*[850.0] * 3), history=HISTORY))
    assert long.flagged and long.continued_share == pytest.approx(1 - 180.0 / long.value)
    never = known(over_forecast(MODELS[name], load(*[1500.0] * 3), history=HISTORY))
    assert never.value == never.high == math.inf and never.flagged and never.continued_share == 1.0


@pytest.mark.parametrize("name", MODELS)
def test_an_overload_that_passes_within_the_forecast_is_waited_for(name: str) -> None:
    passing = known(over_forecast(MODELS[name], load(500.0, 1300.0, 1300.0, *[300.0] * 27), history=HISTORY))
    assert 180.0 < passing.value < math.inf


def test_a_recovery_of_more_than_a_quarter_of_an_hour_is_flagged_even_within_a_long_forecast() -> None:
    assert known(over_forecast(MODELS["phoebe"], load(*[940.0] * 120), history=HISTORY)).flagged


def test_a_model_that_is_not_ready_says_so() -> None:
    answer = over_forecast(by_regression(lambda rate: RecoveryRegression().predict(INTERVAL_S, rate), INTERVAL_S), load(500.0))
    assert isinstance(answer, NotReady) and "recoveries seen" in answer.why


def test_the_failure_may_strike_later_than_the_forecast_starts() -> None:
    rising = load(*np.linspace(200.0, 800.0, 15))
    early, late = (known(over_forecast(MODELS["phoebe"], rising, at_s=at_s, history=HISTORY)) for at_s in (0.0, 600.0))
    assert early.value < late.value
    assert late.value == phoebe.recovery_s(foreseen(rising, HISTORY), Outage(at_s=600.0, interval_s=INTERVAL_S, downtime_s=DOWNTIME_S), CAPACITY)


def test_bounds_hold_the_recovery_under_loads_that_the_forecast_allows() -> None:
    forecast, chance, held = load(*[600.0] * 15, spread=0.6), random.Random(5), 0
    answer = known(over_forecast(MODELS["phoebe"], forecast, history=HISTORY))
    for _ in range(200):
        actual = foreseen(forecast, HISTORY, chance.uniform(0.05, 0.95))
        held += answer.low <= phoebe.recovery_s(actual, Outage(at_s=0.0, interval_s=INTERVAL_S, downtime_s=DOWNTIME_S), CAPACITY) <= answer.high
    assert held / 200 == pytest.approx(0.8 / 0.9, abs=0.08)


def test_a_doubtful_capacity_and_a_doubtful_downtime_widen_the_bounds_together() -> None:
    sure, unsure = exactly(CAPACITY), Estimate(value=CAPACITY, low=0.9 * CAPACITY, high=1.1 * CAPACITY)
    waits = [exactly(DOWNTIME_S), Estimate(value=DOWNTIME_S, low=40.0, high=90.0)]
    answers = [known(over_forecast(by_formula(capacity, wait, INTERVAL_S), load(*[500.0] * 15))) for capacity in (sure, unsure) for wait in waits]
    assert [each.value for each in answers] == pytest.approx([answers[0].value] * 4)
    widths = [each.high - each.low for each in answers]
    assert widths[0] == pytest.approx(0.0) and max(widths[1:3]) < widths[3] < sum(widths[1:3])


def test_bounds_of_never_are_open_above_and_begin_where_the_best_case_does() -> None:
    assert bounds_of(math.inf, (100.0, math.inf), (300.0, math.inf)) == (100.0, math.inf)
    assert bounds_of(10.0, (0.0, math.inf), (0.0, 20.0)) == (0.0, math.inf)


@given(st.lists(st.floats(0, 900), min_size=1, max_size=12), st.floats(1, 300), st.floats(0, 120), st.floats(0, 400))
def test_the_physical_form_at_the_mean_rate_of_its_own_recovery_is_the_formula_for_any_load(
    rates: list[float], interval_s: float, downtime_s: float, at_s: float
) -> None:
    arrivals = Arrivals.through([60.0 * number for number in range(len(rates))], rates)
    physical = PhysicalRecovery(downtime_s=downtime_s, capacity_rows_per_s=CAPACITY, pause_s=0.0)
    found = by_regression(lambda rate: exactly(physical.recovery_s(interval_s, rate)), interval_s)(arrivals, at_s)
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(phoebe.recovery_s(arrivals, Outage(at_s=at_s, interval_s=interval_s, downtime_s=downtime_s), CAPACITY), abs=1.5)


def test_a_forecast_becomes_the_rows_that_it_speaks_of() -> None:
    forecast = load(*np.linspace(300.0, 700.0, 15), spread=0.4)
    mean, upper = foreseen(forecast), foreseen(forecast, quantile=0.9)
    assert mean.rows(0.0, 900.0) == pytest.approx(60.0 * sum(forecast.mean), rel=0.01)
    assert upper.rows(0.0, 900.0) == pytest.approx(1.16 * mean.rows(0.0, 900.0))
    assert mean.last_s == forecast.end_s and mean.long_run_rate == pytest.approx(700.0)
    assert foreseen(replace(forecast, mean=(-1.0,) * 15)).rate(0.0) == 0.0
