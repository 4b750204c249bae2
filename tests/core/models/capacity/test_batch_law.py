import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import LAWS, filling

from penstock.core.domain.cadence import Cadence, cadence_of
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.trigger import Trigger
from penstock.core.models.capacity.batch_law import MARGIN, BatchLaw, LawColumns, LikelyLaws, capacities_by_laws, least_alike, waves

FREE_LAWS = st.builds(
    BatchLaw, overhead_s=st.floats(0.01, 5.0), row_s=st.floats(1e-6, 1e-2), partitions=st.integers(1, 60), cores_per_executor=st.integers(1, 8),
    skew=st.floats(1.0, 4.0),
)  # fmt: skip
EXECUTORS = st.integers(1, 40)


@given(FREE_LAWS, st.floats(0, 1e6), st.floats(0, 1e6), EXECUTORS, EXECUTORS)
def test_more_rows_never_take_a_shorter_time_and_more_executors_never_take_longer(law: BatchLaw, some: float, more: float, few: int, added: int) -> None:
    assert law.duration_s(some, few + added) <= law.duration_s(some, few) <= law.duration_s(some + more, few)


CADENCES = st.builds(Cadence, interval_s=st.sampled_from([0.0, 0.5, 5.0, 30.0]), longest_s=st.floats(0.1, 60.0))


@given(FREE_LAWS, EXECUTORS, EXECUTORS, CADENCES, st.floats(0.0, 60.0))
def test_more_executors_or_longer_batches_never_carry_less_and_never_more_than_is_saturated(
    law: BatchLaw, few: int, added: int, cadence: Cadence, longer_s: float
) -> None:
    carried = law.capacity_rows_per_s(few, cadence)
    assert carried <= law.capacity_rows_per_s(few + added, cadence) and carried <= law.saturated_rows_per_s(few, cadence.interval_s) * (1 + 1e-12)
    if cadence.longest_s > law.overhead_s:
        assert carried <= law.capacity_rows_per_s(few, replace(cadence, longest_s=cadence.longest_s + longer_s)) * (1 + 1e-12)


@given(FREE_LAWS, EXECUTORS, CADENCES)
def test_at_capacity_batches_settle_at_the_longest_time_allowed(law: BatchLaw, executors: int, cadence: Cadence) -> None:
    rate = law.capacity_rows_per_s(executors, cadence)
    settled_s = float(LawColumns.of([law]).settled_s(rate, cadence.interval_s, np.array([executors]))[0, 0])
    if cadence.longest_s > 1.001 * law.overhead_s:
        assert settled_s == pytest.approx(cadence.longest_s, rel=1e-4)
        assert law.duration_s(rate * cadence.cycle_s, executors) == pytest.approx(cadence.longest_s, rel=1e-6)
    elif cadence.longest_s <= law.overhead_s:
        assert rate == pytest.approx(MARGIN * law.saturated_rows_per_s(executors, cadence.interval_s))
        assert settled_s < math.inf, "no rate keeps the promise, but the job keeps up"


def test_the_demonstration_on_a_busy_machine_carries_what_it_was_seen_to_carry() -> None:
    """Trigger 2 s, promised p95 8 s, an overhead of 2.2 s and 0.39 ms a row on four executors: a batch that fits the trigger would carry nothing."""
    law, cadence = BatchLaw(overhead_s=2.2, row_s=0.00156, partitions=4), cadence_of(Trigger(interval_s=2.0), Promises(latency_p95_s=8.0))
    assert law.capacity_rows_per_s(4, cadence) == pytest.approx(1189, rel=0.01) and law.saturated_rows_per_s(4, 2.0) == pytest.approx(2564, rel=0.01)


@given(FREE_LAWS, st.floats(1, 1e6), EXECUTORS, EXECUTORS)
def test_two_numbers_of_executors_tie_exactly_if_their_waves_are_equal(law: BatchLaw, rows: float, one: int, other: int) -> None:
    assert (law.waves(one) == law.waves(other)) == (law.capacity_rows_per_s(one, filling(10.0)) == law.capacity_rows_per_s(other, filling(10.0)))
    if law.waves(one) == law.waves(other):
        assert law.duration_s(rows, one) == law.duration_s(rows, other)


@given(FREE_LAWS, EXECUTORS, st.floats(6.0, 60.0))
def test_where_batches_may_fill_the_interval_one_of_its_arrivals_at_capacity_does(law: BatchLaw, executors: int, interval_s: float) -> None:
    rows = law.capacity_rows_per_s(executors, filling(interval_s)) * interval_s
    assert law.duration_s(rows, executors) == pytest.approx(interval_s)


@pytest.mark.parametrize(
    ("known", "interval_s", "longest_s", "capacity"),
    [
        pytest.param({"overhead_s": 2.0}, 1.0, 1.5, 800.0, id="no batch is short enough for the promise"),
        pytest.param({"overhead_s": 2.0}, 1.0, 4.0, 500.0, id="a trigger shorter than the overhead"),
        pytest.param({}, 0.0, 10.0, 900.0, id="as soon as possible"),
        pytest.param({}, 10.0, 10.0, 900.0, id="batches that may fill the interval"),
        pytest.param({}, 10.0, 5.0, 400.0, id="a promise tighter than the trigger"),
        pytest.param({"limit_rows": 2000.0}, 10.0, 10.0, 200.0, id="a limit that an interval reaches"),
        pytest.param({"limit_rows": 1000.0}, 1.0, 10.0, 500.0, id="a limit whose batches outlast the interval"),
        pytest.param({"limit_rows": 50_000.0}, 10.0, 10.0, 900.0, id="a limit beyond the longest batch"),
        pytest.param({"row_s": 0.0}, 10.0, 10.0, math.inf, id="rows that cost nothing"),
        pytest.param({"row_s": 0.0, "limit_rows": 50.0}, 10.0, 10.0, 5.0, id="rows that cost nothing under a limit"),
    ],
)
def test_the_capacity_is_that_of_the_longest_batch_allowed_under_the_limit(
    known: dict[str, float], interval_s: float, longest_s: float, capacity: float
) -> None:
    law = BatchLaw(**{"overhead_s": 1.0, "row_s": 0.001, "partitions": 1, **known})
    assert law.capacity_rows_per_s(1, Cadence(interval_s=interval_s, longest_s=longest_s)) == pytest.approx(capacity)


def test_an_infinite_answer_of_some_likely_laws_is_an_infinite_bound() -> None:
    laws = [BatchLaw(overhead_s=1.0, row_s=each, partitions=1) for each in (0.0, 0.0, 1.0, 2.0, 4.0)]
    answer = LikelyLaws(best=laws[2], drawn=tuple(laws)).estimate(lambda law: law.capacity_rows_per_s(1, filling(2.0)))
    assert (answer.value, answer.low, answer.high) == (0.5, 0.125, math.inf)


@given(executors=st.integers(1, 300), tasks=st.integers(1, 500), slots=st.integers(1, 16))
def test_the_fewest_executors_alike_need_as_many_waves_and_one_less_needs_more(executors: int, tasks: int, slots: int) -> None:
    least = least_alike(executors, tasks, slots)
    assert 1 <= least <= executors and waves(tasks, least * slots) == waves(tasks, executors * slots)
    assert least == 1 or waves(tasks, (least - 1) * slots) > waves(tasks, executors * slots)


@given(LAWS, st.lists(st.floats(0.3, 3.0), min_size=1, max_size=12), st.floats(0.5, 20.0))
def test_many_numbers_of_executors_are_estimated_as_each_would_be(best: BatchLaw, times: list[float], interval_s: float) -> None:
    laws = LikelyLaws(best=best, drawn=tuple(replace(best, row_s=best.row_s * each, overhead_s=best.overhead_s / each) for each in times))
    executor_counts = [1, 2, 3, 7, 20, 60]
    one_by_one = [laws.estimate(lambda law, executors=executors: law.capacity_rows_per_s(executors, filling(interval_s))) for executors in executor_counts]  # type: ignore[misc]
    assert capacities_by_laws(laws, executor_counts, filling(interval_s)).each() == one_by_one


def test_no_slots_or_a_negative_interval_is_refused() -> None:
    with pytest.raises(ValueError, match="4 tasks on 0 slots"):
        waves(4, np.array([1, 0]))
    with pytest.raises(ValueError, match="0 s or more"):
        Cadence(interval_s=-1.0, longest_s=1.0)
    assert waves(4, np.array([], dtype=int)).tolist() == []
