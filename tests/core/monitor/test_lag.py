"""Micro-batches always lag; only what is more than that counts as excess."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.monitor.flow import healthy_lag_rows


@given(rate=st.floats(0.0, 1e6), interval_s=st.floats(0.1, 600.0), busy=st.floats(0.0, 1.0), now_s=st.floats(0.0, 1e5))
@settings(deadline=None)
def test_no_phase_of_a_healthy_sawtooth_is_above_its_healthy_lag(rate: float, interval_s: float, busy: float, now_s: float) -> None:
    batch_s = busy * interval_s
    last_committed = math.floor((now_s - batch_s) / interval_s)
    lag_rows = rate * (now_s - max(0.0, last_committed * interval_s))
    assert lag_rows <= healthy_lag_rows(rate, interval_s, batch_s) * (1 + 1e-9) + 1e-6 * rate


@given(rate=st.floats(0.0, 1e6), batch_s=st.floats(0.01, 60.0), phase=st.floats(0.0, 1.0))
@settings(deadline=None)
def test_nor_is_one_of_batches_that_follow_each_other(rate: float, batch_s: float, phase: float) -> None:
    """Just before a commit, the rows since the start of the batch before the running one are still to be committed."""
    assert rate * batch_s * (1 + phase) <= healthy_lag_rows(rate, 0.0, batch_s) * (1 + 1e-9)


@given(rate=st.floats(0.0, 1e6), interval_s=st.floats(0.0, 600.0), batch_s=st.floats(0.0, 600.0))
@settings(deadline=None)
def test_a_query_that_cannot_keep_up_is_allowed_no_more_than_two_intervals(rate: float, interval_s: float, batch_s: float) -> None:
    if interval_s > 0:
        assert healthy_lag_rows(rate, interval_s, batch_s) <= 2 * rate * interval_s * (1 + 1e-9)
