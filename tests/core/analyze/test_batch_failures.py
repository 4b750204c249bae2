"""Failures of micro-batches: the batch that is hit takes longer, and the next ones catch up."""

from __future__ import annotations

from dataclasses import replace

import pytest
from assessed import NOW_S, under
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.analyze.disturbances import by_laws, implied_delay_s, last_start_s, laws_of, outage_of
from penstock.core.domain.reading import BatchParts, QueryReading
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge.assessment import Assessment
from penstock.core.models.capacity.batch_law import BatchLaw, LikelyLaws
from penstock.core.models.estimate import Estimate
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.batch_recovery import recovery_by_batches_s

LAW = BatchLaw(overhead_s=1.0, row_s=0.001, partitions=1)
LAWS = LikelyLaws(best=LAW, drawn=(LAW,))
RATE = 500.0


def batched(since_commit_s: float | None, batch_s: float = 6.0) -> Assessment:
    """Every 10 s a batch of 6 s, the last of which committed so long ago."""
    seen = under(RATE, plant="micro_batch", batch_s=batch_s, batch_laws=LAWS)
    parts = BatchParts(total_s=batch_s)
    query = QueryReading(name="q", state="running", trigger=Trigger(interval_s=10.0), rate_limit_rows_per_s=None, since_commit_s=since_commit_s, batch=parts)
    return replace(seen, reading=replace(seen.reading, queries=(query,)))


@pytest.mark.parametrize(("ago_s", "started_ago_s"), [(1.0, 5.0), (4.5, 5.0), (5.5, 15.0), (9.5, 15.0), (14.0, 15.0)])
def test_the_last_batch_before_a_failure_is_found_by_the_last_commit(ago_s: float, started_ago_s: float) -> None:
    """Batches started 15 s and 5 s ago; that of 15 s ago committed 9 s ago."""
    assert last_start_s(batched(since_commit_s=9.0), NOW_S - ago_s) == pytest.approx(NOW_S - started_ago_s)


def test_a_failure_that_hits_no_batch_is_over_with_the_next() -> None:
    """The batch of 15 s ago would have ended 9 s ago, with a delay of 1 s 7.5 s ago; the next began 5 s ago and takes 6 s."""
    seen, second = batched(since_commit_s=9.0), Estimate(value=1.0, low=1.0, high=1.0)
    assert recovery(seen, NOW_S - 7.0, second).value == pytest.approx(8.0)
    assert recovery(seen, NOW_S - 8.0, second).value == pytest.approx(0.5)


def test_a_batch_that_hung_until_its_failure_was_noticed_begins_anew_with_what_came_meanwhile() -> None:
    """Nothing has committed for 29 s: the batch that hangs began 25 s ago, and 20 s later its executor counted as lost."""
    seen, failed_s = batched(since_commit_s=29.0), NOW_S - 5.0
    assert last_start_s(seen, failed_s) == pytest.approx(NOW_S - 25.0)
    outage = outage_of(seen, 1, failed_s, "executor_loss", lag_rows=20 * RATE)
    assert outage.at_s == failed_s and outage.uncommitted_s == pytest.approx(30.0) and outage.lag_rows == pytest.approx(0.0, abs=1e-6)


def test_without_a_commit_the_failure_itself_is_taken() -> None:
    assert last_start_s(batched(since_commit_s=None), NOW_S - 3.0) == NOW_S - 3.0
    assert last_start_s(under(RATE), NOW_S - 3.0) == NOW_S - 3.0


def recovery(seen: Assessment, failed_s: float, downtime: Estimate) -> Estimate:
    found = by_laws(LAWS, outage_of(seen, 1, failed_s, "executor_loss"), failed_s, downtime)(Arrivals.constant(RATE), failed_s)
    assert isinstance(found, Estimate)
    return found


def test_a_retried_task_lengthens_one_batch() -> None:
    """It began 5 s ago and was hit 2 s ago; 2 s late it takes 12 s of arrivals in 7 s, and ends 2 + 7 - 3 s after it was hit."""
    seen = batched(since_commit_s=9.0)
    found = recovery(seen, NOW_S - 2.0, Estimate(value=2.0, low=1.0, high=3.0))
    assert found.value == pytest.approx(6.0)
    assert found.low == pytest.approx(1.0 + 6.5 - 3.0) and found.high == pytest.approx(3.0 + 7.5 - 3.0)


def test_a_long_delay_takes_more_than_one_batch() -> None:
    """20 s late: 15,000 rows in 16 s, then 8,000 in 9 s."""
    exactly = Estimate(value=20.0, low=20.0, high=20.0)
    assert recovery(batched(since_commit_s=9.0), NOW_S - 5.0, exactly).value == pytest.approx(20.0 + 16.0 + 9.0)


def test_while_batches_were_of_one_size_half_of_one_is_taken_for_overhead() -> None:
    seen = batched(since_commit_s=9.0)
    (query,) = seen.reading.queries
    unknown = replace(seen, batch_laws=None, reading=replace(seen.reading, queries=(replace(query, throughput_rows_per_s=RATE),)))
    guessed = laws_of(unknown)
    assert guessed and guessed.best.duration_s(5000.0, 4) == pytest.approx(6.0) and guessed.best.overhead_s == pytest.approx(3.0)
    assert all(law.duration_s(5000.0, 4) == pytest.approx(6.0) for law in guessed.drawn)
    assert laws_of(seen) is LAWS and laws_of(replace(unknown, plant="continuous")) is None and laws_of(replace(seen, batch_laws=None)) is None


def test_a_query_that_died_begins_its_batch_anew() -> None:
    seen = batched(since_commit_s=9.0)
    outage = outage_of(seen, 1, NOW_S - 2.0, "query_restart")
    assert outage.at_s == NOW_S - 2.0 and outage.uncommitted_s == pytest.approx(13.0)


@given(delay_s=st.floats(0.0, 60.0), rate=st.floats(0.0, 700.0))
def test_a_recovery_tells_the_longest_delay_that_explains_it(delay_s: float, rate: float) -> None:
    arrivals, outage = Arrivals.constant(rate), outage_of(batched(since_commit_s=9.0), 1, NOW_S - 2.0, "executor_loss")
    recovered_s = outage.at_s + recovery_by_batches_s(LAW, arrivals, replace(outage, downtime_s=delay_s))
    implied_s = implied_delay_s(LAW, arrivals, outage, recovered_s)
    assert implied_s is not None and implied_s >= delay_s - 0.02
    assert outage.at_s + recovery_by_batches_s(LAW, arrivals, replace(outage, downtime_s=implied_s)) <= recovered_s


def test_a_recovery_that_came_too_soon_tells_nothing() -> None:
    outage = outage_of(batched(since_commit_s=9.0), 1, NOW_S - 2.0, "executor_loss")
    assert implied_delay_s(LAW, Arrivals.constant(RATE), outage, NOW_S - 1.0) is None
