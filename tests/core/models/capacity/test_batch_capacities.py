"""Many sizes at once are what one at a time would be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import LAWS

from penstock.core.models.capacity.batch_capacities import busiest_at_saturation, capacities_by_laws, limited
from penstock.core.models.capacity.batch_law import BatchLaw, LikelyLaws
from penstock.core.models.capacity.law_columns import waves_each
from penstock.core.models.estimates import Estimates


@given(LAWS, st.lists(st.floats(0.3, 3.0), min_size=1, max_size=12), st.floats(0.5, 20.0))
def test_many_sizes_are_estimated_as_each_would_be(best: BatchLaw, times: list[float], interval_s: float) -> None:
    laws = LikelyLaws(best=best, drawn=tuple(replace(best, row_s=best.row_s * each, overhead_s=best.overhead_s / each) for each in times))
    sizes = [1, 2, 3, 7, 20, 60]
    one_by_one = [laws.estimate(lambda law, size=size: law.capacity_rows_per_s(size, interval_s)) for size in sizes]  # type: ignore[misc]
    assert capacities_by_laws(laws, sizes, interval_s).each() == one_by_one


@given(LAWS, st.floats(0.5, 20.0))
def test_how_busy_the_busiest_is_and_what_a_limit_allows_are_told_of_many_sizes_as_of_each(law: BatchLaw, interval_s: float) -> None:
    sizes = np.array([1, 2, 3, 7, 20, 60])
    assert busiest_at_saturation(law, sizes, interval_s).tolist() == [law.busiest_at_saturation(interval_s, size) for size in sizes.tolist()]
    most = [np.inf if law.limit_rows is None else law.limit_rows / max(interval_s, law.duration_s(law.limit_rows, size)) for size in sizes.tolist()]
    said = limited(law, Estimates(value=np.full(6, 900.0), low=np.full(6, 800.0), high=np.full(6, 1e9)), sizes, interval_s)
    assert [said.value.tolist(), said.high.tolist()] == [[min(900.0, each) for each in most], [min(1e9, each) for each in most]]


def test_a_size_without_slots_takes_no_batches() -> None:
    with pytest.raises(ValueError, match="4 tasks on 0 slots"):
        waves_each(4, np.array([1, 0]))
    assert waves_each(4, np.array([], dtype=int)).tolist() == []


def test_a_query_without_an_interval_has_no_such_capacity() -> None:
    law = BatchLaw(overhead_s=0.5, row_s=0.001, partitions=4)
    with pytest.raises(ValueError, match="above 0 s"):
        capacities_by_laws(LikelyLaws(best=law, drawn=(law,)), [1], 0.0)
