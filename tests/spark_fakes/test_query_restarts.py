import threading
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError, Py4JNetworkError
from supervised_query import FAST, FLOWING, SLOW, SupervisedQuery
from waiting import wait_until

from penstock.core.config import Config
from penstock.core.domain.events.query_events import QueryFailed, QueryGivenUp, QueryRestarted, QueryUnwatched
from penstock.core.errors import NotReachable, Refused
from penstock.spark.script_query import QueryHandle
from penstock.spark.spark_engine import stop_one


def test_a_change_whose_stop_fails_is_refused_and_the_query_is_restarted_once_its_batch_is_over() -> None:
    supervised = SupervisedQuery()
    query, first = supervised.query, supervised.recipe.run
    first.begin_a_batch_that_cannot_be_interrupted()
    with pytest.raises(Refused, match=r"query q did not stop: .*failed to stop within"):
        query.change(FAST, commit_wait_s=0.05)
    assert query.state == "failed" and query.settings == SLOW
    supervised.look()
    supervised.look(after_s=5.0)
    assert supervised.recipe.runs == [first], "nothing is started beside a batch that still runs"
    first.end_the_batch()
    supervised.look()
    assert query.state == "running" and query.is_active and len(supervised.recipe.runs) == 2
    assert len(supervised.said(QueryFailed)) == len(supervised.said(QueryRestarted)) == 1


def test_a_query_whose_batch_never_ends_after_a_stop_is_given_up_clearly() -> None:
    supervised = SupervisedQuery()
    supervised.recipe.run.begin_a_batch_that_cannot_be_interrupted()
    with pytest.raises(Refused):
        supervised.query.change(FAST, commit_wait_s=0.05)
    for _ in range(10):
        supervised.look(after_s=Config().executors_timeout_s)
    assert supervised.query.state == "given up"
    (given_up,) = supervised.said(QueryGivenUp)
    assert given_up.words().startswith("query q is given up after 2 restarts (it failed 3 times in a row with the same error and without a commit): ")
    assert given_up.words().endswith("; rates, lag and capacity of the job are without it")


def test_a_checkpoint_that_goes_away_during_a_change_costs_a_restart_not_the_query() -> None:
    supervised = SupervisedQuery()
    supervised.checkpoint.away = True
    with pytest.raises(NotReachable, match="no answer"):
        supervised.query.change(FAST, commit_wait_s=0.05)
    assert supervised.query.state == "failed"
    supervised.look()
    supervised.checkpoint.away = False
    supervised.look()
    assert supervised.query.state == "running" and supervised.query.settings == SLOW


def test_a_restart_that_fails_while_the_checkpoint_is_away_is_tried_again() -> None:
    supervised = SupervisedQuery()
    supervised.recipe.run.fail("boom")
    supervised.checkpoint.away = True
    supervised.look()
    supervised.look()
    assert supervised.query.state == "failed"
    assert [event.cause for event in supervised.said(QueryFailed)] == ["ValueError: boom", "hdfs://namenode/checkpoint: no answer"]
    supervised.checkpoint.away = False
    supervised.look(after_s=60.0)
    assert supervised.query.state == "running"
    assert [event.replayed_rows for event in supervised.said(QueryRestarted)] == [None], "what could not be counted is unknown"


def test_what_the_supervisor_cannot_do_is_said_once_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    supervised = SupervisedQuery()
    supervised.recipe.run.fail("boom")
    supervised.look()

    def confused(settings: Any) -> bool:
        raise KeyError("slots")

    with monkeypatch.context() as patch:
        patch.setattr(supervised.recipe, "ready", confused)
        supervised.look()
        supervised.look()
    assert [event.cause for event in supervised.said(QueryUnwatched)] == ["KeyError: 'slots'"]
    supervised.look()
    assert supervised.query.state == "running" and supervised.said(QueryRestarted)


def test_in_real_time_mode_a_query_is_down_until_its_tasks_read() -> None:
    supervised = SupervisedQuery(FLOWING, reads_after_s=2.0)
    supervised.recipe.run.fail("an executor was lost")
    supervised.look()
    supervised.look()
    supervised.look(after_s=1.0)
    assert supervised.query.state == "running" and not supervised.said(QueryRestarted)
    supervised.look(after_s=1.0)
    supervised.look(after_s=1.0)
    assert [(event.downtime_s, event.replayed_rows) for event in supervised.said(QueryRestarted)] == [(2.0, 40.0)]


def test_a_restart_whose_tasks_are_never_seen_to_read_is_said_after_a_while() -> None:
    supervised = SupervisedQuery(FLOWING, reads_after_s=1e6)
    supervised.recipe.run.fail("an executor was lost")
    supervised.look()
    supervised.look()
    supervised.look(after_s=Config().commit_wait_s)
    assert len(supervised.said(QueryRestarted)) == 1


def test_a_run_that_dies_before_it_reads_was_no_restart() -> None:
    supervised = SupervisedQuery(FLOWING, reads_after_s=5.0)
    for _ in range(2):
        supervised.recipe.run.fail("an executor was lost")
        supervised.look()
        supervised.look(after_s=1.0)
    assert len(supervised.recipe.runs) == 3 and not supervised.said(QueryRestarted)
    supervised.look(after_s=5.0)
    assert [event.attempt for event in supervised.said(QueryRestarted)] == [2]


def test_a_query_that_waits_is_stopped_between_batches_and_one_whose_checkpoint_is_away_not_surely() -> None:
    for away in (False, True):
        supervised = SupervisedQuery()
        supervised.checkpoint.away = away
        assert stop_one(supervised.query, 1.0, lambda: False) == (not away)
        assert supervised.query.state == "stopped" and supervised.query.settled.is_set()


def test_a_batch_that_outlasts_the_grace_time_and_the_stop_is_interrupted_not_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    stuck, dead = SupervisedQuery(), SupervisedQuery()
    stuck.recipe.run.begin_a_batch_that_cannot_be_interrupted()

    def nobody_there() -> None:
        raise Py4JNetworkError("an error occurred while trying to connect to the Java server")

    monkeypatch.setattr(dead.recipe.run, "stop", nobody_there)
    for supervised in (stuck, dead):
        assert not stop_one(supervised.query, 0.05, lambda: False)
        assert supervised.query.state == "stopped" and supervised.query.settled.is_set()
    assert not stop_one(stuck.query, 0.05, lambda: False), "it still runs"


def test_a_script_that_stops_such_a_batch_hears_sparks_error_and_is_done_with_the_query() -> None:
    supervised, ended = SupervisedQuery(), []
    supervised.recipe.run.begin_a_batch_that_cannot_be_interrupted()
    handle = QueryHandle(supervised.query, lambda: ended.append("once"))
    with pytest.raises(Py4JJavaError):
        handle.stop()
    assert ended == ["once"] and handle.awaitTermination(1) and not handle.isActive


def begin_to_change(supervised: SupervisedQuery, said: list[Exception]) -> threading.Thread:
    """Change the query in a thread of its own, while its batch runs."""

    def change() -> None:
        try:
            supervised.query.change(FAST, commit_wait_s=1.0)
        except Exception as error:
            said.append(error)

    supervised.recipe.run.in_batch = True
    changing = threading.Thread(target=change)
    changing.start()
    wait_until(lambda: supervised.query.state == "restarting")
    return changing


def test_a_stop_in_the_middle_of_a_change_gives_the_batch_the_grace_time() -> None:
    supervised, said = SupervisedQuery(), list[Exception]()
    changing = begin_to_change(supervised, said)
    supervised.query.close(30.0, lambda: False)
    changing.join(1.5)
    assert changing.is_alive() and supervised.recipe.run.isActive, "the batch goes on, longer than the change would have waited"
    supervised.recipe.run.end_the_batch()
    changing.join(5)
    assert ["is being stopped" in str(error) for error in said] == [True] and len(supervised.recipe.runs) == 1
    assert stop_one(supervised.query, 1.0, lambda: False), "no batch was interrupted"


def test_a_batch_that_outlasts_the_grace_time_in_the_middle_of_a_change_is_said_to_be_interrupted() -> None:
    for grace_s, at_once in ((0.0, False), (30.0, True)):
        supervised, said = SupervisedQuery(), list[Exception]()
        changing = begin_to_change(supervised, said)
        supervised.query.close(grace_s, lambda at_once=at_once: at_once)  # type: ignore[misc]
        changing.join(5)
        assert not changing.is_alive() and not supervised.recipe.run.isActive
        assert not stop_one(supervised.query, 1.0, lambda: False)
