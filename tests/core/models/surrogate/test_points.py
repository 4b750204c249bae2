import numpy as np
import pytest

from penstock.core.models.surrogate.points import spread_out


@pytest.mark.parametrize("most", [3, 7, 50, 499, 500, 2000])
def test_never_more_than_asked_for_and_all_where_they_are_few(most: int) -> None:
    rng = np.random.default_rng(most)
    groups, rates = rng.integers(0, 3, 500), rng.uniform(0, 9, 500)
    kept = spread_out(groups, rates, most)
    assert kept.sum() <= most and kept.all() == (most >= 500) and kept.sum() > 0.6 * min(most, 500)


def test_rare_groups_and_rates_keep_all_of_theirs() -> None:
    rng = np.random.default_rng(1)
    groups, rates = np.r_[np.zeros(10_000, dtype=int), 1, 1, 2], np.r_[rng.uniform(10, 11, 9_999), 500.0, 10.0, 500.0, 250.0]
    kept = spread_out(groups, rates, 100)
    assert kept[-4:].all() and kept.sum() > 30


def test_rows_that_are_alike_are_kept_evenly_from_first_to_last() -> None:
    kept = spread_out(np.zeros(1000, dtype=int), np.full(1000, 5.0), 10).nonzero()[0]
    assert np.ptp(np.diff(kept)) <= 1 and len(kept) == 10


def test_more_groups_than_rows_to_keep_are_thinned_too() -> None:
    kept = spread_out(np.arange(1000), np.ones(1000), 10)
    assert kept.sum() == 10 and np.ptp(kept.nonzero()[0]) > 900


def test_each_group_is_kept_over_its_own_range_of_rates() -> None:
    """Few executors are profiled at rates that are all low for many."""
    rng = np.random.default_rng(2)
    groups = rng.integers(0, 10, 20_000)
    shares = rng.uniform(0, 1, 20_000)
    kept = spread_out(groups, shares * 2.0**groups, 300)
    for group in range(10):
        assert np.diff(np.sort(shares[kept & (groups == group)])).max() < 0.1
