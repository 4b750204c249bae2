from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.models.latency.knee import Knee, borderline, knees, likely_limits, too_much

profiles = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 8).map(float), st.booleans()), min_size=1, max_size=25)


@given(profiles)
def test_a_knee_lies_between_stable_and_unstable_and_its_ceilings_never_fall(profile: list[tuple[int, float, bool]]) -> None:
    found = knees(profile)
    assert [knee.executors for knee in found] == sorted({executors for executors, _, _ in profile})
    for knee in found:
        assert knee.last_stable_rows_per_s is not None or knee.first_unstable_rows_per_s is not None
        if knee.last_stable_rows_per_s is not None and knee.first_unstable_rows_per_s is not None:
            assert knee.last_stable_rows_per_s < knee.first_unstable_rows_per_s
    for ceiling in (too_much(found), borderline(found)):
        if ceiling is not None:
            rates = [ceiling.at(executors) for executors in range(1, 12)]
            assert rates[0] > 0 and all(lower <= higher * (1 + 1e-12) for lower, higher in pairwise(rates))


@given(st.lists(st.integers(0, 8), min_size=1, max_size=6))
def test_labels_without_contradiction_are_all_kept(steps: list[int]) -> None:
    carried = sorted(steps)
    profile = [(executors + 1, float(rate), rate <= most) for executors, most in enumerate(carried) for rate in range(1, 10)]
    for knee, most in zip(knees(profile), carried, strict=True):
        assert knee.last_stable_rows_per_s == (float(most) if most else None)
        assert knee.first_unstable_rows_per_s == float(most + 1)


@given(profiles)
def test_no_single_limit_for_all_executors_contradicts_fewer_rows(profile: list[tuple[int, float, bool]]) -> None:
    found = {knee.executors: knee.last_stable_rows_per_s or 0.0 for knee in knees(profile)}
    wrong = sum((rate <= found[executors]) != valid for executors, rate, valid in profile)
    assert wrong <= min(sum((rate <= limit) != valid for _, rate, valid in profile) for limit in range(9))


def test_more_executors_that_never_failed_carry_at_least_what_they_were_given() -> None:
    ceiling = too_much(knees([(2, 10.0, True), (2, 20.0, False), (4, 20.0, True), (4, 90.0, True)]))
    assert ceiling is not None and ceiling.at(4) == 90.0 and ceiling.at(2) == 20.0


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(0, 8).map(float), st.booleans()), min_size=1, max_size=25))
def test_a_limit_lies_between_the_last_stable_and_the_first_unstable_rate(profile: list[tuple[int, float, bool]]) -> None:
    found = knees(profile)
    limits = likely_limits(found)
    for knee in found:
        if knee.executors in limits and knee.first_unstable_rows_per_s is not None:
            assert (knee.last_stable_rows_per_s or 0.0) <= limits[knee.executors] * (1 + 1e-9)
            assert limits[knee.executors] <= knee.first_unstable_rows_per_s * (1 + 1e-9)


def test_knees_together_are_closer_than_the_middle_between_two_rates() -> None:
    executor_counts = np.array([2, 4, 6, 8, 10, 12])
    truth, off = 1000.0 * executor_counts**0.85, []
    for seed in range(20):
        low = truth * np.random.default_rng(seed).uniform(0.75, 1.0, len(executor_counts))
        high = low + 0.25 * truth
        found = [Knee(executors=s, last_stable_rows_per_s=a, first_unstable_rows_per_s=b) for s, a, b in zip(executor_counts.tolist(), low, high, strict=True)]
        limits = likely_limits(found)
        off.append([np.abs(each / truth - 1).mean() for each in (np.array([limits[s] for s in executor_counts.tolist()]), (low + high) / 2)])
    ours, midway = np.mean(off, axis=0)
    assert ours < 0.6 * midway


def test_executors_never_overloaded_have_no_limit_of_their_own_and_one_knee_alone_shares_none() -> None:
    small = Knee(executors=2, last_stable_rows_per_s=8.0, first_unstable_rows_per_s=12.0)
    middle = Knee(executors=4, last_stable_rows_per_s=16.0, first_unstable_rows_per_s=24.0)
    large = Knee(executors=8, last_stable_rows_per_s=30.0, first_unstable_rows_per_s=None)
    assert likely_limits([small]) == {} and likely_limits([small, large]) == {}
    assert likely_limits([small, middle, large]).keys() == {2, 4}
