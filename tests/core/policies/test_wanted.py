"""What was wanted within a window, kept in a memo."""

from __future__ import annotations

from dataclasses import replace

from assessed import NOW_S, assessed
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.policies.choosing import stabilised, wanted_within, without_wanted

SIZES = st.integers(1, 12)


@given(first=SIZES, wanted=st.lists(SIZES, min_size=1, max_size=40), window_s=st.sampled_from([1.0, 15.0, 100.0, 300.0]))
def test_the_largest_of_the_window_is_remembered_and_the_first_size_counts_as_wanted(first: int, wanted: list[int], window_s: float) -> None:
    seen = assessed(current=first)
    for number, size in enumerate(wanted):
        memo = wanted_within(seen, "mine", size, window_s)
        recent = [each for back, each in enumerate(reversed(wanted[: number + 1])) if 15.0 * back < window_s]
        begun = [first] if 15.0 * number < window_s else []
        assert max(memo.values()) == max([*recent, *begun])
        assert stabilised(12, size, memo) == max([*recent, *begun])
        seen = replace(seen, at_s=seen.at_s + 15.0, memo=memo, current=12)


@given(wanted=SIZES, window_s=st.sampled_from([0.0, 100.0]))
def test_asked_again_at_the_same_moment_it_remembers_the_same(wanted: int, window_s: float) -> None:
    once = wanted_within(assessed(), "mine", wanted, window_s)
    assert wanted_within(assessed(memo=once), "mine", wanted, window_s) == once


def test_without_a_window_nothing_is_remembered() -> None:
    assert wanted_within(assessed(memo={f"mine wanted at {NOW_S - 1.0}": 9.0}), "mine", 2, 0.0) == {}


def test_what_another_policy_kept_in_mind_does_not_count() -> None:
    for other in ("idle since, executor 7", f"yours wanted at {NOW_S - 1.0}"):
        assert wanted_within(assessed(memo={other: 9.0}), "mine", 2, 60.0) == {f"mine wanted at {NOW_S}": 4}


def test_what_another_policy_kept_in_mind_is_left_alone() -> None:
    others = {"idle since, executor 7": 5.0, "yours wanted at 3.0": 9.0}
    assert without_wanted({**others, "mine wanted at 3.0": 2.0}, "mine") == others


@given(current=SIZES, wanted=SIZES, within=st.lists(SIZES))
def test_a_stable_size_lies_between_the_present_one_and_the_wanted_one(current: int, wanted: int, within: list[int]) -> None:
    stable = stabilised(current, wanted, {str(number): float(size) for number, size in enumerate(within)})
    assert min(current, wanted) <= stable <= max(current, wanted)
