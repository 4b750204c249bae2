from typing import Any

import pytest
from assessed import NOW_S, about, assessed, expecting, under
from changes import scaled_to
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.domain.job_spec import Limits
from penstock.core.domain.reading import Quantiles, Reading
from penstock.core.knowledge.assessment import Assessment
from penstock.core.policies.baselines import Static, Twres
from penstock.runtime.fakes import blank_reading


def test_static_goes_to_what_is_declared_and_no_load_moves_it() -> None:
    decision = Static().decide(assessed(executors=4, declared=scaled_to(6)))
    assert (decision.executors, decision.direction, decision.why.code) == (6, "up", "as_declared")
    assert {Static().decide(under(load)).executors for load in (0.0, 350.0, 5000.0)} == {4} and Static().needs == frozenset()


def test_a_number_of_its_own_beats_what_is_declared_within_the_limits() -> None:
    assert Static(executors=2).decide(assessed(declared=scaled_to(6))).executors == 2
    assert Static(executors=40).decide(assessed()).executors == 12
    assert Static().decide(assessed(declared=scaled_to(2), limits=Limits(min_executors=3, max_executors=5))).executors == 3


T_MAX = {executors: about(100.0 * executors) for executors in range(1, 13)}


def late(p95_s: float) -> Reading:
    return blank_reading(NOW_S, latency=Quantiles(p50_s=0.1, p95_s=p95_s, p99_s=2.0 * p95_s))


def profiled(load: float, **known: Any) -> Assessment:
    return under(load, **{"capacities": {}, "t_max": T_MAX, **known})


@pytest.mark.parametrize(("load", "executors"), [(0.0, 1), (350.0, 4), (399.0, 4), (400.0, 5), (1100.0, 12)])
def test_it_takes_the_fewest_executors_whose_largest_rate_exceeds_the_load(load: float, executors: int) -> None:
    decision = Twres().decide(profiled(load, executors=9))
    assert (decision.executors, decision.why.code) == (executors, "smallest_that_holds")
    assert [each.refused.code for each in decision.candidates if each.refused] == ["capacity_below_peak"] * (executors - 1)


def test_the_highest_rate_of_ten_minutes_counts_and_nothing_after() -> None:
    path = [200.0] * 5 + [450.0] + [200.0] * 4 + [900.0] * 5
    assert Twres().decide(expecting(200.0, path, capacities={}, t_max=T_MAX)).executors == 5


def test_the_profile_counts_and_not_the_capacity_that_is_measured() -> None:
    decision = Twres().decide(under(350.0, each=1000.0, t_max=T_MAX))
    assert (decision.executors, decision.candidates[0].capacity_rows_per_s) == (4, 100.0)


@pytest.mark.parametrize(
    ("load", "executors", "p95_s", "chosen", "why"),
    [
        (1300.0, 4, None, 12, ("none_passes", None, None)),
        (150.0, 4, 2.5, 5, ("latency_above_limit", 2.5, 2.0)),
        (150.0, 4, 2.0, 2, ("smallest_that_holds", None, None)),
        (650.0, 4, 60.0, 7, ("smallest_that_holds", None, None)),
        (150.0, 12, 60.0, 12, ("limits", 13, 12)),
    ],
    ids=[
        "none carries it",
        "one more while latency is too high",
        "a latency within the limit",
        "too few are changed by the load alone",
        "no more than allowed",
    ],
)
def test_latency_adds_one_executor_where_they_would_suffice(load: float, executors: int, p95_s: float | None, chosen: int, why: tuple[Any, ...]) -> None:
    decision = Twres().decide(profiled(load, executors=executors, **({} if p95_s is None else {"reading": late(p95_s)})))
    assert (decision.executors, (decision.why.code, decision.why.value, decision.why.limit)) == (chosen, why)
    assert Twres(latency_limit_s=1.0).decide(profiled(150.0, reading=late(2.0))).executors == 5


@pytest.mark.parametrize("seen", [assessed(), under(350.0), assessed(t_max=T_MAX, reading=late(60.0))])
def test_without_a_load_or_a_profile_the_executors_stay(seen: Assessment) -> None:
    assert (Twres().decide(seen).executors, Twres().decide(seen).why.code) == (4, "not_ready")


@given(load=st.floats(0.0, 1500.0), more=st.floats(0.0, 1500.0), current=st.integers(1, 12), p95_s=st.floats(0.0, 5.0))
def test_more_load_never_means_fewer_executors_and_never_more_than_allowed(load: float, more: float, current: int, p95_s: float) -> None:
    executor_counts = [Twres().decide(profiled(rate, executors=current, reading=late(p95_s))).executors for rate in (load, load + more)]
    assert 1 <= executor_counts[0] <= executor_counts[1] <= 12


@given(load=st.floats(0.0, 1190.0))
def test_the_executors_it_chose_are_chosen_again(load: float) -> None:
    chosen = Twres().decide(profiled(load)).executors
    assert Twres().decide(profiled(load, executors=chosen)).direction == "keep"
