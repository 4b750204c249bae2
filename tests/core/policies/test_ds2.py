from dataclasses import replace
from typing import Any

import pytest
from assessed import NOW_S, assessed
from changes import scaled_to
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.core.domain.cadence import Cadence, cadence_of
from penstock.core.domain.decision import Decision
from penstock.core.domain.job_spec import Limits, Promises
from penstock.core.domain.policy_memory import Ds2Memory, Wanted
from penstock.core.domain.reading import QueryReading, Reading, StageReading
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge.assessment import Assessment, StageNeed
from penstock.core.models.capacity.batch_law import BatchLaw, LikelyLaws
from penstock.core.policies.ds2 import Ds2
from penstock.runtime.fakes import blank_reading

STAGES = (
    StageNeed(position=0, name="parse", rate_rows_per_s=1000.0, selectivity=1.0),
    StageNeed(position=1, name="count", rate_rows_per_s=250.0, selectivity=0.5),
)
UPWARDS, DOWNWARDS = "utilization_above_target", "utilization_below_target"
STAYS = {"within_boundary", "stabilised", "limits", "smallest_that_holds", "lag_above_backlog", "tasks_too_few"}
LOADS = st.floats(0.0, 5000.0)
EXECUTORS = st.integers(1, 12)
TASKS = st.none() | st.integers(1, 40)
MANY = Limits(min_executors=1, max_executors=100)


def under(load: float, **known: Any) -> Assessment:
    """Micro-batches, whose executors change without a stop, unless given."""
    return assessed(**{"plant": "micro_batch", "stops": frozenset(), "load_rows_per_s": load, "stages": STAGES, **known})


def with_tasks(*tasks: float | None) -> Reading:
    known = enumerate(each for each in tasks if each is not None)
    stages = tuple(StageReading(position=at, name=str(at), tasks=each, rows_per_s=1.0, run_time_s_per_s=1.0, busyness=0.5) for at, each in known)
    query = QueryReading(name="q", state="running", trigger=Trigger(interval_s=10.0), rate_limit_rows_per_s=None, stages=stages)
    return blank_reading(NOW_S, queries=(query,))


def explained(decision: Decision) -> tuple[Any, ...]:
    return decision.executors, decision.why.code, decision.why.value, decision.why.limit


def settled(policy: Ds2, seen: Assessment) -> Decision:
    return policy.decide(replace(seen, at_s=NOW_S + 3600.0, memory=policy.decide(seen).memory))


LAGGING, STOPS_UP = 1000.0 * 1800.0, frozenset({"rescale_up"})
WANTED: dict[str, tuple[Ds2, Assessment, int]] = {
    "1500 rows/s x 3 ms / 0.7 = 6.4 slots": (Ds2(), under(1500.0), 7),
    "to catch up with a stop 1500 x 300 s / 1800 s x 3 ms = 0.75 slots more": (Ds2(), under(1500.0, stops=STOPS_UP), 8),
    "a stop that takes no time": (Ds2(restart_s=0.0), under(1500.0, stops=STOPS_UP), 7),
    "only fewer executors stop the job": (Ds2(), under(1500.0, stops=frozenset({"rescale_down"})), 7),
    "1000 rows/s / 0.7 and 1000 rows/s to catch up, x 3 ms = 7.3 slots": (Ds2(), under(1000.0, lag_rows=LAGGING), 8),
    "no time to catch up is given": (Ds2(catch_up_s=0.0), under(1000.0, lag_rows=LAGGING), 4),
    "two slots each": (Ds2(), under(3000.0, slots_each=2), 7),
    "two slots each that suffice": (Ds2(), under(2000.0, slots_each=2), 4),
    "five minutes after a rescale": (Ds2(), under(1500.0, since_rescale_s=300.0), 7),
}


@pytest.mark.parametrize(("policy", "seen", "executors"), WANTED.values(), ids=WANTED)
def test_slots_are_added_for_the_load_at_the_target_and_for_what_waits(policy: Ds2, seen: Assessment, executors: int) -> None:
    assert policy.decide(seen).executors == executors


EXPLAINED: dict[str, tuple[Assessment, tuple[Any, ...]]] = {
    "above the target": (under(1500.0), (7, UPWARDS, pytest.approx(1.125), 0.7)),
    "within five minutes after a rescale": (under(1500.0, since_rescale_s=299.0), (4, "too_soon", 299.0, 300.0)),
    "three busy slots of four": (under(1000.0), (4, "within_boundary", pytest.approx(0.75), 0.3)),
    "beyond the limit": (under(9000.0, executors=12), (12, "limits", 39, 12)),
}


@pytest.mark.parametrize(("seen", "expected"), EXPLAINED.values(), ids=EXPLAINED)
def test_a_decision_names_its_reason_with_its_numbers(seen: Assessment, expected: tuple[Any, ...]) -> None:
    assert explained(Ds2().decide(seen)) == expected


def test_fewer_are_taken_only_when_that_was_right_for_an_hour() -> None:
    seen, executor_counts = under(300.0), []
    for number in range(61):
        decision = Ds2().decide(replace(seen, at_s=NOW_S + 60.0 * number))
        executor_counts.append(decision.executors)
        seen = replace(seen, memory=decision.memory)
    assert executor_counts == [4] * 60 + [2]
    assert explained(decision)[1:3] == (DOWNWARDS, pytest.approx(0.225))


def test_the_most_that_was_wanted_within_the_hour_is_kept() -> None:
    memory = Ds2Memory(wanted=(Wanted(at_s=NOW_S - 4000.0, executors=9), Wanted(at_s=NOW_S - 1800.0, executors=3)))
    decision = Ds2().decide(under(300.0, memory=memory))
    assert (decision.executors, decision.why.code) == (3, DOWNWARDS)


def test_after_a_change_the_hour_begins_anew() -> None:
    smaller = settled(Ds2(), under(300.0, executors=8))
    assert (smaller.executors, smaller.memory) == (4, Ds2Memory(wanted=(Wanted(at_s=NOW_S + 3600.0, executors=4),)))
    waiting = Ds2().decide(under(100.0, executors=4, at_s=NOW_S + 7000.0, memory=smaller.memory))
    assert (waiting.executors, waiting.why.code) == (4, "stabilised")
    assert Ds2().decide(under(100.0, executors=4, at_s=NOW_S + 7200.0, memory=waiting.memory)).executors == 2


def test_at_most_six_tenths_are_taken_at_once() -> None:
    assert settled(Ds2(), under(1.0, executors=10)).executors == 4
    assert settled(Ds2(down_factor=1.0), under(1.0, executors=10)).executors == 1


def test_while_it_works_off_a_backlog_nothing_is_taken() -> None:
    decision = settled(Ds2(), under(300.0, lag_rows=300.0 * 301.0))
    assert explained(decision) == (4, "lag_above_backlog", 300.0 * 301.0, 300.0 * 300.0)
    assert decision.why.words() == "90,300 rows wait; while more than 90,000 do it does not scale down"
    assert settled(Ds2(), under(300.0, lag_rows=300.0 * 100.0)).executors == 2


def in_batches(load: float, overhead_s: float, cadence: Cadence) -> Assessment:
    law = BatchLaw(overhead_s=overhead_s, row_s=0.003, partitions=24)
    return under(load, limits=MANY, cadence=cadence, batch_laws=LikelyLaws(best=law, drawn=(law,)))


def test_where_half_of_the_longest_batch_is_overhead_a_row_needs_twice_the_slots() -> None:
    seen = in_batches(1500.0, 4.0, Cadence(interval_s=2.0, longest_s=8.0))
    assert seen.utilization_at_capacity == 0.5
    assert explained(Ds2().decide(seen)) == (13, UPWARDS, pytest.approx(2.25), 0.7), "1500 rows/s x 3 ms / 0.5 / 0.7 = 12.9 slots"
    assert explained(Ds2().decide(replace(seen, batch_laws=None))) == (7, UPWARDS, pytest.approx(1.125), 0.7), "no overhead is known"


CADENCES: dict[str, tuple[Cadence, int]] = {
    "no promise, 10 s: 0.3 s are 3 %": (cadence_of(Trigger(), Promises()), 7),
    "a limit leaves the longest batch as it is": (cadence_of(Trigger(), Promises(), rate_limit_rows_per_s=9000.0), 7),
    "1.5 s promised, 0.77 s: 0.3 s are 39 %": (cadence_of(Trigger(), Promises(latency_p95_s=1.5)), 11),
    "a limit paces it: 0.25 s of each second are left": (cadence_of(Trigger(), Promises(latency_p95_s=1.5), rate_limit_rows_per_s=9000.0), 26),
}


@pytest.mark.parametrize(("cadence", "executors"), CADENCES.values(), ids=CADENCES)
def test_as_soon_as_possible_slots_are_counted_by_the_longest_batch_and_a_limit_paces_it(cadence: Cadence, executors: int) -> None:
    assert Ds2().decide(in_batches(1500.0, 0.3, cadence)).executors == executors


def test_a_single_executor_that_is_hardly_used_stays() -> None:
    assert settled(Ds2(), under(10.0, executors=1)).why.code == "smallest_that_holds"


def test_no_more_are_wanted_than_tasks_can_fill_at_once() -> None:
    busy: dict[str, Any] = {"limits": MANY, "reading": with_tasks(24.0, 10.0)}
    assert Ds2().decide(under(10_000.0, limits=MANY)).executors == 43, "10,000 rows/s x 3 ms / 0.7"
    assert explained(Ds2().decide(under(10_000.0, **busy))) == (24, UPWARDS, pytest.approx(7.5), 0.7)
    assert explained(Ds2().decide(under(10_000.0, executors=24, **busy))) == (24, "tasks_too_few", 43, 24)
    assert Ds2().decide(under(10_000.0, slots_each=2, **busy)).executors == 12
    assert Ds2().decide(under(10_000.0, plant="continuous", **busy)).executors == 43, "tasks that run all the time hold a slot for every stage"


def test_few_tasks_alone_take_no_executor_away() -> None:
    busy: dict[str, Any] = {"limits": MANY, "reading": with_tasks(24.0)}
    assert explained(settled(Ds2(), under(9000.0, executors=30, **busy))) == (30, "within_boundary", pytest.approx(0.9), 0.3)
    assert explained(settled(Ds2(), under(12_000.0, executors=30, **busy))) == (30, "tasks_too_few", 52, 24)
    assert settled(Ds2(), under(7600.0, executors=60, **busy)).executors == 24, "33 by the load alone"
    assert settled(Ds2(), under(7600.0, executors=70, **busy)).executors == 28, "six tenths at once"


def test_tasks_that_are_not_all_known_bound_nothing() -> None:
    one = with_tasks(24.0)
    unknown = replace(one, queries=(*one.queries, replace(one.queries[0], name="r", stages=())))
    assert Ds2().decide(under(10_000.0, limits=MANY, reading=unknown)).executors == 43


@pytest.mark.parametrize("seen", [under(1000.0, stages=()), under(1000.0, load_rows_per_s=None), under(1.0, stages=(replace(STAGES[0], rate_rows_per_s=0.0),))])
def test_without_a_load_or_the_rates_of_the_stages_the_executors_stay(seen: Assessment) -> None:
    assert (Ds2().decide(seen).executors, Ds2().decide(seen).why.code) == (4, "not_ready")


@given(load=LOADS, more=LOADS, current=EXECUTORS, stops=st.sets(st.sampled_from(["rescale_up", "rescale_down"])), tasks=TASKS)
def test_more_load_never_means_fewer_executors(load: float, more: float, current: int, stops: set[str], tasks: int | None) -> None:
    chosen = [settled(Ds2(), under(rate, executors=current, stops=frozenset(stops), reading=with_tasks(tasks))).executors for rate in (load, load + more)]
    assert chosen[0] <= chosen[1]


@given(load=LOADS, current=EXECUTORS, lag_rows=st.floats(0.0, 1e7), slots_each=st.integers(1, 4), target=st.floats(0.1, 1.0), boundary=st.floats(0.0, 1.0))
def test_the_executors_are_allowed_and_the_reason_agrees_with_the_direction(
    load: float, current: int, lag_rows: float, slots_each: int, target: float, boundary: float
) -> None:
    decision = settled(Ds2(target=target, boundary=boundary), under(load, executors=current, lag_rows=lag_rows, slots_each=slots_each))
    assert 1 <= decision.executors <= 12
    assert decision.why.code in {"up": {UPWARDS}, "down": {DOWNWARDS}, "keep": STAYS}[decision.direction]


@given(load=LOADS, current=EXECUTORS, stops=st.sets(st.sampled_from(["rescale_up", "rescale_down"])), tasks=TASKS)
def test_the_executors_it_chose_hold_under_the_same_load(load: float, current: int, stops: set[str], tasks: int | None) -> None:
    seen = under(load, executors=current, stops=frozenset(stops), limits=MANY, reading=with_tasks(tasks))
    decision = settled(Ds2(down_factor=1.0), seen)
    assume(decision.direction != "keep")
    assert settled(Ds2(down_factor=1.0), replace(seen, current=scaled_to(decision.executors))).direction == "keep"
