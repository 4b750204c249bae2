import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import LAWS

from penstock.core.models.capacity.batch_law import BatchLaw, LikelyLaws, capacities_by_laws, least_alike, waves
from penstock.core.models.estimate import Estimates

FREE_LAWS = st.builds(
    BatchLaw,
    overhead_s=st.floats(0.01, 5.0),
    row_s=st.floats(1e-6, 1e-2),
    partitions=st.integers(1, 60),
    cores_per_executor=st.integers(1, 8),
    skew=st.floats(1.0, 4.0),
)
EXECUTOR_COUNTS = st.integers(1, 40)


@given(FREE_LAWS, st.floats(0, 1e6), st.floats(0, 1e6), EXECUTOR_COUNTS, EXECUTOR_COUNTS)
def test_more_rows_never_take_a_shorter_time_and_more_executors_never_take_longer(law: BatchLaw, some: float, more: float, few: int, added: int) -> None:
    assert law.duration_s(some, few + added) <= law.duration_s(some, few) <= law.duration_s(some + more, few)


@given(FREE_LAWS, EXECUTOR_COUNTS, EXECUTOR_COUNTS, st.floats(0.1, 60.0), st.floats(0.1, 60.0))
def test_more_executors_or_a_longer_interval_never_carry_less_without_a_limit(law: BatchLaw, few: int, added: int, interval_s: float, longer_s: float) -> None:
    carried = law.capacity_rows_per_s(few, interval_s)
    assert carried <= law.capacity_rows_per_s(few + added, interval_s) and carried <= law.capacity_rows_per_s(few, interval_s + longer_s) * (1 + 1e-12)


@given(FREE_LAWS, st.floats(1, 1e6), EXECUTOR_COUNTS, EXECUTOR_COUNTS)
def test_two_numbers_of_executors_tie_exactly_if_their_waves_are_equal(law: BatchLaw, rows: float, one: int, other: int) -> None:
    assert (law.waves(one) == law.waves(other)) == (law.capacity_rows_per_s(one, 10.0) == law.capacity_rows_per_s(other, 10.0))
    if law.waves(one) == law.waves(other):
        assert law.duration_s(rows, one) == law.duration_s(rows, other)


@given(FREE_LAWS, EXECUTOR_COUNTS, st.floats(6.0, 60.0))
def test_a_batch_of_one_interval_at_capacity_just_fills_the_interval(law: BatchLaw, executors: int, interval_s: float) -> None:
    rows = law.capacity_rows_per_s(executors, interval_s) * interval_s
    assert law.duration_s(rows, executors) == pytest.approx(interval_s)


@pytest.mark.parametrize(
    ("known", "interval_s", "capacity"),
    [
        pytest.param({"overhead_s": 2.0}, 1.0, 0.0, id="an interval shorter than the overhead"),
        pytest.param({"overhead_s": 2.0}, 2.0, 0.0, id="an interval as long as the overhead"),
        pytest.param({}, 10.0, 900.0, id="no limit"),
        pytest.param({"limit_rows": 2000.0}, 10.0, 200.0, id="a limit that an interval reaches"),
        pytest.param({"limit_rows": 50_000.0}, 10.0, 900.0, id="a limit that takes longer than the interval"),
        pytest.param({"row_s": 0.0}, 10.0, math.inf, id="rows that cost nothing"),
        pytest.param({"row_s": 0.0, "limit_rows": 50.0}, 10.0, 5.0, id="rows that cost nothing under a limit"),
    ],
)
def test_the_capacity_is_that_of_a_batch_that_fills_the_interval_under_the_limit(known: dict[str, float], interval_s: float, capacity: float) -> None:
    law = BatchLaw(**{"overhead_s": 1.0, "row_s": 0.001, "partitions": 1, **known})
    assert law.capacity_rows_per_s(1, interval_s) == pytest.approx(capacity)
    assert (law.utilization_at_saturation(interval_s) == 0) == (capacity == 0)


@given(FREE_LAWS, EXECUTOR_COUNTS, st.floats(6.0, 60.0))
def test_the_busiest_executor_at_saturation_is_busy_as_long_as_its_tasks_run(law: BatchLaw, executors: int, interval_s: float) -> None:
    (busiest,) = law.busiest_at_saturation(interval_s, np.array([executors])).tolist()
    rows = law.capacity_rows_per_s(executors, interval_s) * interval_s
    task_s = rows / law.partitions * law.row_s * law.skew
    assert busiest == pytest.approx(-(-law.partitions // executors) * task_s / (law.cores_per_executor * interval_s))


def test_an_infinite_answer_of_some_likely_laws_is_an_infinite_bound() -> None:
    laws = [BatchLaw(overhead_s=1.0, row_s=each, partitions=1) for each in (0.0, 0.0, 1.0, 2.0, 4.0)]
    answer = LikelyLaws(best=laws[2], drawn=tuple(laws)).estimate(lambda law: law.capacity_rows_per_s(1, 2.0))
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
    one_by_one = [laws.estimate(lambda law, executors=executors: law.capacity_rows_per_s(executors, interval_s)) for executors in executor_counts]  # type: ignore[misc]
    assert capacities_by_laws(laws, executor_counts, interval_s).each() == one_by_one


@given(LAWS, st.floats(0.5, 20.0))
def test_a_limit_of_rows_caps_the_capacities_of_any_model(law: BatchLaw, interval_s: float) -> None:
    asked = np.array([1, 2, 3, 7, 20, 60])
    most = [np.inf if law.limit_rows is None else law.limit_rows / max(interval_s, law.duration_s(law.limit_rows, each)) for each in asked.tolist()]
    said = law.limited(Estimates(value=np.full(6, 900.0), low=np.full(6, 800.0), high=np.full(6, 1e9)), asked, interval_s)
    assert [said.value.tolist(), said.high.tolist()] == [[min(900.0, each) for each in most], [min(1e9, each) for each in most]]


def test_no_slots_or_no_interval_is_refused() -> None:
    law = BatchLaw(overhead_s=0.5, row_s=0.001, partitions=4)
    with pytest.raises(ValueError, match="4 tasks on 0 slots"):
        waves(4, np.array([1, 0]))
    for capacity in (lambda: law.capacity_rows_per_s(1, 0.0), lambda: capacities_by_laws(LikelyLaws(best=law, drawn=(law,)), [1], 0.0)):
        with pytest.raises(ValueError, match="above 0 s"):
            capacity()
    assert waves(4, np.array([], dtype=int)).tolist() == []
