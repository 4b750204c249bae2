from typing import Any

import pytest
from assessed import NOW_S, assessed
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.analyze.learn import executor_uses
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.reading import BatchParts, ExecutorReading, QueryReading, Reading
from penstock.core.domain.trigger import Trigger
from penstock.core.models.usage import cadence_of_job, is_stalled, overdue_busyness, overdue_s, presence, row_costs
from penstock.core.policies.hpa import Hpa
from penstock.core.policies.spark_dra import SparkDra
from penstock.runtime.fakes import blank_reading


def reading(*queries: QueryReading) -> Reading:
    four = tuple(ExecutorReading(executor_id=str(number), host="a", slots=1, uptime_s=900.0, throughput_rows_per_s=0.0, busyness=0.0) for number in range(4))
    return blank_reading(NOW_S, queries=queries, executors=four, executors_running=4, executors_requested=4)


def query(**known: Any) -> QueryReading:
    """Rows have waited for a minute, and nothing was committed since."""
    usual = {"name": "q", "state": "running", "trigger": Trigger(interval_s=5.0), "rate_limit_rows_per_s": None, "batch_id": 3}
    return QueryReading(**{**usual, "since_commit_s": 60.0, "lag_s": 65.0, "uptime_s": 3600.0, **known})


def stalled(**known: Any) -> Reading:
    """Rows wait, the last commit is long ago, and the executors seem to do nothing."""
    return reading(query(**{"lag_rows": 9000.0, "batches": 0, **known}))


@pytest.mark.parametrize(
    ("known", "is_one"),
    [
        ({}, True),
        ({"lag_rows": 0.0}, False),
        ({"lag_rows": None}, False),
        ({"batch_id": None}, False),
        ({"batch": BatchParts(total_s=4.0)}, False),
        ({"trigger": Trigger(kind="real_time", interval_s=10.0)}, False),
    ],
)
def test_a_stall_is_a_batch_that_does_not_end_while_rows_wait(known: dict[str, Any], is_one: bool) -> None:
    assert is_stalled(stalled(**known)) == is_one


def test_no_policy_removes_executors_because_a_batch_is_long() -> None:
    seen = assessed(plant="micro_batch", reading=stalled(), batch_s=None)
    assert Hpa().decide(seen).executors == 4 == SparkDra().decide(seen).executors
    idle = assessed(plant="micro_batch", reading=stalled(lag_rows=0.0))
    assert Hpa(stable_down_s=0.0).decide(idle).executors < 4, "an idle job is another matter"


def test_the_longest_batch_is_that_of_the_setting_without_a_promise_also_before_there_is_a_query() -> None:
    for seen in (reading(), reading(query())):
        assert cadence_of_job(seen, Promises(), 25.0).longest_s == 25.0
        assert cadence_of_job(seen, Promises(), 0.0).longest_s == 10.0
        assert cadence_of_job(seen, Promises(latency_p95_s=39.0), 25.0).longest_s == 20.0


def test_a_stall_teaches_no_capacity() -> None:
    assert executor_uses(stalled(), Autopilot()) is None
    assert executor_uses(stalled(lag_rows=0.0), Autopilot()) is not None


COSTS = {"q": 0.001}
"""Of four slots each does 1,000 rows/s."""


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
    costs = row_costs(reading(query(batch=BatchParts(total_s=2.0), busyness=0.5, throughput_rows_per_s=2000.0)), {})
    assert costs == {"q": pytest.approx(0.001)}
    assert row_costs(reading(query(busyness=0.0, throughput_rows_per_s=0.0)), costs) == costs
    assert row_costs(reading(query(name="another")), costs) == {}


def of_batch(**known: Any) -> Reading:
    """One batch of 100 s, which committed 20 s ago."""
    return reading(query(**{"batches": 1, "busyness": 0.9, "batch": BatchParts(total_s=100.0), "since_commit_s": 20.0, "lag_rows": 9000.0, **known}))


def one(uptime_s: float) -> ExecutorReading:
    return ExecutorReading(executor_id="1", host="a", slots=1, uptime_s=uptime_s, busyness=0.5)


@pytest.mark.parametrize(("uptime_s", "share"), [(600.0, 1.0), (120.0, 1.0), (70.0, 0.5), (20.0, 0.0), (5.0, 0.0)])
def test_it_is_the_share_of_the_window_since_it_came_which_ends_now_where_nothing_waits(uptime_s: float, share: float) -> None:
    assert presence(one(uptime_s), of_batch()) == pytest.approx(share)
    assert presence(one(50.0), of_batch(lag_rows=0.0)) == pytest.approx(0.5)


def test_of_several_queries_the_busier_counts_for_more() -> None:
    long, short = of_batch(busyness=0.6).queries[0], of_batch(name="short", busyness=0.2, batch=BatchParts(total_s=2.0), since_commit_s=1.0).queries[0]
    assert presence(one(70.0), blank_reading(NOW_S, queries=(long, short))) == pytest.approx((0.6 * 0.5 + 0.2 * 1.0) / 0.8)


@given(uptime_s=st.floats(0.0, 1e4))
def test_without_a_known_batch_every_executor_was_present(uptime_s: float) -> None:
    for nothing in (blank_reading(NOW_S), of_batch(batch=None, batches=0), of_batch(busyness=None)):
        assert presence(one(uptime_s), nothing) == 1.0
