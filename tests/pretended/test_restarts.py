"""What goes wrong on the way of a stop or a restart is never the end of a query that nobody looks after."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from pretended_query import FAST, FLOWING, SLOW, Pretended
from py4j.protocol import Py4JJavaError, Py4JNetworkError
from waiting import wait_until

from penstock.core.config import Config
from penstock.core.domain.events.queries import QueryFailed, QueryGivenUp, QueryRestarted, QueryUnwatched
from penstock.core.errors import NotReachable, Refused
from penstock.spark.engine import stop_one
from penstock.spark.script_query import QueryHandle


def test_a_change_whose_stop_fails_is_refused_and_the_query_is_restarted_once_its_batch_is_over() -> None:
    pretended = Pretended()
    query, first = pretended.query, pretended.recipe.run
    first.begin_a_batch_that_cannot_be_interrupted()
    with pytest.raises(Refused, match=r"query q did not stop: .*failed to stop within"):
        query.change(FAST, commit_wait_s=0.05)
    assert query.state == "failed" and query.settings == SLOW
    pretended.look()
    pretended.look(after_s=5.0)
    assert pretended.recipe.runs == [first], "nothing is started beside a batch that still runs"
    first.end_the_batch()
    pretended.look()
    assert query.state == "running" and query.is_active and len(pretended.recipe.runs) == 2
    assert len(pretended.said(QueryFailed)) == len(pretended.said(QueryRestarted)) == 1


def test_a_query_whose_batch_never_ends_after_a_stop_is_given_up_clearly() -> None:
    pretended = Pretended()
    pretended.recipe.run.begin_a_batch_that_cannot_be_interrupted()
    with pytest.raises(Refused):
        pretended.query.change(FAST, commit_wait_s=0.05)
    for _ in range(10):
        pretended.look(after_s=Config().executors_timeout_s)
    assert pretended.query.state == "given up" and len(pretended.said(QueryGivenUp)) == 1


def test_a_checkpoint_that_goes_away_during_a_change_costs_a_restart_not_the_query() -> None:
    pretended = Pretended()
    pretended.checkpoint.away = True
    with pytest.raises(NotReachable, match="no answer"):
        pretended.query.change(FAST, commit_wait_s=0.05)
    assert pretended.query.state == "failed"
    pretended.look()
    pretended.checkpoint.away = False
    pretended.look()
    assert pretended.query.state == "running" and pretended.query.settings == SLOW


def test_a_restart_that_fails_while_the_checkpoint_is_away_is_tried_again() -> None:
    pretended = Pretended()
    pretended.recipe.run.fail("boom")
    pretended.checkpoint.away = True
    pretended.look()
    pretended.look()
    assert pretended.query.state == "failed" and [event.cause for event in pretended.said(QueryFailed)] == [
        "ValueError: boom",
        "hdfs://namenode/checkpoint: no answer",
    ]
    pretended.checkpoint.away = False
    pretended.look(after_s=60.0)
    assert pretended.query.state == "running"
    assert [event.replayed_rows for event in pretended.said(QueryRestarted)] == [None], "what nobody could count is unknown"


def test_what_the_supervisor_cannot_do_is_said_once_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pretended = Pretended()
    pretended.recipe.run.fail("boom")
    pretended.look()

    def confused(settings: Any) -> bool:
        raise KeyError("slots")

    with monkeypatch.context() as patch:
        patch.setattr(pretended.recipe, "ready", confused)
        pretended.look()
        pretended.look()
    assert [event.cause for event in pretended.said(QueryUnwatched)] == ["KeyError: 'slots'"]
    pretended.look()
    assert pretended.query.state == "running" and pretended.said(QueryRestarted)


def test_in_real_time_mode_a_query_is_down_until_its_tasks_read() -> None:
    pretended = Pretended(FLOWING, reads_after_s=2.0)
    pretended.recipe.run.fail("an executor was lost")
    pretended.look()
    pretended.look()
    pretended.look(after_s=1.0)
    assert pretended.query.state == "running" and not pretended.said(QueryRestarted)
    pretended.look(after_s=1.0)
    pretended.look(after_s=1.0)
    assert [(event.downtime_s, event.replayed_rows) for event in pretended.said(QueryRestarted)] == [(2.0, 40.0)]


def test_a_restart_whose_tasks_are_never_seen_to_read_is_said_after_a_while() -> None:
    pretended = Pretended(FLOWING, reads_after_s=1e6)
    pretended.recipe.run.fail("an executor was lost")
    pretended.look()
    pretended.look()
    pretended.look(after_s=Config().commit_wait_s)
    assert len(pretended.said(QueryRestarted)) == 1


def test_a_run_that_dies_before_it_reads_was_no_restart() -> None:
    pretended = Pretended(FLOWING, reads_after_s=5.0)
    for _ in range(2):
        pretended.recipe.run.fail("an executor was lost")
        pretended.look()
        pretended.look(after_s=1.0)
    assert len(pretended.recipe.runs) == 3 and not pretended.said(QueryRestarted)
    pretended.look(after_s=5.0)
    assert [event.attempt for event in pretended.said(QueryRestarted)] == [2]


def test_a_query_that_waits_is_stopped_between_batches_and_one_whose_checkpoint_is_away_not_surely() -> None:
    for away in (False, True):
        pretended = Pretended()
        pretended.checkpoint.away = away
        assert stop_one(pretended.query, 1.0, lambda: False) == (not away)
        assert pretended.query.state == "stopped" and pretended.query.settled.is_set()


def test_a_batch_that_outlasts_the_grace_time_and_the_stop_is_interrupted_not_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    stuck, dead = Pretended(), Pretended()
    stuck.recipe.run.begin_a_batch_that_cannot_be_interrupted()

    def nobody_there() -> None:
        raise Py4JNetworkError("an error occurred while trying to connect to the Java server")

    monkeypatch.setattr(dead.recipe.run, "stop", nobody_there)
    for pretended in (stuck, dead):
        assert not stop_one(pretended.query, 0.05, lambda: False)
        assert pretended.query.state == "stopped" and pretended.query.settled.is_set()
    assert not stop_one(stuck.query, 0.05, lambda: False), "it still runs"


def test_a_script_that_stops_such_a_batch_hears_sparks_error_and_is_done_with_the_query() -> None:
    pretended, ended = Pretended(), []
    pretended.recipe.run.begin_a_batch_that_cannot_be_interrupted()
    handle = QueryHandle(pretended.query, lambda: ended.append("once"))
    with pytest.raises(Py4JJavaError):
        handle.stop()
    assert ended == ["once"] and handle.awaitTermination(1) and not handle.isActive


def begin_to_change(pretended: Pretended, said: list[Exception]) -> threading.Thread:
    """Change the query in a thread of its own, while its batch runs."""

    def change() -> None:
        try:
            pretended.query.change(FAST, commit_wait_s=1.0)
        except Exception as error:
            said.append(error)

    pretended.recipe.run.in_batch = True
    changing = threading.Thread(target=change)
    changing.start()
    wait_until(lambda: pretended.query.state == "restarting")
    return changing


def test_a_stop_in_the_middle_of_a_change_gives_the_batch_the_grace_time() -> None:
    pretended, said = Pretended(), list[Exception]()
    changing = begin_to_change(pretended, said)
    pretended.query.close(30.0, lambda: False)
    changing.join(1.5)
    assert changing.is_alive() and pretended.recipe.run.isActive, "the batch goes on, longer than the change would have waited"
    pretended.recipe.run.end_the_batch()
    changing.join(5)
    assert ["is being stopped" in str(error) for error in said] == [True] and len(pretended.recipe.runs) == 1
    assert stop_one(pretended.query, 1.0, lambda: False), "no batch was interrupted"


def test_a_batch_that_outlasts_the_grace_time_in_the_middle_of_a_change_is_said_to_be_interrupted() -> None:
    for grace_s, at_once in ((0.0, False), (30.0, True)):
        pretended, said = Pretended(), list[Exception]()
        changing = begin_to_change(pretended, said)
        pretended.query.close(grace_s, lambda at_once=at_once: at_once)  # type: ignore[misc]
        changing.join(5)
        assert not changing.is_alive() and not pretended.recipe.run.isActive
        assert not stop_one(pretended.query, 1.0, lambda: False)
