"""Limits of scale-outs that are found together."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.models.latency.knee import Knee, knees
from penstock.core.models.latency.shared_knee import likely_limits

profiles = st.lists(st.tuples(st.integers(1, 6), st.integers(0, 8).map(float), st.booleans()), min_size=1, max_size=25)


@given(profiles)
def test_a_limit_lies_between_the_last_stable_and_the_first_unstable_rate(profile: list[tuple[int, float, bool]]) -> None:
    found = knees(profile)
    limits = likely_limits(found)
    for knee in found:
        if knee.scaleout in limits and knee.first_unstable_rows_per_s is not None:
            assert (knee.last_stable_rows_per_s or 0.0) <= limits[knee.scaleout] * (1 + 1e-9)
            assert limits[knee.scaleout] <= knee.first_unstable_rows_per_s * (1 + 1e-9)


def test_scale_outs_together_know_more_than_the_middle_between_two_rates() -> None:
    sizes = np.array([2, 4, 6, 8, 10, 12])
    truth, off = 1000.0 * sizes**0.85, []
    for seed in range(20):
        low = truth * np.random.default_rng(seed).uniform(0.75, 1.0, len(sizes))
        high = low + 0.25 * truth
        found = [Knee(scaleout=s, last_stable_rows_per_s=a, first_unstable_rows_per_s=b) for s, a, b in zip(sizes.tolist(), low, high, strict=True)]
        limits = likely_limits(found)
        off.append([np.abs(each / truth - 1).mean() for each in (np.array([limits[s] for s in sizes.tolist()]), (low + high) / 2)])
    ours, midway = np.mean(off, axis=0)
    assert ours < 0.6 * midway


def test_a_scale_out_that_was_never_overloaded_has_no_limit_of_its_own_and_one_alone_shares_none() -> None:
    small = Knee(scaleout=2, last_stable_rows_per_s=8.0, first_unstable_rows_per_s=12.0)
    middle = Knee(scaleout=4, last_stable_rows_per_s=16.0, first_unstable_rows_per_s=24.0)
    large = Knee(scaleout=8, last_stable_rows_per_s=30.0, first_unstable_rows_per_s=None)
    assert likely_limits([small]) == {} and likely_limits([small, large]) == {}
    assert likely_limits([small, middle, large]).keys() == {2, 4}
