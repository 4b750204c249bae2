"""What a continuous job does with instructions, and what they cost it."""

from __future__ import annotations

import pytest
from simulated_job import asked, assert_nothing_is_lost, job, lived, scale

from penstock.core.domain.instruction import ChangeQuery, Outcome
from penstock.core.domain.trigger import Trigger
from penstock.simulator.ground_truth import Fault


@pytest.mark.parametrize(("size", "down_s", "replayed"), [(6, 30.0, 5000.0), (2, 15.0, 5000.0)])
def test_a_rescale_in_reactive_mode_stops_the_job_and_goes_back_to_the_checkpoint(size: int, down_s: float, replayed: float) -> None:
    engine = job(1000.0, interval_s=10.0)
    engine.advance(105.0)
    outcomes = asked(engine, scale(size))
    engine.advance(105.0 + down_s - 1.0)
    assert not outcomes and engine.observation().queries[0].state == "restarting"
    assert engine.observation().executors_requested == size and len(engine.observation().executors) == 4
    record = lived(engine, 105.0 + down_s)
    assert outcomes == [Outcome(number=1, done=True, took_s=down_s, down_s=down_s)]
    assert engine.observation().queries[0].state == "running" and len(engine.observation().executors) == size
    assert record.seconds().replayed_rows.sum() == pytest.approx(replayed)
    (rescaled,) = record.rescales
    assert (rescaled.asked_s, rescaled.before, rescaled.after, rescaled.down_s) == (105.0, 4, size, down_s)
    assert record.seconds().workers.tolist() == [4.0] * 105 + [float(size)] * int(down_s)


def test_in_real_time_mode_workers_come_while_the_job_works_and_leave_by_a_stop_without_replay() -> None:
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


def test_more_workers_carry_more_once_they_work() -> None:
    engine = job(99_999.0, grows_live=True, up_s=20.0)
    engine.advance(50.0)
    asked(engine, scale(8))
    seen = lived(engine, 100.0).seconds()
    assert seen.finished_rows[[10, 69, 70, 99]] == pytest.approx([4000.0, 4000.0, 8000.0, 8000.0])


def test_the_oldest_workers_stay_and_new_ones_are_new() -> None:
    engine = job(1000.0, up_s=0.0, down_s=0.0)
    names = []
    for at_s, size in ((10.0, 2), (20.0, 4)):
        engine.advance(at_s)
        asked(engine, scale(size))
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
    change = ChangeQuery(number=2, query="query", trigger=Trigger(kind="real_time", interval_s=30.0), rate_limit_rows_per_s=2500.0)
    outcomes = asked(engine, change)
    record = lived(engine, 175.0)
    (query,) = engine.observation().queries
    assert outcomes == [Outcome(number=2, done=True, took_s=10.0, down_s=10.0)]
    assert (query.trigger, query.rate_limit_rows_per_s) == (change.trigger, 2500.0)
    assert [batch.committed_s for batch in query.batches][-2:] == [140.0, 170.0]
    assert record.seconds().finished_rows[-1] == pytest.approx(2500.0) and record.rescales == []


def test_what_it_refuses_it_says_why() -> None:
    engine = job(1000.0)
    engine.advance(10.0)
    real_time = Trigger(kind="real_time", interval_s=10.0)
    refused = [
        scale(0),
        ChangeQuery(number=1, query="other", trigger=real_time, rate_limit_rows_per_s=None),
        ChangeQuery(number=1, query="query", trigger=Trigger(interval_s=5.0), rate_limit_rows_per_s=None),
        ChangeQuery(number=1, query="query", trigger=real_time, rate_limit_rows_per_s=None, partitions=8),
    ]
    for instruction in refused:
        (outcome,) = asked(engine, instruction)
        assert not outcome.done and outcome.reason
    asked(engine, scale(6))
    (second,) = asked(engine, scale(5))
    assert not second.done and "already" in second.reason
    assert lived(engine, 60.0).seconds().workers[-1] == 6.0
