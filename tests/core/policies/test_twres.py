"""TWRES as Phoebe describes it. Executors carry 100 rows/s each by the profile."""

from __future__ import annotations

from typing import Any

import pytest
from assessed import NOW_S, about, assessed, expecting, under
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.domain.reading import Quantiles, Reading
from penstock.core.knowledge.assessment import Assessment
from penstock.core.policies.baselines import Twres
from penstock.runtime.fakes import blank_reading

T_MAX = {size: about(100.0 * size) for size in range(1, 13)}


def late(p95_s: float) -> Reading:
    return blank_reading(NOW_S, latency=Quantiles(p50_s=0.1, p95_s=p95_s, p99_s=2.0 * p95_s))


def profiled(load: float, **known: Any) -> Assessment:
    return under(load, **{"capacities": {}, "t_max": T_MAX, **known})


@pytest.mark.parametrize(("load", "size"), [(0.0, 1), (350.0, 4), (399.0, 4), (400.0, 5), (1100.0, 12)])
def test_the_smallest_size_whose_largest_rate_exceeds_the_load(load: float, size: int) -> None:
    decision = Twres().decide(profiled(load, current=9))
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
    decision = Twres().decide(profiled(150.0, current=12, reading=late(60.0)))
    assert (decision.executors, decision.why.code, decision.why.limit) == (12, "limits", 12)


@pytest.mark.parametrize("seen", [assessed(), under(350.0), assessed(t_max=T_MAX, reading=late(60.0))])
def test_without_a_load_or_a_profile_the_size_stays(seen: Assessment) -> None:
    assert (Twres().decide(seen).executors, Twres().decide(seen).why.code) == (4, "not_ready")


@given(load=st.floats(0.0, 1500.0), more=st.floats(0.0, 1500.0), current=st.integers(1, 12), p95_s=st.floats(0.0, 5.0))
def test_more_load_never_means_fewer_executors_and_never_more_than_allowed(load: float, more: float, current: int, p95_s: float) -> None:
    sizes = [Twres().decide(profiled(rate, current=current, reading=late(p95_s))).executors for rate in (load, load + more)]
    assert 1 <= sizes[0] <= sizes[1] <= 12


@given(load=st.floats(0.0, 1190.0))
def test_the_size_it_chose_is_chosen_again(load: float) -> None:
    chosen = Twres().decide(profiled(load)).executors
    assert Twres().decide(profiled(load, current=chosen)).direction == "keep"
