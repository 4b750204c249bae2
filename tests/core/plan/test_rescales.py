"""The last rescale is remembered, whoever wanted it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from planned import knowing

from penstock.core.domain.autopilot import Mode
from penstock.core.domain.instruction import ChangeQuery, Outcome, ScaleExecutors
from penstock.core.domain.reading import QueryReading
from penstock.core.domain.trigger import Trigger
from penstock.core.plan.rescales import with_rescale, without_failed
from penstock.core.knowledge.steering import Rescale
from penstock.runtime.fakes import blank_reading

LAST = blank_reading(10.0, executors_running=2, executors_requested=3, throughput_rows_per_s=100.0)
RESCALE = Rescale(number=4, before=3, after=5, at_s=10.0)


@pytest.mark.parametrize(
    ("mode", "rescale", "rescaled_s"), [("observe", None, None), ("shadow", RESCALE, None), ("ask", RESCALE, 10.0), ("active", RESCALE, 10.0)]
)
def test_a_rescale_asked_for_is_remembered_where_there_is_a_policy(mode: Mode, rescale: Rescale | None, rescaled_s: float | None) -> None:
    after = with_rescale(knowing(mode, last=LAST), [ScaleExecutors(number=4, executors=5)], 10.0).steering
    assert (after.rescale, after.rescaled_s) == (rescale, rescaled_s)


def test_what_leaves_before_the_first_batch_is_no_rescale() -> None:
    knowledge = knowing(last=replace(LAST, throughput_rows_per_s=None))
    assert with_rescale(knowledge, [ScaleExecutors(number=4, executors=1)], 10.0) == knowledge


def test_a_query_with_nothing_to_read_does_not_hide_the_rescales_of_the_others() -> None:
    reads = QueryReading(name="a", state="running", trigger=Trigger(), rate_limit_rows_per_s=None, throughput_rows_per_s=100.0)
    never = replace(reads, name="b", throughput_rows_per_s=None)
    knowledge = knowing(last=replace(LAST, throughput_rows_per_s=None, queries=(reads, never)))
    assert with_rescale(knowledge, [ScaleExecutors(number=4, executors=5)], 10.0).steering.rescaled_s == 10.0


def test_executors_that_did_not_leave_were_not_given_away() -> None:
    for rescale, own_s in ((RESCALE, 10.0), (replace(RESCALE, after=1), None)):
        knowledge = knowing(last=LAST, rescale=rescale, own_scale_down_s=10.0, rescaled_s=10.0)
        after = without_failed(knowledge, [Outcome(number=4, done=False, took_s=1.0)]).steering
        assert (after.own_scale_down_s, after.rescaled_s) == (own_s, 10.0), "it is not tried again at once"


def test_a_change_of_a_query_is_no_rescale() -> None:
    knowledge = knowing(last=LAST)
    assert with_rescale(knowledge, [ChangeQuery(number=4, query="a", trigger=Trigger(), rate_limit_rows_per_s=None)], 10.0) == knowledge


def test_a_rescale_that_came_to_nothing_is_forgotten() -> None:
    knowledge = knowing(last=LAST, rescale=RESCALE)
    assert without_failed(knowledge, [Outcome(number=4, done=False, took_s=1.0)]).steering.rescale is None
    assert without_failed(knowledge, [Outcome(number=4, done=True, took_s=1.0), Outcome(number=3, done=False, took_s=1.0)]) == knowledge
