import pytest
from assessed import about, assessed, expecting, under
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.domain.decision import Decision
from penstock.core.domain.job_spec import Limits, Promises
from penstock.core.knowledge.assessment import Assessment
from penstock.core.policies.daedalus import Daedalus

LATER = [*[150.0] * 10, *[350.0] * 5]
BELOW, TARGET, UNTIL, LAG, PEAK = (
    "capacity_below_load", "recovery_above_target", "capacity_below_peak_until_recovered", "lag_above_capacity", "capacity_below_peak",
)  # fmt: skip

CASES: dict[str, tuple[Assessment, int, str, list[str]]] = {
    "nothing is known": (assessed(), 4, "not_ready", []),
    "the grace is not over": (under(950.0, since_rescale_s=179.0), 4, "too_soon", []),
    "recent executors suffice": (under(150.0, since_rescale_s=300.0), 4, "recently_rescaled", []),
    "recent executors are too few": (under(450.0, since_rescale_s=300.0), 5, "smallest_that_holds", [BELOW] * 4),
    "recent executors will be too few within a minute": (
        expecting(350.0, [420.0] * 15, since_rescale_s=300.0),
        5,
        "smallest_that_holds",
        [*[BELOW] * 3, TARGET],
    ),
    "the executors are no longer recent": (under(150.0, since_rescale_s=600.0), 2, "smallest_that_holds", [BELOW]),
    "a capacity that is just the load is too little": (under(400.0), 5, "smallest_that_holds", [BELOW] * 4),
    "a failure would take too long": (under(390.0), 5, "smallest_that_holds", [*[BELOW] * 3, TARGET]),
    "a promise takes the place of the target": (under(350.0, promises=Promises(recovery_s=100.0)), 6, "smallest_that_holds", [*[BELOW] * 3, TARGET, TARGET]),
    "the load passes the capacity before the job has recovered": (
        expecting(200.0, [200.0, 450.0, *[200.0] * 13]),
        5,
        "smallest_that_holds",
        [BELOW, BELOW, UNTIL, UNTIL],
    ),
    "the executors are kept whatever comes after their recovery": (expecting(350.0, [*[350.0] * 10, *[450.0] * 5]), 4, "smallest_that_holds", [BELOW] * 3),
    "fewer executors wait until the lag is gone": (under(150.0, executors=8, lag_rows=1000.0), 8, "smallest_that_holds", [BELOW, *[LAG] * 6]),
    "fewer executors that carry the lag in a second will do": (under(150.0, executors=8, lag_rows=450.0), 5, "smallest_that_holds", [BELOW, *[LAG] * 3]),
    "new executors must carry the peak of a quarter of an hour": (expecting(150.0, LATER, executors=8), 4, "smallest_that_holds", [BELOW, PEAK, PEAK]),
    "no executors carry the load": (under(1300.0), 12, "none_passes", [BELOW] * 12),
    "executors of unknown capacity are skipped": (
        under(150.0, capacities={executors: about(100.0 * executors) for executors in (1, 3, 4)}),
        3,
        "smallest_that_holds",
        [BELOW, "unknown_capacity"],
    ),
}


def refusals(decision: Decision) -> list[str]:
    return [each.refused.code for each in decision.candidates if each.refused is not None]


@pytest.mark.parametrize("case", CASES)
def test_each_line_of_algorithm_1_refuses_by_its_own_code(case: str) -> None:
    seen, executors, code, refused = CASES[case]
    decision = Daedalus().decide(seen)
    assert (decision.executors, decision.why.code) == (executors, code)
    assert refusals(decision) == refused


def test_a_refusal_names_the_numbers_that_were_compared() -> None:
    decision = Daedalus().decide(expecting(150.0, LATER, executors=8))
    found = [(each.refused.code, each.refused.value, each.refused.limit) for each in decision.candidates if each.refused is not None]
    assert found == [(BELOW, 100.0, 150.0), (PEAK, 200.0, 350.0), (PEAK, 300.0, 350.0)]
    assert Daedalus().decide(under(950.0, since_rescale_s=179.0)).why.words() == "179 s since the last change, 180 s must pass"


def test_the_recovery_of_the_present_executors_is_that_of_a_failure() -> None:
    assert Daedalus().decide(under(350.0)).candidates[-1].recovery_s == pytest.approx(30.0 + 40.0 * 350.0 / 50.0)


@given(load=st.floats(0, 3000), since_s=st.floats(0, 179), current=st.integers(1, 12))
def test_within_the_grace_nothing_moves(load: float, since_s: float, current: int) -> None:
    assert Daedalus().decide(under(load, since_rescale_s=since_s, executors=current)).executors == current


@given(load=st.floats(0, 1100), lag_rows=st.floats(0, 5000))
def test_lag_never_makes_the_job_smaller_and_makes_it_larger_only_for_the_recovery(load: float, lag_rows: float) -> None:
    """Compared with the same job without lag; fewer executors that are put off until the lag is gone make it no larger than it is."""
    clear = Daedalus().decide(under(load, executors=6))
    behind = Daedalus().decide(under(load, executors=6, lag_rows=lag_rows))
    assert behind.executors >= clear.executors
    if behind.executors > max(6, clear.executors):
        assert "recovery_above_target" in refusals(behind)


@given(load=st.floats(1, 1100), least=st.integers(1, 6), most=st.integers(7, 12))
def test_executors_outside_of_the_limits_are_not_weighed(load: float, least: int, most: int) -> None:
    decision = Daedalus().decide(under(load, executors=6, limits=Limits(min_executors=least, max_executors=most)))
    assert [each.executors for each in decision.candidates] == list(range(least, decision.executors + 1))


@given(load=st.floats(0, 1100), current=st.integers(1, 12))
def test_where_all_downtimes_are_alike_a_choice_is_final(load: float, current: int) -> None:
    downtimes_s = dict.fromkeys(("rescale_up", "rescale_down", "query_restart"), 30.0)
    first = Daedalus().decide(under(load, executors=current, downtimes_s=downtimes_s)).executors
    assert Daedalus().decide(under(load, executors=first, downtimes_s=downtimes_s)).executors == first


def test_where_failures_take_longer_the_paper_goes_to_and_fro_and_the_option_ends_it() -> None:
    downtimes_s = {"rescale_up": 10.0, "rescale_down": 10.0, "query_restart": 200.0}

    def visited(policy: Daedalus) -> list[int]:
        chosen = [3]
        for _ in range(4):
            chosen.append(policy.decide(under(250.0, executors=chosen[-1], downtimes_s=downtimes_s, promises=Promises(recovery_s=300.0))).executors)
        return chosen

    assert visited(Daedalus()) == [3, 4, 3, 4, 3]
    assert visited(Daedalus(failures_too=1)) == [3, 8, 8, 8, 8]
