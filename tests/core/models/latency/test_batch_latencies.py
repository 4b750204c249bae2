"""Many sizes at once are what one at a time would be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import LAWS

from penstock.core.models.capacity.batch_law import BatchLaw
from penstock.core.models.latency.batch import latency_by_law_s
from penstock.core.models.latency.batch_latencies import latencies_by_laws_s

SIZES = [1, 2, 3, 7, 20, 60]


@given(st.lists(LAWS, min_size=1, max_size=4), st.floats(0.0, 1e5), st.floats(0.0, 20.0), st.none() | st.floats(0.0, 1.0))
def test_many_sizes_wait_as_each_would(laws: list[BatchLaw], rate: float, interval_s: float, quantile: float | None) -> None:
    one_by_one = [[latency_by_law_s(law, rate_rows_per_s=rate, interval_s=interval_s, scaleout=size, quantile=quantile) for size in SIZES] for law in laws]
    assert latencies_by_laws_s(laws, rate_rows_per_s=rate, interval_s=interval_s, scaleouts=np.array(SIZES), quantile=quantile).tolist() == one_by_one


def test_a_quantile_beyond_all_is_refused() -> None:
    law = BatchLaw(overhead_s=0.5, row_s=0.001, partitions=4)
    with pytest.raises(ValueError, match="quantile"):
        latencies_by_laws_s([law], rate_rows_per_s=1.0, interval_s=1.0, scaleouts=np.array([1]), quantile=1.5)
