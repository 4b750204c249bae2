"""An executor that came late is judged over the time that it was there for."""

from __future__ import annotations

from typing import Any

import pytest
from assessed import NOW_S
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.domain.reading import BatchParts, ExecutorReading, QueryReading, Reading
from penstock.core.domain.trigger import Trigger
from penstock.core.models.usage import presence
from penstock.runtime.fakes import blank_reading


def one(uptime_s: float) -> ExecutorReading:
    return ExecutorReading(executor_id="1", host="a", slots=1, uptime_s=uptime_s, busyness=0.5)


def reading(**known: Any) -> Reading:
    """One batch of 100 s, which committed 20 s ago."""
    usual = {"name": "q", "state": "running", "trigger": Trigger(interval_s=5.0), "rate_limit_rows_per_s": None, "batches": 1, "busyness": 0.9}
    query = QueryReading(**{**usual, "batch": BatchParts(total_s=100.0), "since_commit_s": 20.0, "lag_rows": 9000.0, **known})
    return blank_reading(NOW_S, queries=(query,))


@pytest.mark.parametrize(("uptime_s", "share"), [(600.0, 1.0), (120.0, 1.0), (70.0, 0.5), (20.0, 0.0), (5.0, 0.0)])
def test_it_is_the_share_of_the_window_since_it_came(uptime_s: float, share: float) -> None:
    assert presence(one(uptime_s), reading()) == pytest.approx(share)


def test_a_window_ends_now_where_nothing_waits() -> None:
    assert presence(one(50.0), reading(lag_rows=0.0)) == pytest.approx(0.5)


def test_of_several_queries_the_busier_counts_for_more() -> None:
    long, short = reading(busyness=0.6).queries[0], reading(name="short", busyness=0.2, batch=BatchParts(total_s=2.0), since_commit_s=1.0).queries[0]
    assert presence(one(70.0), blank_reading(NOW_S, queries=(long, short))) == pytest.approx((0.6 * 0.5 + 0.2 * 1.0) / 0.8)


@given(uptime_s=st.floats(0.0, 1e4))
def test_where_no_batch_is_told_everybody_was_there(uptime_s: float) -> None:
    for nothing in (blank_reading(NOW_S), reading(batch=None, batches=0), reading(busyness=None)):
        assert presence(one(uptime_s), nothing) == 1.0
