import pytest
from hypothesis import given
from hypothesis import strategies as st
from steady_job import READING_S, Analysed, SteadyJob, daily

from penstock.core.analyze.forecasts import from_now, points_since
from penstock.core.models.forecast.forecast import Forecast
from penstock.core.models.forecast.series import LoadSeen, Series

HORIZON_S = 900.0


def test_a_forecast_is_kept_until_it_is_a_minute_old() -> None:
    analysed = Analysed(SteadyJob(load=daily))
    analysed.turns(41)
    made = [analysed.knowledge.outlook.made_s]
    for _ in range(8):
        analysed.turn()
        made.append(analysed.knowledge.outlook.made_s)
    assert sorted({later - made[0] for later in made if later is not None and made[0] is not None}) == [0.0, 60.0, 120.0]


def test_it_is_seen_from_now_on_over_the_whole_horizon() -> None:
    analysed = Analysed(SteadyJob(load=daily))
    analysed.turns(40)
    for _ in range(6):
        analysed.turn()
        forecast = analysed.seen().forecast
        assert forecast is not None and forecast.start_s == analysed.job.at_s and forecast.end_s - forecast.start_s == HORIZON_S


def test_the_rate_of_a_reading_stands_in_the_middle_of_its_time() -> None:
    analysed = Analysed(SteadyJob(load=lambda at_s: 100.0 if at_s < 30 else 200.0))
    analysed.turns(4)
    assert points_since(analysed.knowledge.learnt.load.series, 0.0) == [(7.5, 100.0), (22.5, 100.0), (37.5, 200.0), (52.5, 200.0)]


def test_arrivals_are_what_came_and_then_what_is_forecast() -> None:
    analysed = Analysed(SteadyJob(load=daily))
    analysed.turns(80)
    arrivals, now_s = analysed.seen().arrivals, analysed.job.at_s
    assert arrivals is not None
    for back_s in (10.0, 30.0):
        assert arrivals.rate(now_s - back_s) == pytest.approx(daily(now_s - back_s), rel=0.01)
    assert arrivals.rate(now_s + 60.0) == pytest.approx(daily(now_s + 60.0), rel=0.05)


def test_without_a_forecast_the_load_goes_on() -> None:
    analysed = Analysed(SteadyJob(load=daily), needs=frozenset({"load"}))
    analysed.turns(3)
    seen = analysed.seen()
    assert seen.forecast is None and seen.arrivals is not None and seen.arrivals.rate(1e6) == seen.load_rows_per_s


@given(st.floats(0.0, 3000.0), st.floats(10.0, 900.0), st.integers(1, 64))
def test_a_moved_forecast_says_of_a_time_what_it_said(passed_s: float, horizon_s: float, steps: int) -> None:
    mean = tuple(float(step) for step in range(steps))
    made = Forecast(start_s=100.0, step_s=10.0, mean=mean, levels=(0.1, 0.9), paths=(mean, mean))
    moved = from_now(made, 100.0 + passed_s, horizon_s)
    skipped = round((moved.start_s - made.start_s) / 10.0)
    assert moved.mean == mean[skipped : skipped + len(moved.mean)] == moved.paths[0] and len(moved.mean) >= 1
    assert moved.start_s <= 100.0 + passed_s + 1e-3 and len(moved.mean) <= max(1, round(horizon_s / 10.0))
    assert moved.start_s > 90.0 + passed_s - 1e-3 or skipped == steps - 1


@given(st.lists(st.tuples(st.floats(0.0, 600.0), st.floats(0.0, 1e6)), min_size=1, max_size=30), st.floats(0.0, 600.0))
def test_points_are_the_means_of_bins(seen: list[tuple[float, float]], since_s: float) -> None:
    series = Series(step_s=READING_S).with_seen([LoadSeen(at_s=at_s, rate_rows_per_s=rate) for at_s, rate in seen], 1e4)
    for at_s, rate in points_since(series, since_s):
        inside = [value for time_s, value in seen if abs(time_s - at_s) <= READING_S / 2]
        assert inside and min(inside) - 1e-6 <= rate <= max(inside) + 1e-6
        assert at_s > since_s - READING_S
    assert len(points_since(series, 0.0)) == sum(1 for count in series.counts if count)
