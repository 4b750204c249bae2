from dataclasses import replace
from itertools import pairwise

import pytest
from changes import changing, scaling
from simulated_job import ON_SPARK, batches, engine, scaled

from penstock.core.domain.fault import Fault
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.domain.trigger import Trigger
from penstock.core.monitor.facts import BatchFact
from penstock.simulator.engine_settings import MicroBatchSettings


def test_new_executors_come_live_warm_up_and_are_reported_when_all_are_there() -> None:
    running = engine(ON_SPARK, 1000.0, 2)
    before, outcomes = batches(running, 31.0), scaled(running, 31.0, 6, number=7)
    running.advance(32.0)
    assert (running.observation().executors_requested, len(running.observation().executors)) == (6, 2)
    after = batches(running, 120.0)
    (outcome,) = outcomes
    assert (outcome.number, outcome.done, outcome.down_s) == (7, True, None)
    assert 4.5 <= outcome.took_s <= 5.5
    (rescaled,) = running.record.rescales
    assert (rescaled.before, rescaled.after, rescaled.done_s) == (2, 6, 31.0 + outcome.took_s)
    slowness = [batch.duration_s / ON_SPARK.law.duration_s(batch.rows, 6) for batch in after if batch.started_s >= rescaled.done_s]
    assert slowness[0] > 1.5
    assert all(later < sooner for sooner, later in pairwise(slowness))
    assert slowness[-1] == pytest.approx(1.0, abs=0.01)
    assert before[-1].duration_s == pytest.approx(ON_SPARK.law.duration_s(3000.0, 2))


def test_surplus_executors_leave_between_two_batches() -> None:
    running = engine(ON_SPARK, 1000.0, 4)
    outcomes = scaled(running, 60.5, 2)
    running.advance(61.0)
    assert len(running.observation().executors) == 4
    commit_s = 60.0 + ON_SPARK.law.duration_s(3000.0, 4)
    running.advance(commit_s + 0.01)
    assert len(running.observation().executors) == 2
    running.advance(90.0)
    (outcome,) = outcomes
    assert outcome.took_s == pytest.approx(commit_s + 5.0 - 60.5)


def test_executors_are_paid_until_they_are_gone() -> None:
    running = engine(ON_SPARK, 1000.0, 4)
    scaled(running, 60.5, 2)
    running.advance(90.0)
    gone_s = 60.0 + ON_SPARK.law.duration_s(3000.0, 4) + ON_SPARK.down_s
    paid = running.record.seconds().executors
    assert set(paid[: int(gone_s) + 1]) == {4.0} and set(paid[int(gone_s) + 1 :]) == {2.0}


def test_surplus_executors_that_find_no_gap_cost_their_tasks() -> None:
    job = MicroBatchSettings(overhead_s=1.0, row_s=0.01, partitions=4, trigger=Trigger(interval_s=20.0))
    kept, torn = engine(job, 120.0, 4), engine(job, 120.0, 4)
    scaled(torn, 41.0, 2)
    whole, longer = (next(batch for batch in batches(each, 200.0) if batch.started_s == 40.0) for each in (kept, torn))
    assert whole.duration_s == pytest.approx(7.0)
    assert longer.duration_s == pytest.approx(7.0), "the gap came in time"
    torn = engine(replace(job, row_s=0.05, gap_wait_s=5.0), 120.0, 4)
    scaled(torn, 21.0, 2)
    (first, *_) = batches(torn, 200.0)
    assert first.duration_s == pytest.approx(1.0 + 30.0 + 30.0 * 2 / 2)


def test_a_query_changes_after_its_commit_and_is_down_for_a_moment() -> None:
    running, outcomes = engine(ON_SPARK, 1000.0, 4), list[Outcome]()
    running.advance(60.5)
    change = changing(3, "query", trigger=(ON_SPARK.trigger, Trigger(interval_s=6.0)), rate_limit=(None, 900.0), partitions=(12, 8))
    running.perform(change, outcomes.append)
    done = batches(running, 90.0)
    commit_s = 60.0 + ON_SPARK.law.duration_s(3000.0, 4)
    (outcome,) = outcomes
    assert outcome.down_s == pytest.approx(0.5) and outcome.delayed_rows == pytest.approx(500.0)
    assert outcome.took_s == pytest.approx(commit_s + 0.5 - 60.5)
    (query,) = running.observation().queries
    assert (query.trigger, query.rate_limit_rows_per_s, query.partitions, query.state) == (Trigger(interval_s=6.0), 900.0, 8, "running")
    assert query.started_s == pytest.approx(commit_s + 0.5)
    assert done[-1].rows == pytest.approx(5400.0)
    assert running.record.seconds().down.sum() == pytest.approx(0.5)


@pytest.mark.parametrize(
    "instruction",
    [
        scaling(9, 2, 0),
        changing(9, "another", trigger=(ON_SPARK.trigger, Trigger(interval_s=1.0))),
        changing(9, "query", trigger=(ON_SPARK.trigger, Trigger.parse("realtime:10s"))),
    ],
    ids=["no executor", "no such query", "another mode"],
)
def test_what_cannot_be_is_refused_at_once(instruction: Instruction) -> None:
    running, outcomes = engine(ON_SPARK, 100.0, 2), list[Outcome]()
    running.perform(instruction, outcomes.append)
    assert [(outcome.number, outcome.done) for outcome in outcomes] == [(9, False)]
    assert outcomes[0].reason


def test_a_second_rescale_is_refused_while_the_first_is_under_way() -> None:
    running = engine(ON_SPARK, 100.0, 2)
    first, second = scaled(running, 0.0, 3), scaled(running, 0.0, 4)
    assert [outcome.done for outcome in second] == [False] and not first
    running.advance(20.0)
    assert [outcome.done for outcome in first] == [True]


LONG = MicroBatchSettings(overhead_s=1.0, row_s=0.01, partitions=12, trigger=Trigger(interval_s=60.0), up_s=10.0, up_spread=0.0, warm_up_factor=0.0)


def first_batch(job: MicroBatchSettings, asked_s: float, executors: int) -> BatchFact:
    """The first batch: 12 tasks of 5 s each on two executors, from 61 s to 91 s."""
    running = engine(job, 100.0, 2)
    scaled(running, asked_s, executors)
    return batches(running, 119.0)[0]


def test_new_executors_take_the_tasks_of_the_running_batch_that_still_wait() -> None:
    """Two more come at 72 s, when six tasks have begun: they take four of the six that wait, and the others two from 76 s on."""
    batch = first_batch(LONG, 62.0, 4)
    assert batch.committed_s == pytest.approx(82.0)
    tasks = {share.executor_id: round(12 * share.task_time_s / (0.7 * 60.0)) for share in batch.stages[0].shares}
    assert tasks == {"1": 4, "2": 4, "3": 2, "4": 2}
    assert sum(stage.run_time_s for stage in batch.stages) == pytest.approx(60.0)


def test_executors_that_come_for_the_last_wave_or_warm_up_help_a_running_batch_less() -> None:
    batch = first_batch(LONG, 78.0, 4)
    assert batch.committed_s == pytest.approx(91.0)
    assert [share.executor_id for share in batch.stages[0].shares] == ["1", "2"]
    assert 82.0 < first_batch(replace(LONG, warm_up_factor=2.0), 62.0, 4).committed_s < 91.0


@pytest.mark.parametrize(
    ("job", "asked_s", "executors", "committed_s"),
    [
        pytest.param(LONG, 50.5, 6, 61.0 + 10.0, id="executors that come before the tasks start have the whole batch"),
        pytest.param(replace(LONG, sink_s_per_row=0.002), 62.0, 4, 82.0 + 0.002 * 6000.0, id="new executors do not share a slow sink"),
        pytest.param(replace(LONG, first_task_s=20.0), 62.0, 4, 72.0 + 20.0 + 5.0, id="a batch waits for the first task of a new executor"),
    ],
)
def test_new_executors_change_the_end_of_a_batch(job: MicroBatchSettings, asked_s: float, executors: int, committed_s: float) -> None:
    assert first_batch(job, asked_s, executors).committed_s == pytest.approx(committed_s)


def test_a_new_executor_has_its_first_task_in_the_next_batch_and_a_batch_without_any_waits_for_it() -> None:
    running = engine(replace(LONG, first_task_s=20.0), 100.0, 2)
    scaled(running, 78.0, 4)
    assert [batch.committed_s for batch in batches(running, 239.0)] == pytest.approx([91.0, 121.0 + 20.0 + 5.0, 180.0 + 16.0])
    crash = (Fault(at_s=65.0),)
    alone = [batches(engine(replace(LONG, first_task_s=seconds), 100.0, 1, faults=crash), 200.0)[0].committed_s for seconds in (0.0, 20.0)]
    assert alone[1] - alone[0] == pytest.approx(20.0)
