from dataclasses import replace

import pytest
from assessed import about, assessed, expecting, under

from penstock.core.domain.decision import Candidate, Decision
from penstock.core.domain.job_spec import Promises
from penstock.core.knowledge.assessment import Assessment
from penstock.core.models.forecast.forecast import Forecast
from penstock.core.policies.lookahead import Ahead, Lookahead

LIVE = {"plant": "micro_batch", "stops": frozenset[str]()}
TIGHT, LOOSE = Promises(latency_p95_s=5.0), Promises(latency_p95_s=300.0)
"""A promised latency that a rescale of this plant breaks, and one that outlasts it. Recovery is not promised."""


def decision(seen: Assessment, **parameters: float) -> Decision:
    return Lookahead(**parameters).decide(seen)


def reason(of: Decision, executors: int) -> str | None:
    found: Candidate = next(each for each in of.candidates if each.executors == executors)
    return None if found.refused is None else found.refused.code


def test_executors_carry_the_upper_bound_of_the_forecast() -> None:
    """The 90 % quantile is a fifth above the mean here."""
    chosen = decision(expecting(350.0, [350.0] * 15, executors=4, **LIVE))
    assert (chosen.executors, chosen.why.code, reason(chosen, 4)) == (5, "cheapest_ahead", "capacity_below_peak")
    assert decision(expecting(350.0, [350.0] * 15, executors=4, **LIVE), quantile=0.5).executors == 4


def test_where_executors_come_live_a_rise_that_is_far_is_not_paid_for_yet() -> None:
    later, soon = [250.0] * 8 + [600.0] * 7, [250.0] + [600.0] * 14
    assert decision(expecting(250.0, later, executors=8, **LIVE)).executors == 3
    assert decision(expecting(250.0, soon, executors=2, **LIVE)).executors == 8


@pytest.mark.parametrize(("promises", "executors"), [(TIGHT, 8), (LOOSE, 4)])
def test_where_a_rescale_stops_the_job_it_must_save_more_than_it_breaks(promises: Promises, executors: int) -> None:
    """Four executors less for some minutes are not worth two stops beyond the promise."""
    passing = [250.0] * 8 + [600.0] * 7
    chosen = decision(expecting(250.0, passing, executors=8, promises=promises))
    assert chosen.executors == executors
    assert reason(chosen, 4) == ("dearer" if executors == 8 else None)


def test_a_lower_load_that_stays_is_worth_a_stop() -> None:
    seen = expecting(150.0, [150.0] * 15, executors=12, promises=TIGHT)
    assert decision(seen).executors < 12 and decision(seen, broken_cost=1e6).executors == 12


def test_a_failure_must_be_recovered_from_in_time() -> None:
    seen = expecting(320.0, [320.0] * 15, executors=6, promises=Promises(recovery_s=100.0))
    chosen = decision(seen, quantile=0.5)
    assert chosen.executors == 6 and reason(chosen, 4) == "recovery_above_target"


def test_rows_that_wait_are_worked_off_by_more_executors_where_they_break_the_promise() -> None:
    calm = expecting(350.0, [350.0] * 15, executors=5, promises=TIGHT, **LIVE)
    behind = expecting(350.0, [350.0] * 15, executors=5, promises=TIGHT, lag_rows=20_000.0, **LIVE)
    assert decision(calm).executors == 5 < decision(behind).executors


def test_what_no_executors_carry_gets_the_most() -> None:
    chosen = decision(expecting(1300.0, [1300.0] * 15, executors=4))
    assert (chosen.executors, chosen.why.code) == (12, "none_passes")


@pytest.mark.parametrize("seen", [assessed(), under(150.0)], ids=["nothing is known", "there is no forecast"])
def test_without_load_capacity_and_forecast_it_does_not_decide(seen: Assessment) -> None:
    assert decision(seen).why.code == "not_ready"


def test_executors_of_unknown_capacity_are_skipped() -> None:
    seen = expecting(150.0, [150.0] * 15, executors=4, capacities={executors: about(100.0 * executors) for executors in (1, 3, 4)}, **LIVE)
    assert (decision(seen).executors, reason(decision(seen), 2)) == (3, "unknown_capacity")


def test_scale_downs_are_not_delayed_by_the_shared_guards_as_their_cost_was_weighed() -> None:
    assert decision(expecting(150.0, [150.0] * 15, executors=8, **LIVE)).weighs_changes


def test_the_rate_of_this_moment_counts_whatever_is_forecast() -> None:
    falling = expecting(150.0, [150.0] * 15, executors=8, **LIVE)
    now = replace(falling, reading=replace(falling.reading, arrival_rows_per_s=700.0))
    assert decision(falling).executors == 2 and decision(now).executors == 7


def test_a_forecast_that_runs_away_counts_no_more_than_a_few_times_the_rate_of_now() -> None:
    seen = expecting(150.0, [3000.0] * 15)
    assert seen.forecast is not None and Ahead.of(seen.forecast, seen.at_s, 0.9, 150.0).highest == (450.0,) * 15


def test_a_bound_that_no_executors_carry_asks_for_all_if_the_mean_does_not_need_more() -> None:
    seen = expecting(1100.0, [1100.0] * 15, executors=12, **LIVE)
    assert (decision(seen).executors, decision(seen).why.code) == (12, "cheapest_ahead")


def test_a_forecast_is_looked_at_from_now_on() -> None:
    forecast = Forecast(start_s=0.0, step_s=10.0, mean=(9.0, 5.0, 6.0), levels=(0.1, 0.9), paths=((8.0, 4.0, 5.0), (9.0, 5.0, 6.0)))
    ahead = Ahead.of(forecast, 12.0, 0.9, 2.0)
    assert ahead.highest == (5.0, 6.0) and ahead.holds_s(5.5) == 10.0 and ahead.peak(15.0) == 6.0
