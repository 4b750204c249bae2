from typing import Any

import numpy as np
import pytest
from changes import changing
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_job import asked, assert_nothing_is_lost, job, lived, recovery, scale

from penstock.core.domain.fault import Fault
from penstock.core.domain.instruction import Outcome
from penstock.core.domain.trigger import Trigger
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.outage import recovery_s
from penstock.simulator.continuous import ContinuousEngine
from penstock.simulator.engine_settings import ContinuousSettings
from penstock.simulator.ground_truth import COLUMNS
from penstock.simulator.load import Load

START_S = 1_700_000_000.0


@pytest.mark.parametrize("utilization", [0.3, 0.5, 0.7, 0.9])
@pytest.mark.parametrize(("interval_s", "downtime_s"), [(10.0, 30.0), (60.0, 12.5)])
def test_the_recovery_of_a_constant_rate_is_the_formula(utilization: float, interval_s: float, downtime_s: float) -> None:
    rate, struck = 4000.0 * utilization, Fault(at_s=20 * interval_s)
    record = lived(job(rate, interval_s=interval_s, downtime_s=downtime_s, faults=(struck,)), 20 * interval_s + 900.0)
    by_hand_s = downtime_s + (interval_s + downtime_s) * utilization / (1 - utilization)
    assert recovery(record) == pytest.approx(by_hand_s, abs=1.0)
    assert recovery(record) == pytest.approx(recovery_s(Arrivals.constant(rate), struck.at_s, 4000.0, interval_s, downtime_s), abs=1.0)


@given(level=st.floats(0.3, 0.6), swing=st.floats(0.0, 0.3), period_s=st.floats(300.0, 3000.0), interval_s=st.integers(5, 60), downtime_s=st.integers(1, 120))
@settings(max_examples=25)
def test_the_recovery_of_a_load_that_moves_is_the_formula(level: float, swing: float, period_s: float, interval_s: int, downtime_s: int) -> None:
    time_s = np.arange(0.0, 6000.0, 5.0)
    arrivals = Arrivals.through(time_s, 4000.0 * (level + swing * np.sin(2 * np.pi * time_s / period_s)))
    at_s = float(12 * interval_s)
    record = lived(job(arrivals, interval_s=float(interval_s), downtime_s=float(downtime_s), faults=(Fault(at_s=at_s),)), 5900.0)
    assert recovery(record) == pytest.approx(recovery_s(arrivals, at_s, 4000.0, float(interval_s), float(downtime_s)), abs=1.0)


def test_a_failure_at_a_checkpoint_comes_before_it_and_repeats_the_whole_interval() -> None:
    replayed = {at_s: lived(job(1000.0, interval_s=10.0, faults=(Fault(at_s=at_s),)), 300.0).seconds().replayed_rows for at_s in (100.0, 101.0, 109.0)}
    assert {at_s: (int(np.argmax(rows)), rows.sum()) for at_s, rows in replayed.items()} == {
        100.0: (100, pytest.approx(10_000.0)),
        101.0: (101, pytest.approx(1000.0)),
        109.0: (109, pytest.approx(9000.0)),
    }


def test_a_freeze_is_noticed_when_its_time_is_out_and_two_failures_before_a_recovery_end_together() -> None:
    crash, freeze = (lived(job(2000.0, downtime_s=30.0, timeout_s=20.0, faults=(Fault(at_s=200.0, kind=kind),)), 600.0) for kind in ("kill", "freeze"))
    assert (crash.seconds().down.sum(), freeze.seconds().down.sum()) == (30.0, 50.0)
    assert [recovery(crash), recovery(freeze)] == pytest.approx([70.0, 110.0], abs=1.0)
    record = lived(job(2000.0, downtime_s=30.0, interval_s=10.0, faults=(Fault(at_s=100.0), Fault(at_s=120.0))), 400.0)
    first, second = record.struck
    assert record.seconds().down.sum() == 50.0
    assert first.recovered_s == second.recovered_s == pytest.approx(150.0 + 60.0, abs=1.0)


def test_checkpoints_begin_anew_after_a_restart() -> None:
    engine = job(1000.0, interval_s=10.0, downtime_s=13.0, faults=(Fault(at_s=25.0),))
    engine.advance(60.5)
    (query,) = engine.observation().queries
    assert [batch.committed_s for batch in query.batches] == [10.0, 20.0, 48.0, 58.0]
    assert [batch.batch_id for batch in query.batches] == [0, 1, 2, 3]
    assert sum(batch.rows for batch in query.batches) == pytest.approx(58_000.0) and query.processed_rows == pytest.approx(60_000.0)


@given(
    rates=st.lists(st.floats(0.0, 9000.0), min_size=2, max_size=12),
    faults=st.lists(st.floats(0.0, 590.0), max_size=4),
    executor_counts=st.lists(st.tuples(st.floats(0.0, 590.0), st.integers(1, 8)), max_size=5),
    known=st.fixed_dictionaries(
        {"replays": st.booleans(), "grows_live": st.booleans(), "interval_s": st.floats(2.0, 90.0)}
        | {name: st.floats(0.0, most) for name, most in (("skew", 0.6), ("pause_s", 1.9), ("up_s", 60.0), ("down_s", 60.0), ("downtime_s", 120.0))}
    ),
)
@settings(max_examples=60)
def test_no_row_is_lost_or_invented(rates: list[float], faults: list[float], executor_counts: list[tuple[float, int]], known: dict[str, Any]) -> None:
    arrivals = Arrivals.through(np.linspace(0.0, 600.0, len(rates)), rates)
    engine = job(arrivals, faults=tuple(Fault(at_s=at_s) for at_s in faults), **known)
    outcomes: list[Outcome] = []
    for at_s, executors in sorted(executor_counts):
        engine.advance(at_s)
        engine.perform(scale(executors), outcomes.append)
    record = lived(engine, 600.0)
    assert_nothing_is_lost(record)
    (query,) = engine.observation().queries
    seen = record.seconds()
    assert len(record) == 600 and query.newest_rows == pytest.approx(arrivals.rows(0.0, 600.0))
    assert query.read_rows == pytest.approx(seen.finished_rows.sum()) and query.replayed_rows == pytest.approx(seen.replayed_rows.sum())
    assert len(record.struck) == len(faults)
    assert len(outcomes) <= len(executor_counts) and sum(outcome.done and outcome.took_s > 0 for outcome in outcomes) <= len(record.rescales)


@given(looks=st.lists(st.floats(0.0, 400.0), max_size=30), seed=st.integers(0, 2**32))
@settings(max_examples=25)
def test_how_often_somebody_looks_changes_nothing(looks: list[float], seed: int) -> None:
    def run(looks_s: list[float]) -> ContinuousEngine:
        faults = (Fault(at_s=70.0), Fault(at_s=200.0, kind="freeze"))
        engine = job(3000.0, faults=faults, seed=seed, pause_s=0.3, noise=0.05, skew=0.2, interval_s=7.0, up_s=12.5)
        for at_s in (*(each for each in looks_s if each < 300.0), 300.0):
            engine.advance(at_s)
            engine.observation()
        engine.perform(scale(6), lambda _: None)
        for at_s in (*(each for each in looks_s if each > 300.0), 400.0):
            engine.advance(at_s)
        return engine

    one, other = run([]), run(sorted(looks))
    for name in COLUMNS:
        assert np.allclose(getattr(one.record.seconds(), name), getattr(other.record.seconds(), name), rtol=1e-6, atol=1e-3), name
    assert [each.recovered_s for each in one.record.struck] == pytest.approx([each.recovered_s for each in other.record.struck])
    assert [each.cpu_s for each in one.observation().executors] == pytest.approx([each.cpu_s for each in other.observation().executors])


def test_latency_is_the_wait_in_line_or_that_of_a_queue() -> None:
    record = lived(job(2000.0, executors=1, base_s=0.2, queue_s=0.0), 100.0)
    waited_s = (np.arange(100) + 0.5) / 2
    assert record.seconds().latency_s == pytest.approx(0.2 + waited_s, abs=1e-3)
    assert record.seconds().oldest_s == pytest.approx((np.arange(100) + 1.0) / 2, abs=1e-3)
    latencies = [lived(job(4000.0 * load, base_s=0.2, queue_s=0.05), 60.0).seconds().latency_s[-1] for load in (0.1, 0.5, 0.9)]
    assert latencies == pytest.approx([0.2 + 0.05 / 9, 0.25, 0.65])


def test_a_shorter_interval_costs_capacity_and_latency() -> None:
    def run(interval_s: float, rate: float) -> Any:
        return lived(job(rate, pause_s=0.5, interval_s=interval_s), 601.0).seconds()

    assert [run(interval_s, 9000.0).finished_rows[1:].sum() / 600.0 for interval_s in (5.0, 10.0, 60.0)] == pytest.approx(
        [4000.0 * (1 - 0.5 / interval_s) for interval_s in (5.0, 10.0, 60.0)], rel=0.005
    )
    assert run(5.0, 2000.0).latency_s.mean() > run(60.0, 2000.0).latency_s.mean() > 0.25


def test_rows_wait_for_a_pause_longer_than_a_second_and_not_for_a_silence_before_them() -> None:
    seen = lived(job(1000.0, pause_s=3.0, interval_s=20.0), 60.0).seconds()
    assert seen.lag_rows[[19, 20, 21, 22]] == pytest.approx([0.0, 1000.0, 2000.0, 3000.0])
    assert seen.lag_rows[[18, 24, 38]] == pytest.approx([0.0, 0.0, 0.0], abs=1e-6)
    silence = Arrivals.through((0.0, 100.0, 101.0, 200.0, 201.0, 300.0), (500.0, 500.0, 0.0, 0.0, 500.0, 500.0))
    seen = lived(job(silence, downtime_s=60.0, interval_s=10.0, faults=(Fault(at_s=150.0),)), 300.0).seconds()
    assert seen.oldest_s[:200].max() == 0.0 and seen.oldest_s[209] == pytest.approx(10.0, abs=1.0)


def test_skew_lowers_the_capacity_and_the_busiest_worker_shows_it() -> None:
    even, skewed = (job(99_999.0, executors=8, skew=skew, seed=5) for skew in (0.0, 0.3))
    assert lived(even, 100.0).seconds().finished_rows[-1] == pytest.approx(8000.0)
    assert lived(skewed, 100.0).seconds().finished_rows[-1] < 7000.0
    cpu_s = np.array([each.cpu_s for each in skewed.observation().executors], dtype=float)
    rows = np.array(list(skewed.observation().queries[0].executor_rows.values()))
    assert cpu_s.max() == pytest.approx(100.0) and cpu_s.min() < 80.0
    assert rows / rows.max() == pytest.approx((cpu_s - 2.0) / (cpu_s.max() - 2.0), abs=1e-6)


def test_cpu_follows_the_rows_of_each_executor_and_one_seed_is_one_run() -> None:
    def cpu(**known: Any) -> list[float | None]:
        engine = job(2000.0, **known)
        engine.advance(100.0)
        return [each.cpu_s for each in engine.observation().executors]

    assert cpu(idle=0.1) == pytest.approx([100.0 * (0.1 + 0.9 * 0.5)] * 4)
    assert cpu(noise=0.02, seed=1) == cpu(noise=0.02, seed=1) != cpu(noise=0.02, seed=2)


def test_a_job_that_cannot_be_is_refused_and_one_that_does_not_keep_up_has_not_recovered() -> None:
    for wrong in ({"executors": 0}, {"faults": (Fault(at_s=-1.0),)}):
        with pytest.raises(ValueError):
            job(1000.0, **wrong)
    (struck,) = lived(job(5000.0, faults=(Fault(at_s=100.0),)), 400.0).struck
    assert struck.recovery_s is None


@pytest.mark.parametrize("wrong", [{"capacity_rows_per_s": 0.0}, {"pause_s": 10.0, "interval_s": 10.0}, {"down_s": -1.0}])
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        ContinuousSettings(**{"capacity_rows_per_s": 1.0, **wrong})


def test_times_are_the_traces_own() -> None:
    load = Load.of(Arrivals.through((START_S, START_S + 600.0), (1000.0, 1000.0)), START_S)
    engine = ContinuousEngine(ContinuousSettings(capacity_rows_per_s=500.0), load, executors=4, faults=(Fault(at_s=START_S + 100.0),))
    record = lived(engine, START_S + 300.0)
    observation = engine.observation()
    assert observation.at_s == record.end_s == START_S + 300.0 and record.struck[0].at_s == START_S + 100.0
    assert observation.disturbed_s == START_S + 130.0 and observation.queries[0].outputs[-1].wall_s == START_S + 300.0


@pytest.mark.parametrize(("executors", "down_s", "replayed"), [(6, 30.0, 5000.0), (2, 15.0, 5000.0)])
def test_a_rescale_in_reactive_mode_stops_the_job_and_goes_back_to_the_checkpoint(executors: int, down_s: float, replayed: float) -> None:
    engine = job(1000.0, interval_s=10.0)
    engine.advance(105.0)
    outcomes = asked(engine, scale(executors))
    engine.advance(105.0 + down_s - 1.0)
    assert not outcomes and engine.observation().queries[0].state == "restarting"
    assert engine.observation().executors_requested == executors and len(engine.observation().executors) == 4
    record = lived(engine, 105.0 + down_s)
    assert outcomes == [Outcome(number=1, done=True, took_s=down_s, down_s=down_s)]
    assert engine.observation().queries[0].state == "running" and len(engine.observation().executors) == executors
    assert record.seconds().replayed_rows.sum() == pytest.approx(replayed)
    (rescaled,) = record.rescales
    assert (rescaled.asked_s, rescaled.before, rescaled.after, rescaled.down_s) == (105.0, 4, executors, down_s)
    assert record.seconds().executors.tolist() == [4.0] * 105 + [float(executors)] * int(down_s)


def test_in_real_time_mode_executors_come_while_the_job_works_and_leave_by_a_stop_without_replay() -> None:
    engine = job(3500.0, replays=False, grows_live=True, up_s=20.0, down_s=5.0)
    engine.advance(105.0)
    grown = asked(engine, scale(8))
    record = lived(engine, 150.0)
    assert grown == [Outcome(number=1, done=True, took_s=20.0, down_s=None)] and record.seconds().down.sum() == 0.0
    shrunk = asked(engine, scale(4))
    record = lived(engine, 200.0)
    assert shrunk == [Outcome(number=1, done=True, took_s=5.0, down_s=5.0)] and record.seconds().down.sum() == 5.0
    assert record.seconds().replayed_rows.sum() == 0.0
    assert [each.down_s for each in record.rescales] == [None, 5.0]


def test_more_executors_carry_more_once_they_work() -> None:
    engine = job(99_999.0, grows_live=True, up_s=20.0)
    engine.advance(50.0)
    asked(engine, scale(8))
    assert lived(engine, 100.0).seconds().finished_rows[[10, 69, 70, 99]] == pytest.approx([4000.0, 4000.0, 8000.0, 8000.0])


def test_the_oldest_executors_stay_and_new_ones_are_new() -> None:
    engine = job(1000.0, up_s=0.0, down_s=0.0)
    names = []
    for at_s, executors in ((10.0, 2), (20.0, 4)):
        engine.advance(at_s)
        asked(engine, scale(executors))
        engine.advance(at_s + 1.0)
        names.append([each.executor_id for each in engine.observation().executors])
    assert names == [["1", "2"], ["1", "2", "5", "6"]]
    assert [each.added_s for each in engine.observation().executors] == [0.0, 0.0, 20.0, 20.0]


def test_a_failure_in_the_middle_of_a_rescale_delays_it() -> None:
    engine = job(1000.0, up_s=30.0, downtime_s=40.0, faults=(Fault(at_s=110.0),))
    engine.advance(100.0)
    outcomes = asked(engine, scale(6))
    record = lived(engine, 300.0)
    assert outcomes == [Outcome(number=1, done=True, took_s=50.0, down_s=50.0)]
    assert record.seconds().down.sum() == 50.0 and len(engine.observation().executors) == 6
    assert_nothing_is_lost(record)


def test_other_checkpoints_and_a_rate_limit_cost_a_restart() -> None:
    engine = job(3000.0, up_s=10.0)
    engine.advance(100.0)
    trigger = Trigger(kind="real_time", interval_s=30.0)
    outcomes = asked(engine, changing(2, "query", trigger=(Trigger(), trigger), rate_limit=(None, 2500.0)))
    record = lived(engine, 175.0)
    (query,) = engine.observation().queries
    assert outcomes == [Outcome(number=2, done=True, took_s=10.0, down_s=10.0)]
    assert (query.trigger, query.rate_limit_rows_per_s) == (trigger, 2500.0)
    assert [batch.committed_s for batch in query.batches][-2:] == [140.0, 170.0]
    assert record.seconds().finished_rows[-1] == pytest.approx(2500.0) and record.rescales == []


def test_what_it_refuses_it_says_why() -> None:
    engine = job(1000.0)
    engine.advance(10.0)
    real_time = Trigger(kind="real_time", interval_s=10.0)
    refused = [
        scale(0, before=4),
        changing(1, "other", trigger=(Trigger(), real_time)),
        changing(1, "query", trigger=(real_time, Trigger(interval_s=5.0))),
        changing(1, "query", partitions=(4, 8)),
    ]
    for instruction in refused:
        (outcome,) = asked(engine, instruction)
        assert not outcome.done and outcome.reason
    asked(engine, scale(6))
    (second,) = asked(engine, scale(5))
    assert not second.done and "already" in second.reason
    assert lived(engine, 60.0).seconds().executors[-1] == 6.0
