"""A controller goes on where an earlier one was, unless its owner has said otherwise since."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.analyze.disturbances import told_of_rescale
from penstock.core.domain.instruction import ScaleExecutors
from penstock.core.domain.job import Limits
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge.knowledge import Desired, Hold, Knowledge, Pending, begin, join
from penstock.core.knowledge.learnt import Learnt
from penstock.core.models.anomaly.recovery_watch import RecoveryWatch
from penstock.core.knowledge.steering import MeanLoad, Rescale, Steering
from penstock.stores.codec import decode, encode_knowledge

SLOW, FAST = Trigger(interval_s=10.0), Trigger(interval_s=1.0)
LIMITS = Limits(min_executors=1, max_executors=8)
TRIGGERS = st.builds(Trigger, interval_s=st.sampled_from([0.0, 1.0, 10.0]))
QUERIES = st.sampled_from(["a", "b", "c"])
DESIRES = st.builds(
    Desired,
    executors=st.integers(1, 8),
    triggers=st.dictionaries(QUERIES, TRIGGERS),
    rate_limits_rows_per_s=st.dictionaries(QUERIES, st.none() | st.just(500.0)),
    partitions=st.dictionaries(QUERIES, st.none() | st.integers(1, 9)),
)


def desired(executors: int = 2, trigger: Trigger = SLOW, limit: float | None = None) -> Desired:
    return Desired(executors=executors, triggers={"a": trigger}, rate_limits_rows_per_s={"a": limit}, partitions={"a": None})


def held(knob: str, value: str) -> Hold:
    return Hold(knob=knob, value=value, who="ann", until_s=1e9)


def test_the_first_controller_desires_what_is_declared() -> None:
    knowledge = begin(desired(), None, LIMITS)
    assert knowledge == Knowledge(declared=desired(), desired=desired())


def test_an_unchanged_declaration_keeps_what_was_desired_and_held() -> None:
    left = Knowledge(declared=desired(), desired=desired(executors=5, trigger=FAST, limit=9.0), holds=(held("executors", "5"),), next_number=7)
    assert begin(desired(), left, LIMITS) == left


def test_a_changed_declaration_wins_for_its_own_knob_alone_and_ends_the_hold_on_it() -> None:
    holds = (held("executors", "5"), held("trigger:a", "1s"))
    left = Knowledge(declared=desired(), desired=desired(executors=5, trigger=FAST), holds=holds)
    knowledge = begin(desired(executors=3), left, LIMITS)
    assert knowledge.desired == desired(executors=3, trigger=FAST)
    assert knowledge.holds == (held("trigger:a", "1s"),)


def test_targets_that_cannot_be_met_are_named_anew_at_every_start() -> None:
    left = Knowledge(declared=desired(), desired=desired(), steering=Steering(infeasible=("latency",), doubted={"throughput": 2}))
    assert begin(desired(), left, LIMITS).steering == Steering()


def test_the_time_for_which_a_job_was_gone_is_neither_a_recovery_nor_a_broken_promise() -> None:
    health = RecoveryWatch().disturbed(10.0, "executor_loss")
    asked = Rescale(number=5, before=2, after=3, at_s=11.0)
    steering = Steering(broken_since_s=12.0, rescale=asked)
    left = Knowledge(declared=desired(), desired=desired(), learnt=Learnt(health=health, rescale_number=4), steering=steering)
    begun = begin(desired(), left, LIMITS, 28_800.0)
    assert begun.learnt.health == RecoveryWatch() and begun.steering.broken_since_s is None
    assert told_of_rescale(begun.learnt, begun.steering.rescale) == begun.learnt, "nor is a rescale that was asked for just before the end"


def test_the_load_of_an_earlier_run_is_not_the_load_of_this_one() -> None:
    """Else its first decision, at a reading that has no arrival rate yet, would follow the load of last night."""
    left = Knowledge(declared=desired(), desired=desired(), steering=Steering(load=MeanLoad(count=9, mean_rows_per_s=100.0), next_s=70.0))
    assert begin(desired(executors=6), left, LIMITS).steering == Steering(next_s=70.0)


@given(DESIRES, DESIRES)
@settings(deadline=None)
def test_declaring_the_same_again_changes_nothing(declared: Desired, wanted: Desired) -> None:
    once = begin(declared, Knowledge(declared=declared, desired=wanted), LIMITS)
    assert begin(declared, once, LIMITS) == once


@given(DESIRES, DESIRES, DESIRES)
@settings(deadline=None)
def test_every_knob_is_as_declared_or_as_remembered_and_only_declared_queries_are_known(now: Desired, declared: Desired, wanted: Desired) -> None:
    started = begin(now, Knowledge(declared=declared, desired=wanted), LIMITS).desired
    assert started.executors in (now.executors, wanted.executors)
    assert set(started.triggers) == set(now.triggers)
    for query, trigger in started.triggers.items():
        unchanged = declared.triggers.get(query) == now.triggers[query] and query in wanted.triggers
        assert trigger == (wanted.triggers[query] if unchanged else now.triggers[query])


def test_what_was_desired_yields_to_limits_that_have_become_narrower() -> None:
    left = Knowledge(declared=desired(), desired=desired(executors=5), holds=(held("executors", "5"),))
    knowledge = begin(desired(), left, Limits(min_executors=1, max_executors=3))
    assert knowledge.desired.executors == 3
    assert knowledge.holds == ()


def test_holds_of_queries_that_are_gone_are_forgotten() -> None:
    left = Knowledge(declared=desired(), desired=desired(), holds=(held("rate-limit:gone", "none"), held("rate-limit:a", "none")))
    assert begin(desired(), left, LIMITS).holds == (held("rate-limit:a", "none"),)


def test_partitions_that_were_changed_are_not_held_by_the_next_controller_and_those_still_wished_for_are() -> None:
    wishing = replace(desired(), partitions={"a": 8})
    for wanted, holds in ((desired(), ()), (wishing, (held("partitions:a", "8"),))):
        left = Knowledge(declared=desired(), desired=wanted, holds=(held("partitions:a", "8"),))
        assert begin(desired(), left, LIMITS).holds == holds


def test_what_was_under_way_dies_with_the_controller_that_asked_for_it() -> None:
    left = Knowledge(declared=desired(), desired=desired(), pending=(Pending(instruction=ScaleExecutors(number=1, executors=3), since_s=1.0),))
    assert begin(desired(), left, LIMITS).pending == ()
    assert decode(Knowledge, encode_knowledge(left)) == replace(left, pending=())


def test_a_query_that_joins_is_desired_as_declared() -> None:
    knowledge = join(begin(desired(), None, LIMITS), "b", FAST, 100.0, None)
    assert knowledge.declared == knowledge.desired
    assert knowledge.desired == Desired(
        executors=2, triggers={"a": SLOW, "b": FAST}, rate_limits_rows_per_s={"a": None, "b": 100.0}, partitions={"a": None, "b": None}
    )


def test_a_query_that_joins_again_finds_the_wish_that_an_earlier_controller_left_for_it() -> None:
    both = join(begin(desired(), None, LIMITS), "b", SLOW, None, None)
    left = replace(both, desired=replace(both.desired, triggers={"a": SLOW, "b": FAST}), holds=(held("trigger:b", "1s"),))
    started = begin(desired(), left, LIMITS)
    assert started.holds == () and "b" not in started.desired.triggers
    assert join(started, "b", SLOW, None, left) == left
    changed = join(started, "b", Trigger(), None, left)
    assert changed.desired.triggers == {"a": SLOW, "b": Trigger()} and changed.holds == ()


def test_a_query_that_is_declared_twice_keeps_what_was_desired_of_it_meanwhile() -> None:
    both = join(begin(desired(), None, LIMITS), "b", SLOW, None, None)
    steered = replace(both, desired=replace(both.desired, triggers={"a": FAST, "b": FAST}), holds=(held("trigger:a", "1s"), held("trigger:b", "1s")))
    assert join(steered, "b", SLOW, None, None) == steered
    assert join(steered, "b", Trigger(), None, None).holds == (held("trigger:a", "1s"),)


@pytest.mark.parametrize(("knob", "value"), [("executors", 2), ("trigger:a", SLOW), ("rate-limit:a", 7.0), ("partitions:a", None), ("trigger:gone", None)])
def test_a_knob_has_the_value_desired_of_it(knob: str, value: object) -> None:
    assert desired(limit=7.0).of(knob) == value
