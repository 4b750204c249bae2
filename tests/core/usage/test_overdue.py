"""While a long batch runs no task time is told: executors are as busy as the rows that wait make them, and no busier."""

from __future__ import annotations

from typing import Any

import pytest
from assessed import NOW_S
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.domain.reading import BatchParts, ExecutorReading, QueryReading, Reading
from penstock.core.domain.trigger import Trigger
from penstock.core.models.usage import ROW_S, overdue_busyness, overdue_s, row_costs
from penstock.runtime.fakes import blank_reading

COSTS = {f"{ROW_S}q": 0.001}
"""Of four slots each does 1,000 rows/s."""


def query(**known: Any) -> QueryReading:
    """Rows have waited for a minute, and nothing was committed since."""
    usual = {"name": "q", "state": "running", "trigger": Trigger(interval_s=5.0), "rate_limit_rows_per_s": None, "batch_id": 3}
    return QueryReading(**{**usual, "since_commit_s": 60.0, "lag_s": 65.0, "uptime_s": 3600.0, **known})


def reading(*queries: QueryReading) -> Reading:
    four = tuple(ExecutorReading(executor_id=str(number), host="a", slots=1, uptime_s=900.0, busyness=0.0) for number in range(4))
    return blank_reading(NOW_S, queries=queries, executors=four, executors_running=4, executors_requested=4)


def test_in_an_overload_they_are_all_busy() -> None:
    assert overdue_busyness(reading(query(excess_lag_rows=8000.0 * 60)), COSTS) == 1.0


@given(load=st.floats(0.05, 0.95), hung_s=st.floats(6.0, 600.0))
def test_when_a_batch_hangs_they_are_no_busier_than_the_arrivals_ask_for(load: float, hung_s: float) -> None:
    rate, batch_s = 4000.0 * load, 5.0 * load
    hangs = query(since_commit_s=hung_s, lag_s=hung_s + batch_s, excess_lag_rows=max(0.0, rate * (5.0 + hung_s) - rate * (5.0 + batch_s)))
    busy = overdue_busyness(reading(hangs), COSTS)
    assert busy is None or busy <= load + 1e-9


def test_a_batch_that_a_limit_keeps_short_explains_no_more_than_its_rows() -> None:
    limited = query(rate_limit_rows_per_s=2000.0, excess_lag_rows=1e9)
    assert overdue_busyness(reading(limited), COSTS) == pytest.approx(2000.0 * 5.0 * 0.001 / (4 * 60.0))


@pytest.mark.parametrize(
    "known",
    [
        {"excess_lag_rows": 0.0},
        {"excess_lag_rows": None},
        {"excess_lag_rows": 1e6, "since_commit_s": 4.0},
        {"excess_lag_rows": 1e6, "lag_s": 4.0},
        {"excess_lag_rows": 1e6, "since_commit_s": None},
        {"excess_lag_rows": 1e6, "uptime_s": 4.0},
        {"excess_lag_rows": 1e6, "trigger": Trigger(kind="real_time", interval_s=10.0)},
    ],
    ids=["nothing in excess", "excess unknown", "just committed", "rows just came", "never committed", "just restarted", "tasks run always"],
)
def test_nothing_is_said_where_no_batch_needs_to_be_running(known: dict[str, Any]) -> None:
    assert overdue_s(query(**known)) is None
    assert overdue_busyness(reading(query(**known)), COSTS) is None


def test_without_knowing_what_a_row_costs_nothing_is_said() -> None:
    assert overdue_busyness(reading(query(excess_lag_rows=1e6)), {}) is None


def test_other_queries_count_as_they_are_read() -> None:
    both = reading(query(excess_lag_rows=48_000.0), query(name="calm", since_commit_s=1.0, excess_lag_rows=0.0, busyness=0.3))
    assert overdue_busyness(both, COSTS) == pytest.approx(48.0 / 240.0 + 0.3)


def test_what_a_row_costs_is_remembered_while_nothing_commits_and_forgotten_with_its_query() -> None:
    told = row_costs(reading(query(batch=BatchParts(total_s=2.0), busyness=0.5, throughput_rows_per_s=2000.0)), {})
    assert told == {f"{ROW_S}q": pytest.approx(0.001)}
    assert row_costs(reading(query(busyness=0.0, throughput_rows_per_s=0.0)), told) == told
    assert row_costs(reading(query(name="another")), told) == {}
