import json
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.errors import UserMistake
from penstock.core.shapes import curve
from penstock.core.shapes.chance import FloatArray
from penstock.core.shapes.curve import AT_END, SampledCurve
from penstock.core.shapes.rate_csv import parse_rate_csv
from penstock.core.shapes.schedule import Override, Schedule, TraceRecipe
from penstock.core.shapes.shape import parse_shape
from penstock.core.shapes.timeline import curve_of, timeline_of

EPOCH_S = 1_700_000_000.25
GAPS = parse_rate_csv("t,rate\n0,300\n10,0\n40,0\n50,500\n60,20\n", "gaps.csv")
SHAPES = ("constant(100)", "constant(0)", "step(0, 900, at=30)", "ramp(1000, 0, over=2m)", "sine(200, 500, 1m) + spikes(height=1k, every=40)", "noise(300)")


def at(from_s: float, rows_per_s: float | None = None, times: float | None = None) -> Override:
    return Override(from_s=from_s, rows_per_s=rows_per_s, times=times)


@st.composite
def recipes(draw: st.DrawFn) -> TraceRecipe:
    from_csv = st.builds(TraceRecipe, knots=st.just(GAPS), at_end=st.sampled_from(AT_END))
    named = st.builds(TraceRecipe, shape=st.sampled_from(SHAPES), seed=st.integers(0, 3))
    return replace(draw(from_csv | named), compression=draw(st.sampled_from((0.5, 1.0, 60.0))), rate_factor=draw(st.sampled_from((0.0, 0.3, 1.0, 7.0))))


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    schedule = Schedule.begin(draw(recipes()), EPOCH_S)
    for from_s in sorted(draw(st.lists(st.floats(-5, 300), max_size=4))):
        rows_per_s, times = draw(st.sampled_from(((None, None), (0.0, None), (0.7, None), (250.0, None), (5000.0, None), (None, 1.0), (None, 0.4))))
        schedule = schedule.with_override(at(EPOCH_S + from_s, rows_per_s, times))
    return schedule


AFTER_S = st.floats(-10, 500)


def rows_at(schedule: Schedule, wall_s: FloatArray) -> FloatArray:
    return timeline_of(schedule.recipe, schedule.epoch_s, schedule.overrides).rows_at(wall_s)


def constant(rows_per_s: float, rate_factor: float = 1.0) -> Schedule:
    return Schedule.begin(TraceRecipe(shape=f"constant({rows_per_s})", rate_factor=rate_factor), EPOCH_S)


def test_rows_arrive_from_the_epoch_on() -> None:
    assert constant(500).newest_at(EPOCH_S - 1e6) == 0 and constant(500).rate_at(EPOCH_S - 1) == 0
    assert constant(500).newest_at(EPOCH_S + 86_400) == 500 * 86_400


def test_the_last_row_of_a_trace_arrives_despite_rounding() -> None:
    schedule = Schedule.begin(TraceRecipe(knots=parse_rate_csv("t,rate\n0,0.1\n100,0.1\n", "x"), at_end="stop"), EPOCH_S)
    assert schedule.newest_at(EPOCH_S + 100) == schedule.newest_at(EPOCH_S + 1e6) == 10
    assert schedule.arrival_of(np.array([9, 10])).tolist() == pytest.approx([EPOCH_S + 100, np.inf], abs=1e-4)


def test_the_trace_runs_on_under_an_override() -> None:
    schedule = Schedule.begin(TraceRecipe(shape="ramp(0, 100, over=100)"), 0.0).with_override(at(20, 500)).with_override(at(60))
    assert [schedule.rate_at(each) for each in (10, 20, 59, 60, 70)] == pytest.approx([10, 500, 500, 60, 70])
    assert schedule.newest_at(60) == 200 + 40 * 500 and schedule.newest_at(70) == 200 + 40 * 500 + 650


def test_a_trace_that_begins_again_is_followed_from_its_start_at_so_many_times_its_rate() -> None:
    ramp = Schedule.begin(TraceRecipe(shape="ramp(0, 100, over=100)"), 0.0)
    schedule = ramp.with_override(at(20, 500)).with_override(at(60, times=0.5)).with_override(at(80, 7)).with_override(at(90))
    assert [schedule.rate_at(each) for each in (59, 60, 70, 80, 90, 160)] == pytest.approx([500, 0, 5, 7, 15, 50])
    before = 200 + 40 * 500
    assert [schedule.newest_at(each) for each in (60, 80, 90)] == [before, before + 100, before + 170]


def test_an_override_from_before_the_epoch_holds_from_the_epoch_on_and_the_rate_factor_is_not_for_overrides() -> None:
    early, scaled = constant(100).with_override(at(EPOCH_S - 60, 7)), constant(100, rate_factor=3).with_override(at(EPOCH_S + 10, 100))
    assert [early.newest_at(EPOCH_S + after_s) for after_s in (0, 10)] == [0, 70]
    assert [scaled.newest_at(EPOCH_S + after_s) for after_s in (10, 20)] == [3000, 4000]


def test_an_override_that_starts_before_another_or_is_no_rate_is_refused() -> None:
    schedule = constant(100).with_override(at(EPOCH_S + 10, 5))
    assert schedule.with_override(at(EPOCH_S + 10, 6)).rate_at(EPOCH_S + 10) == 6
    for from_s, rows_per_s in ((EPOCH_S + 9, 5.0), (EPOCH_S + 20, -1.0), (EPOCH_S + 20, np.nan), (EPOCH_S + 20, np.inf), (np.nan, 5.0)):
        with pytest.raises(ValueError, match="override"):
            schedule.with_override(at(from_s, rows_per_s))


@given(schedules(), st.lists(AFTER_S, min_size=2, max_size=20))
def test_the_newest_position_never_falls(schedule: Schedule, after_s: list[float]) -> None:
    newest = [schedule.newest_at(EPOCH_S + each) for each in sorted(after_s)]
    assert newest == sorted(newest) and newest[0] >= 0


@given(schedules(), st.lists(AFTER_S, min_size=1, max_size=10), st.floats(0, 100), st.sampled_from((None, 0.0, 123.0)))
def test_an_override_changes_nothing_before_its_start(schedule: Schedule, after_s: list[float], later_s: float, rows_per_s: float | None) -> None:
    start_s = max((each.from_s for each in schedule.overrides), default=EPOCH_S) + later_s
    changed = schedule.with_override(at(start_s, rows_per_s))
    for wall_s in (min(EPOCH_S + each, start_s) for each in after_s):
        assert changed.newest_at(wall_s) == schedule.newest_at(wall_s)
        if wall_s < start_s:
            assert changed.rate_at(wall_s) == schedule.rate_at(wall_s)
    positions = np.arange(max(0, changed.newest_at(start_s) - 50), changed.newest_at(start_s))
    np.testing.assert_allclose(changed.arrival_of(positions), schedule.arrival_of(positions), rtol=0, atol=1e-6)


@given(schedules(), AFTER_S)
def test_a_row_exists_exactly_from_its_arrival_on(schedule: Schedule, after_s: float) -> None:
    newest = schedule.newest_at(EPOCH_S + after_s)
    positions = np.unique(np.linspace(0, max(newest - 1, 0), 20).astype(np.int64))[: newest or 0]
    arrival_s = schedule.arrival_of(positions)
    assert (arrival_s <= EPOCH_S + after_s + 1e-6).all() and (np.diff(arrival_s) >= 0).all()
    for position, wall_s in zip(positions.tolist(), arrival_s.tolist(), strict=True):
        assert schedule.newest_at(wall_s + 1e-6) >= position + 1
        assert schedule.newest_at(wall_s - 1e-6) <= position


@given(schedules(), AFTER_S)
def test_the_next_row_has_not_arrived_yet(schedule: Schedule, after_s: float) -> None:
    newest = schedule.newest_at(EPOCH_S + after_s)
    assert schedule.arrival_of(np.array([newest]))[0] >= EPOCH_S + after_s - 1e-6


@settings(max_examples=25, deadline=None)
@given(schedules(), st.lists(st.floats(0, 40_000), min_size=1, max_size=8))
def test_any_sequence_of_polls_sees_the_same_positions(schedule: Schedule, after_s: list[float]) -> None:
    polled = [schedule.newest_at(EPOCH_S + each) for each in sorted(after_s)]
    timeline_of.cache_clear()
    curve_of.cache_clear()
    assert schedule.newest_at(EPOCH_S + max(after_s)) == polled[-1]
    assert [schedule.newest_at(EPOCH_S + each) for each in sorted(after_s)] == polled


@given(recipes(), st.floats(0, 500), st.sampled_from((2.0, 10.0, 144.0)))
def test_a_compressed_trace_passes_sooner_at_the_same_rates_and_has_fewer_rows(recipe: TraceRecipe, trace_s: float, compression: float) -> None:
    plain, fast = (Schedule.begin(replace(recipe, compression=each), 0.0) for each in (1.0, compression))
    assert fast.rate_at(trace_s / compression) == pytest.approx(plain.rate_at(trace_s), rel=1e-6, abs=1e-3)
    assert rows_at(fast, np.array([trace_s / compression]))[0] * compression == pytest.approx(rows_at(plain, np.array([trace_s]))[0], rel=1e-9, abs=1e-9)


@given(schedules(), AFTER_S, st.floats(0, 1))
def test_a_slice_knows_the_arrivals_of_its_range(schedule: Schedule, after_s: float, share: float) -> None:
    end = schedule.newest_at(EPOCH_S + after_s)
    first = int(share * end)
    if first < end:
        positions = np.unique(np.linspace(first, end - 1, 200).astype(np.int64))
        cut = pickle.loads(pickle.dumps(schedule.slice(first, end)))
        if after_s * schedule.recipe.compression < 4000:
            np.testing.assert_allclose(cut.arrival_of(positions), schedule.arrival_of(positions), rtol=0, atol=2e-6)


def test_a_slice_of_a_month_is_small_and_nearly_right() -> None:
    schedule = Schedule.begin(TraceRecipe(shape="diurnal + spikes + noise"), EPOCH_S)
    schedule = schedule.with_override(at(EPOCH_S + 86_400, 0)).with_override(at(EPOCH_S + 5 * 86_400))
    end = schedule.newest_at(EPOCH_S + 30 * 86_400)
    cut = schedule.slice(0, end)
    positions = np.linspace(0, end - 1, 50_000).astype(np.int64)
    off_s = np.abs(cut.arrival_of(positions) - schedule.arrival_of(positions))
    assert len(pickle.dumps(cut)) < 200_000 and off_s.max() < 30 * 86_400 / 2047
    assert np.median(off_s) < 30 and (np.diff(cut.arrival_of(positions)) >= 0).all()


def test_a_slice_answers_only_for_its_range_which_has_rows_that_arrive() -> None:
    cut = constant(100).slice(10, 20)
    assert cut.arrival_of(np.array([10, 19])).tolist() == pytest.approx([EPOCH_S + 0.11, EPOCH_S + 0.2], abs=1e-6)
    assert cut.arrival_of(np.array([], dtype=np.int64)).tolist() == []
    for outside in (9, 20):
        with pytest.raises(ValueError, match="not all in 10 to 19"):
            cut.arrival_of(np.array([outside]))
    for rate, first, end, why in ((100, 5, 5, "no range"), (0, 0, 1, "never arrives")):
        with pytest.raises(ValueError, match=why):
            constant(rate).slice(first, end)


@given(schedules(), AFTER_S)
def test_a_schedule_survives_json_and_pickle(schedule: Schedule, after_s: float) -> None:
    resumed = Schedule.resume(schedule.recipe, json.loads(json.dumps(schedule.state())))
    assert resumed == schedule and pickle.loads(pickle.dumps(schedule)) == schedule
    assert resumed.newest_at(EPOCH_S + after_s) == schedule.newest_at(EPOCH_S + after_s)


def test_a_state_does_not_hold_the_curve() -> None:
    state = Schedule.begin(TraceRecipe(knots=GAPS, at_end="repeat"), EPOCH_S).with_override(at(EPOCH_S + 1)).state()
    identity = {"trace": f"csv {GAPS.digest}, at_end repeat", "compression": 1.0, "rate_factor": 1.0}
    assert state == {"epoch_s": EPOCH_S, "overrides": [[EPOCH_S + 1, None, None]], **identity}


def test_the_same_trace_written_differently_goes_on() -> None:
    state = Schedule.begin(TraceRecipe(shape="sine(1k, period=10m)"), EPOCH_S).state()
    assert Schedule.resume(TraceRecipe(shape="sine( mean=1000,period=600 )"), state).epoch_s == EPOCH_S


@pytest.mark.parametrize(
    ("recipe", "key"),
    [
        (TraceRecipe(shape="constant(101)"), "trace"),
        (TraceRecipe(shape="constant(100)", seed=1), "trace"),
        (TraceRecipe(knots=GAPS), "trace"),
        (TraceRecipe(shape="constant(100)", compression=2), "compression"),
        (TraceRecipe(shape="constant(100)", rate_factor=2), "rate_factor"),
    ],
)
def test_a_checkpoint_refuses_another_trace(recipe: TraceRecipe, key: str) -> None:
    with pytest.raises(UserMistake, match=f"trace: {key}: found .*cannot change, use another checkpoint"):
        Schedule.resume(recipe, constant(100).state())


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"at_end": "loop"}, "trace: at_end: found 'loop', one of hold, repeat, stop is allowed"),
        ({"compression": 0.0}, "trace: compression: found 0, a number from 1e-6 to 1e6 is allowed"),
        ({"compression": float("nan")}, "trace: compression: found nan"),
        ({"rate_factor": -1.0}, "trace: rate factor: found -1, a number from 0 to 1e6 is allowed"),
        ({"shape": "sinus"}, "shape: found 'sinus', known shapes are"),
    ],
)
def test_a_bad_recipe_is_a_mistake_at_once(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(UserMistake) as caught:
        replace(TraceRecipe(shape="sine"), **changes)
    assert says in str(caught.value)


def test_a_compressed_trace_goes_on_after_ten_years_of_its_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a day in a minute ten years pass in 61 hours; here they are four blocks of samples, as a decade takes its time."""
    monkeypatch.setattr(curve, "BARREN_BLOCKS", 4)
    schedule = Schedule.begin(TraceRecipe(shape="sine(10, 5, 600)", compression=1440), 1000.0)
    later_s = 1000.0 + 9 * curve.BLOCK_S / 1440
    newest = schedule.newest_at(later_s)
    fresh = Schedule.begin(TraceRecipe(shape="sine(10, 5, 600)", seed=7, compression=1440), 1000.0)
    assert float(fresh.arrival_of(np.array([newest - 1]))[0]) <= later_s < float(fresh.arrival_of(np.array([newest]))[0])
    assert fresh.slice(newest - 5, newest).end == newest


def test_a_trace_that_ends_never_sends_another_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curve, "BARREN_BLOCKS", 4)
    assert SampledCurve(parse_shape("step(before=10, after=0, at=60)")).time_of(np.array([599.0, 700.0])).tolist() == [59.9, np.inf]
