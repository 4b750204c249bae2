from typing import Any

from assessed import NOW_S, about, assessed, under
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.domain.decision import Comparison
from penstock.core.domain.job_spec import Limits
from penstock.core.domain.policy_memory import OwnMemory, Wanted
from penstock.core.domain.reading import QueryReading, StageReading
from penstock.core.domain.trigger import Trigger
from penstock.core.policies.choosing import Refuse, decided, executors_filled, keep, smallest, stabilised, tasks_at_once, wanted_within
from penstock.runtime.fakes import blank_reading

STEP = OwnMemory(numbers={"step": 2.0})


def refuses_below(least: float) -> Refuse:
    def refuse(executors: int, capacity: float) -> Comparison | None:
        return None if capacity >= least else Comparison(code="capacity_below_load", value=capacity, limit=least)

    return refuse


def test_keeping_says_why_and_forgets_nothing_nor_does_a_choice() -> None:
    assert decided(assessed(memory=STEP), "mine", 5, Comparison(code="smallest_that_holds")).memory == STEP
    kept = keep(assessed(executors=7, memory=STEP), "mine", "too_soon", 30.0, 60.0)
    assert (kept.policy, kept.executors, kept.direction, kept.memory) == ("mine", 7, "keep", STEP)
    assert kept.why.words() == "30 s since the last change, 60 s must pass"
    assert keep(assessed(memory=STEP), "mine", "not_ready", memory=OwnMemory()).memory == OwnMemory()


@given(load=st.floats(0, 2000))
def test_the_smallest_that_nothing_speaks_against_is_taken(load: float) -> None:
    seen = under(load)
    decision = smallest(seen, "mine", refuses_below(load))
    suffice = [executors for executors in seen.choices if 100.0 * executors >= load]
    assert decision.executors == (suffice[0] if suffice else 12)
    assert decision.why.code == ("smallest_that_holds" if suffice else "none_passes")
    assert [each.executors for each in decision.candidates] == list(range(1, decision.executors + 1))
    assert [each.refused is None for each in decision.candidates] == [100.0 * executors >= load for executors in range(1, decision.executors + 1)]


def test_executors_of_unknown_capacity_are_skipped() -> None:
    decision = smallest(under(150.0, capacities={1: about(100.0), 3: about(300.0)}), "mine", refuses_below(150.0))
    assert decision.executors == 3
    assert [each.refused and each.refused.code for each in decision.candidates] == ["capacity_below_load", "unknown_capacity", None]


def test_where_the_capacity_of_the_most_is_not_known_none_is_said_to_fail_and_the_executors_stay() -> None:
    decision = smallest(under(350.0, capacities={1: about(100.0), 3: about(300.0)}), "mine", refuses_below(350.0))
    assert (decision.executors, decision.why.code, len(decision.candidates)) == (4, "not_ready", 12)
    decision = smallest(under(350.0, capacities={1: about(100.0), 12: about(300.0)}), "mine", refuses_below(350.0))
    assert (decision.executors, decision.why.code) == (12, "none_passes")
    decision = smallest(under(350.0, capacities={4: about(300.0)}), "mine", refuses_below(350.0))
    assert (decision.executors, decision.why.code) == (12, "none_passes"), "the present ones are known not to hold: more load never means fewer executors"


def test_without_a_load_or_any_capacity_the_executors_stay() -> None:
    for seen in (under(150.0, load_rows_per_s=None), under(150.0, capacities={}), assessed()):
        decision = smallest(seen, "mine", refuses_below(0.0))
        assert (decision.direction, decision.why.code) == ("keep", "not_ready")


def test_executors_beyond_the_limits_are_the_limit() -> None:
    seen = assessed(limits=Limits(min_executors=2, max_executors=6))
    assert [seen.limits.nearest(executors) for executors in (0, 2, 5, 6, 9)] == [2, 2, 5, 6, 6]


def query(name: str, *tasks: float) -> QueryReading:
    stages = tuple(StageReading(position=at, name=str(at), tasks=each, rows_per_s=1.0, run_time_s_per_s=1.0, busyness=0.5) for at, each in enumerate(tasks))
    return QueryReading(name=name, state="running", trigger=Trigger(interval_s=10.0), rate_limit_rows_per_s=None, stages=stages)


def filled(*queries: QueryReading, **known: Any) -> int | None:
    return executors_filled(assessed(**{"plant": "micro_batch", "reading": blank_reading(NOW_S, queries=queries), **known}))


def test_the_stages_of_a_query_follow_each_other_and_one_without_a_batch_is_not_known() -> None:
    assert tasks_at_once(blank_reading(NOW_S, queries=(query("q", 4.0, 6.5), query("r", 3.0), query("s")))) == {"q": 7, "r": 3}


def test_queries_run_beside_each_other_and_fill_slots_together() -> None:
    assert filled(query("q", 4.0, 6.5), query("r", 3.0)) == 10
    assert filled(query("q", 4.0, 6.5), query("r", 3.0), slots_each=4) == 3
    assert filled(query("q", 0.0)) == 1


def test_unless_all_tasks_are_known_and_end_nothing_follows_from_them() -> None:
    assert filled() is None
    assert filled(query("q", 4.0), query("r")) is None
    assert filled(query("q", 4.0), plant="continuous") is None


EXECUTORS = st.integers(1, 12)


@given(first=EXECUTORS, wanted=st.lists(EXECUTORS, min_size=1, max_size=40), window_s=st.sampled_from([1.0, 15.0, 100.0, 300.0]))
def test_the_largest_of_the_window_is_remembered_and_the_first_number_counts_as_wanted(first: int, wanted: list[int], window_s: float) -> None:
    within: tuple[Wanted, ...] = ()
    for number, executors in enumerate(wanted):
        within = wanted_within(within, NOW_S + 15.0 * number, executors, 12 if number else first, window_s)
        recent = [each for back, each in enumerate(reversed(wanted[: number + 1])) if 15.0 * back < window_s]
        begun = [first] if 15.0 * number < window_s else []
        assert max(each.executors for each in within) == max([*recent, *begun])
        assert stabilised(12, executors, within) == max([*recent, *begun])


@given(wanted=EXECUTORS, window_s=st.sampled_from([0.0, 100.0]))
def test_asked_again_at_the_same_moment_it_remembers_the_same_and_without_a_window_nothing(wanted: int, window_s: float) -> None:
    once = wanted_within((), NOW_S, wanted, 4, window_s)
    assert wanted_within(once, NOW_S, wanted, 4, window_s) == once
    assert wanted_within((Wanted(at_s=NOW_S - 1.0, executors=9),), NOW_S, 2, 4, 0.0) == ()


@given(current=EXECUTORS, wanted=EXECUTORS, within=st.lists(EXECUTORS))
def test_a_stable_number_lies_between_the_present_one_and_the_wanted_one(current: int, wanted: int, within: list[int]) -> None:
    stable = stabilised(current, wanted, tuple(Wanted(at_s=float(number), executors=each) for number, each in enumerate(within)))
    assert min(current, wanted) <= stable <= max(current, wanted)
