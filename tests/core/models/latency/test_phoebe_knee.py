from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from penstock.core.models.latency.knee import knees
from penstock.core.models.latency.validity import borderline, too_much

profiles = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 8).map(float), st.booleans()), min_size=1, max_size=25)


@given(profiles)
def test_a_knee_lies_between_stable_and_unstable_and_its_ceilings_never_fall(profile: list[tuple[int, float, bool]]) -> None:
    found = knees(profile)
    assert [knee.scaleout for knee in found] == sorted({scaleout for scaleout, _, _ in profile})
    for knee in found:
        assert knee.last_stable_rows_per_s is not None or knee.first_unstable_rows_per_s is not None
        if knee.last_stable_rows_per_s is not None and knee.first_unstable_rows_per_s is not None:
            assert knee.last_stable_rows_per_s < knee.first_unstable_rows_per_s
    for ceiling in (too_much(found), borderline(found)):
        if ceiling is not None:
            rates = [ceiling.at(scaleout) for scaleout in range(1, 12)]
            assert all(lower <= higher * (1 + 1e-12) for lower, higher in pairwise(rates))
            assert rates[0] > 0


@given(st.lists(st.integers(0, 8), min_size=1, max_size=6))
def test_labels_without_contradiction_are_all_kept(steps: list[int]) -> None:
    carried = sorted(steps)
    profile = [(scaleout + 1, float(rate), rate <= most) for scaleout, most in enumerate(carried) for rate in range(1, 10)]
    for knee, most in zip(knees(profile), carried, strict=True):
        assert knee.last_stable_rows_per_s == (float(most) if most else None)
        assert knee.first_unstable_rows_per_s == float(most + 1)


@given(profiles)
def test_no_single_limit_for_all_scale_outs_contradicts_fewer_rows(profile: list[tuple[int, float, bool]]) -> None:
    found = {knee.scaleout: knee.last_stable_rows_per_s or 0.0 for knee in knees(profile)}
    wrong = sum((rate <= found[scaleout]) != valid for scaleout, rate, valid in profile)
    assert wrong <= min(sum((rate <= limit) != valid for _, rate, valid in profile) for limit in range(9))


def test_a_larger_scale_out_that_never_failed_carries_at_least_what_it_was_given() -> None:
    ceiling = too_much(knees([(2, 10.0, True), (2, 20.0, False), (4, 20.0, True), (4, 90.0, True)]))
    assert ceiling is not None and ceiling.at(4) == 90.0 and ceiling.at(2) == 20.0
