"""What most policies do alike."""

from __future__ import annotations

from assessed import about, assessed, under
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.domain.decision import Comparison
from penstock.core.domain.job import Limits
from penstock.core.policies.choosing import Refuse, allowed, chosen, compare, keep, smallest


def refuses_below(least: float) -> Refuse:
    def refuse(size: int, capacity: float) -> Comparison | None:
        return compare("capacity_below_load", capacity, least, holds=capacity >= least)

    return refuse


def test_keeping_says_why_and_forgets_nothing() -> None:
    kept = keep(assessed(current=7, memo={"step": 2.0}), "mine", "too_soon", 30.0, 60.0)
    assert (kept.policy, kept.executors, kept.direction, kept.memo) == ("mine", 7, "keep", {"step": 2.0})
    assert kept.why.words() == "30 s since the last change, 60 s must pass"
    assert keep(assessed(memo={"step": 2.0}), "mine", "not_ready", memo={}).memo == {}


@given(load=st.floats(0, 2000))
def test_the_smallest_that_nothing_speaks_against_is_taken(load: float) -> None:
    seen = under(load)
    decision = smallest(seen, "mine", refuses_below(load))
    suffice = [size for size in seen.sizes if 100.0 * size >= load]
    assert decision.executors == (suffice[0] if suffice else 12)
    assert decision.why.code == ("smallest_that_holds" if suffice else "none_passes")
    assert [each.executors for each in decision.candidates] == list(range(1, decision.executors + 1))
    assert [each.refused is None for each in decision.candidates] == [100.0 * size >= load for size in range(1, decision.executors + 1)]


def test_a_size_of_unknown_capacity_is_passed_over() -> None:
    decision = smallest(under(150.0, capacities={1: about(100.0), 3: about(300.0)}), "mine", refuses_below(150.0))
    assert decision.executors == 3
    assert [each.refused and each.refused.code for each in decision.candidates] == ["capacity_below_load", "unknown_capacity", None]


def test_without_a_load_or_any_capacity_the_size_stays() -> None:
    for seen in (under(150.0, load_rows_per_s=None), under(150.0, capacities={}), assessed()):
        decision = smallest(seen, "mine", refuses_below(0.0))
        assert (decision.direction, decision.why.code) == ("keep", "not_ready")


def test_a_choice_keeps_in_mind_what_the_policy_did() -> None:
    assert chosen(assessed(memo={"step": 1.0}), "mine", 5, Comparison(code="smallest_that_holds"), []).memo == {"step": 1.0}


def test_a_size_beyond_the_limits_is_the_limit() -> None:
    seen = assessed(limits=Limits(min_executors=2, max_executors=6))
    assert [allowed(seen, size) for size in (0, 2, 5, 6, 9)] == [2, 2, 5, 6, 6]
