"""Executors and settings that change while a simulated job in micro-batches runs."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from simulated_batches import ON_SPARK, batches, engine

from penstock.core.domain.instruction import ChangeQuery, Outcome, ScaleExecutors
from penstock.core.domain.trigger import Trigger
from penstock.simulator.microbatch_settings import MicroBatchSettings


def test_new_executors_come_live_warm_up_and_are_told_of_when_all_are_there() -> None:
    running, outcomes = engine(ON_SPARK, 1000.0, 2), list[Outcome]()
    before = batches(running, 31.0)
    running.perform(ScaleExecutors(number=7, executors=6), outcomes.append)
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
    running, outcomes = engine(ON_SPARK, 1000.0, 4), list[Outcome]()
    running.advance(60.5)
    running.perform(ScaleExecutors(number=1, executors=2), outcomes.append)
    running.advance(61.0)
    assert len(running.observation().executors) == 4
    commit_s = 60.0 + ON_SPARK.law.duration_s(3000.0, 4)
    running.advance(commit_s + 0.01)
    assert len(running.observation().executors) == 2
    running.advance(90.0)
    (outcome,) = outcomes
    assert outcome.took_s == pytest.approx(commit_s + 5.0 - 60.5)
    assert running.record.seconds().workers[-1] == 2.0


def test_surplus_executors_that_find_no_gap_cost_their_tasks() -> None:
    job = MicroBatchSettings(overhead_s=1.0, row_s=0.01, partitions=4, trigger=Trigger(interval_s=20.0))
    kept, torn = engine(job, 120.0, 4), engine(job, 120.0, 4)
    torn.advance(41.0)
    torn.perform(ScaleExecutors(number=1, executors=2), lambda outcome: None)
    whole, longer = (next(batch for batch in batches(each, 200.0) if batch.started_s == 40.0) for each in (kept, torn))
    assert whole.duration_s == pytest.approx(7.0)
    assert longer.duration_s == pytest.approx(7.0), "the gap came in time"
    slow = replace(job, row_s=0.05, gap_wait_s=5.0)
    torn = engine(slow, 120.0, 4)
    torn.advance(21.0)
    torn.perform(ScaleExecutors(number=1, executors=2), lambda outcome: None)
    (first, *_) = batches(torn, 200.0)
    assert first.duration_s == pytest.approx(1.0 + 30.0 + 30.0 * 2 / 2)


def test_a_query_changes_after_its_commit_and_is_down_for_a_moment() -> None:
    running, outcomes = engine(ON_SPARK, 1000.0, 4), list[Outcome]()
    running.advance(60.5)
    change = ChangeQuery(number=3, query="query", trigger=Trigger(interval_s=6.0), rate_limit_rows_per_s=900.0, partitions=8)
    running.perform(change, outcomes.append)
    done = batches(running, 90.0)
    commit_s = 60.0 + ON_SPARK.law.duration_s(3000.0, 4)
    (outcome,) = outcomes
    assert outcome.down_s == pytest.approx(0.5)
    assert outcome.delayed_rows == pytest.approx(500.0)
    assert outcome.took_s == pytest.approx(commit_s + 0.5 - 60.5)
    (query,) = running.observation().queries
    assert (query.trigger, query.rate_limit_rows_per_s, query.partitions, query.state) == (change.trigger, 900.0, 8, "running")
    assert query.started_s == pytest.approx(commit_s + 0.5)
    assert done[-1].rows == pytest.approx(5400.0)
    assert running.record.seconds().down.sum() == pytest.approx(0.5)


@pytest.mark.parametrize(
    "instruction",
    [
        ScaleExecutors(number=9, executors=0),
        ChangeQuery(number=9, query="another", trigger=Trigger(interval_s=1.0), rate_limit_rows_per_s=None),
        ChangeQuery(number=9, query="query", trigger=Trigger.parse("realtime:10s"), rate_limit_rows_per_s=None),
    ],
    ids=["no executor", "no such query", "another mode"],
)
def test_what_cannot_be_is_refused_at_once(instruction: ScaleExecutors | ChangeQuery) -> None:
    running, outcomes = engine(ON_SPARK, 100.0, 2), list[Outcome]()
    running.perform(instruction, outcomes.append)
    assert [(outcome.number, outcome.done) for outcome in outcomes] == [(9, False)]
    assert outcomes[0].reason


def test_a_second_size_is_refused_while_the_first_is_under_way() -> None:
    running, outcomes = engine(ON_SPARK, 100.0, 2), list[Outcome]()
    running.perform(ScaleExecutors(number=1, executors=3), outcomes.append)
    running.perform(ScaleExecutors(number=2, executors=4), outcomes.append)
    running.advance(20.0)
    assert [(outcome.number, outcome.done) for outcome in outcomes] == [(2, False), (1, True)]
