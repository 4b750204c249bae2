"""A fixed size."""

from __future__ import annotations

from typing import Any

import pytest
from assessed import NOW_S, about, assessed, expecting, under
from changes import sized
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.domain.job import Limits
from penstock.core.domain.reading import Quantiles, Reading
from penstock.core.knowledge.assessment import Assessment
from penstock.core.policies.baselines import Static, Twres
from penstock.runtime.fakes import blank_reading


@pytest.mark.parametrize("load", [0.0, 350.0, 5000.0])
def test_no_load_moves_it(load: float) -> None:
    assert Static().decide(under(load)).executors == 4


def test_it_goes_to_what_is_declared_and_says_so() -> None:
    decision = Static().decide(assessed(executors=4, declared=sized(6)))
    assert (decision.executors, decision.direction, decision.why.code) == (6, "up", "as_declared")


def test_a_number_of_its_own_beats_what_is_declared() -> None:
    assert Static(executors=2).decide(assessed(declared=sized(6))).executors == 2


def test_it_stays_within_the_limits() -> None:
    assert Static(executors=40).decide(assessed()).executors == 12
    assert Static().decide(assessed(declared=sized(2), limits=Limits(min_executors=3, max_executors=5))).executors == 3


def test_nothing_is_learnt_for_it() -> None:
    assert Static().needs == frozenset()


T_MAX = {size: about(100.0 * size) for size in range(1, 13)}


def late(p95_s: float) -> Reading:
    return blank_reading(NOW_S, latency=Quantiles(p50_s=0.1, p95_s=p95_s, p99_s=2.0 * p95_s))


def profiled(load: float, **known: Any) -> Assessment:
    return under(load, **{"capacities": {}, "t_max": T_MAX, **known})


@pytest.mark.parametrize(("load", "size"), [(0.0, 1), (350.0, 4), (399.0, 4), (400.0, 5), (1100.0, 12)])
def test_the_smallest_size_whose_largest_rate_exceeds_the_load(load: float, size: int) -> None:
    decision = Twres().decide(profiled(load, executors=9))
    assert (decision.executors, decision.why.code) == (size, "smallest_that_holds")
    assert [each.refused.code for each in decision.candidates if each.refused] == ["capacity_below_peak"] * (size - 1)


def test_the_highest_rate_of_ten_minutes_counts_and_nothing_after() -> None:
    path = [200.0] * 5 + [450.0] + [200.0] * 4 + [900.0] * 5
    assert Twres().decide(expecting(200.0, path, capacities={}, t_max=T_MAX)).executors == 5


def test_the_profile_counts_and_not_the_capacity_that_is_measured() -> None:
    decision = Twres().decide(under(350.0, each=1000.0, t_max=T_MAX))
    assert (decision.executors, decision.candidates[0].capacity_rows_per_s) == (4, 100.0)


def test_no_size_suffices_for_more_than_the_largest_carries() -> None:
    decision = Twres().decide(profiled(1300.0))
    assert (decision.executors, decision.why.code) == (12, "none_passes")


def test_one_more_is_added_while_latency_is_too_high_although_the_size_would_do() -> None:
    decision = Twres().decide(profiled(150.0, reading=late(2.5)))
    assert (decision.executors, decision.why.code, decision.why.value, decision.why.limit) == (5, "latency_above_limit", 2.5, 2.0)


def test_a_latency_within_the_limit_changes_nothing() -> None:
    assert Twres().decide(profiled(150.0, reading=late(2.0))).executors == 2
    assert Twres(latency_limit_s=1.0).decide(profiled(150.0, reading=late(2.0))).executors == 5


def test_a_size_that_does_not_suffice_is_changed_by_the_load_alone() -> None:
    decision = Twres().decide(profiled(650.0, reading=late(60.0)))
    assert (decision.executors, decision.why.code) == (7, "smallest_that_holds")


def test_the_largest_size_stays_whatever_the_latency() -> None:
    decision = Twres().decide(profiled(150.0, executors=12, reading=late(60.0)))
    assert (decision.executors, decision.why.code, decision.why.limit) == (12, "limits", 12)


@pytest.mark.parametrize("seen", [assessed(), under(350.0), assessed(t_max=T_MAX, reading=late(60.0))])
def test_without_a_load_or_a_profile_the_executors_stay(seen: Assessment) -> None:
    assert (Twres().decide(seen).executors, Twres().decide(seen).why.code) == (4, "not_ready")


@given(load=st.floats(0.0, 1500.0), more=st.floats(0.0, 1500.0), current=st.integers(1, 12), p95_s=st.floats(0.0, 5.0))
def test_more_load_never_means_fewer_executors_and_never_more_than_allowed(load: float, more: float, current: int, p95_s: float) -> None:
    sizes = [Twres().decide(profiled(rate, executors=current, reading=late(p95_s))).executors for rate in (load, load + more)]
    assert 1 <= sizes[0] <= sizes[1] <= 12


@given(load=st.floats(0.0, 1190.0))
def test_the_size_it_chose_is_chosen_again(load: float) -> None:
    chosen = Twres().decide(profiled(load)).executors
    assert Twres().decide(profiled(load, executors=chosen)).direction == "keep"
