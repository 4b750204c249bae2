"""Many sizes at once are what one at a time would be."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.models.capacity.batch_capacities import capacities_by_laws
from penstock.core.models.capacity.batch_law import BatchLaw, LikelyLaws

LAWS = st.builds(
    BatchLaw,
    overhead_s=st.floats(0.0, 3.0),
    row_s=st.sampled_from([0.0, 1e-5, 0.0003, 0.02]),
    partitions=st.integers(1, 50),
    cores_per_executor=st.integers(1, 4),
    skew=st.floats(1.0, 3.0),
    limit_rows=st.none() | st.floats(1.0, 1e5),
)


@given(LAWS, st.lists(st.floats(0.3, 3.0), min_size=1, max_size=12), st.floats(0.5, 20.0))
def test_many_sizes_are_estimated_as_each_would_be(best: BatchLaw, times: list[float], interval_s: float) -> None:
    laws = LikelyLaws(best=best, drawn=tuple(replace(best, row_s=best.row_s * each, overhead_s=best.overhead_s / each) for each in times))
    sizes = [1, 2, 3, 7, 20, 60]
    one_by_one = [laws.estimate(lambda law, size=size: law.capacity_rows_per_s(size, interval_s)) for size in sizes]  # type: ignore[misc]
    assert capacities_by_laws(laws, sizes, interval_s) == one_by_one


def test_a_query_without_an_interval_has_no_such_capacity() -> None:
    law = BatchLaw(overhead_s=0.5, row_s=0.001, partitions=4)
    with pytest.raises(ValueError, match="above 0 s"):
        capacities_by_laws(LikelyLaws(best=law, drawn=(law,)), [1], 0.0)
