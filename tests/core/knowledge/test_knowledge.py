from dataclasses import replace

from changes import rescaled, scaled_to, scaling
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.analyze.disturbances import knowing_applied
from penstock.core.domain.configuration import Configuration, QueryConfiguration
from penstock.core.domain.job_spec import Limits
from penstock.core.domain.knobs import knob_at
from penstock.core.domain.prediction import Prediction
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge.knowledge import Author, Hold, Knowledge, Pending, begin, join
from penstock.core.knowledge.learnt import Learnt
from penstock.core.knowledge.steering import Applied, MeanLoad, Outlook, Schedule, Trust
from penstock.core.models.anomaly.recovery_watch import RecoveryWatch
from penstock.stores.codec import decode, encode_knowledge

SLOW, FAST = Trigger(interval_s=10.0), Trigger(interval_s=1.0)
OF_SLOW = QueryConfiguration(trigger=SLOW)
LIMITS = Limits(min_executors=1, max_executors=8)
TRIGGERS = st.builds(Trigger, interval_s=st.sampled_from([0.0, 1.0, 10.0]))
QUERIES = st.sampled_from(["a", "b", "c"])
KNOBS = st.builds(QueryConfiguration, trigger=TRIGGERS, rate_limit_rows_per_s=st.none() | st.just(500.0), partitions=st.none() | st.integers(1, 9))
DESIRES = st.builds(Configuration, executors=st.integers(1, 8), queries=st.dictionaries(QUERIES, KNOBS))


def desired(executors: int = 2, trigger: Trigger = SLOW, limit: float | None = None) -> Configuration:
    return Configuration(executors=executors, queries={"a": QueryConfiguration(trigger=trigger, rate_limit_rows_per_s=limit)})


def held(knob: str, value: str) -> Hold:
    return Hold(knob=knob, value=value, who="ann", until_s=1e9)


def test_the_first_controller_desires_what_is_declared() -> None:
    assert begin(desired(), None, LIMITS) == Knowledge(declared=desired(), desired=desired())


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
    left = Knowledge(declared=desired(), desired=desired(), trust=Trust(infeasible=("latency",), doubted={"throughput": 2}))
    assert begin(desired(), left, LIMITS).trust == Trust()


def test_the_time_for_which_a_job_was_gone_is_neither_a_recovery_nor_a_broken_promise() -> None:
    health = RecoveryWatch().disturbed(10.0, "executor_loss")
    applied = (Applied(number=5, decision_id=None, change=rescaled(2, 3), at_s=11.0),)
    learnt, trust = Learnt(health=health, applied_number=4), Trust(broken_since_s=12.0)
    load = Prediction(kind="forecast", made_s=1.0, value=1.0, low=1.0, high=1.0, configuration=desired(), due_s=60.0)
    predictions = (load, replace(load, kind="recovery", cause="failure 1"), replace(load, kind="recovery", cause="instruction 5"))
    left = Knowledge(declared=desired(), desired=desired(), learnt=learnt, trust=trust, applied=applied, predictions=predictions)
    begun = begin(desired(), left, LIMITS, 28_800.0)
    assert begun.learnt.health == RecoveryWatch() and begun.trust.broken_since_s is None
    assert begun.predictions == (load,), "no later failure or instruction grades what was predicted of those"
    assert knowing_applied(begun.learnt, begun.applied) == (begun.learnt, ()), "nor is a rescale that was asked for just before the end"


def test_the_load_of_an_earlier_run_is_not_the_load_of_this_one() -> None:
    """Else its first decision, at a reading that has no arrival rate yet, would follow the load of last night."""
    left = Knowledge(declared=desired(), desired=desired(), schedule=Schedule(loads={"": MeanLoad(count=9)}, next_s=70.0))
    assert begin(desired(executors=6), left, LIMITS).schedule == Schedule(next_s=70.0)


def test_a_clock_behind_that_of_the_last_run_stops_neither_decisions_nor_learning() -> None:
    schedule, learnt, outlook = Schedule(decided_s=3600.0, next_s=3660.0, rescaled_s=3000.0), Learnt(learnt_s=3600.0), Outlook(made_s=3600.0)
    left = Knowledge(declared=desired(), desired=desired(), schedule=schedule, learnt=learnt, outlook=outlook)
    begun = begin(desired(), left, LIMITS, 60.0)
    assert (begun.schedule.next_s, begun.schedule.rescaled_s, begun.learnt.learnt_s, begun.outlook) == (None, None, None, Outlook())
    assert begin(desired(), left, LIMITS, 3700.0).schedule == schedule


@given(DESIRES, DESIRES)
@settings(deadline=None)
def test_declaring_the_same_again_changes_nothing(declared: Configuration, wanted: Configuration) -> None:
    once = begin(declared, Knowledge(declared=declared, desired=wanted), LIMITS)
    assert begin(declared, once, LIMITS) == once


@given(DESIRES, DESIRES, DESIRES)
@settings(deadline=None)
def test_every_knob_is_as_declared_or_as_remembered_for_declared_queries_alone(now: Configuration, declared: Configuration, wanted: Configuration) -> None:
    started = begin(now, Knowledge(declared=declared, desired=wanted), LIMITS).desired
    assert set(started.queries) == set(now.queries)
    for address in now.addresses():
        query = knob_at(address)[1]
        unchanged = query is None or (query in declared.queries and query in wanted.queries)
        same = unchanged and declared.of(address) == now.of(address)
        assert started.of(address) == (wanted if same else now).of(address)


def test_what_was_desired_yields_to_limits_that_have_become_narrower() -> None:
    left = Knowledge(declared=desired(), desired=desired(executors=5), holds=(held("executors", "5"),))
    knowledge = begin(desired(), left, Limits(min_executors=1, max_executors=3))
    assert knowledge.desired.executors == 3
    assert knowledge.holds == ()


def test_holds_of_queries_that_are_gone_are_forgotten() -> None:
    left = Knowledge(declared=desired(), desired=desired(), holds=(held("rate-limit:gone", "none"), held("rate-limit:a", "none")))
    assert begin(desired(), left, LIMITS).holds == (held("rate-limit:a", "none"),)


def test_partitions_that_were_changed_are_not_held_by_the_next_controller_and_those_still_wished_for_are() -> None:
    wishing = desired().having("partitions:a", 8)
    for wanted, holds in ((desired(), ()), (wishing, (held("partitions:a", "8"),))):
        left = Knowledge(declared=desired(), desired=wanted, holds=(held("partitions:a", "8"),))
        assert begin(desired(), left, LIMITS).holds == holds


def test_what_was_under_way_dies_with_the_controller_that_asked_for_it() -> None:
    left = Knowledge(declared=desired(), desired=desired(), pending=(Pending(instruction=scaling(1, 2, 3), since_s=1.0),))
    assert begin(desired(), left, LIMITS).pending == ()
    assert decode(Knowledge, encode_knowledge(left)) == replace(left, pending=())


def test_a_query_that_joins_is_desired_as_declared() -> None:
    quick = QueryConfiguration(trigger=FAST, rate_limit_rows_per_s=100.0)
    knowledge = join(begin(desired(), None, LIMITS), "b", quick, None)
    assert knowledge.declared == knowledge.desired == replace(desired(), queries={**desired().queries, "b": quick})


def test_a_query_that_joins_again_finds_the_wish_that_an_earlier_controller_left_for_it() -> None:
    both = join(begin(desired(), None, LIMITS), "b", OF_SLOW, None)
    left = replace(
        both, desired=both.desired.having("trigger:b", FAST), holds=(held("trigger:b", "1s"),), authors={"trigger:b": Author(decision_id=9, policy="thumb")}
    )
    started = begin(desired(), left, LIMITS)
    assert started.holds == () and "b" not in started.desired.queries
    assert join(started, "b", OF_SLOW, left) == left
    changed = join(started, "b", QueryConfiguration(), left)
    assert changed.desired == scaled_to(2, a="10s", b="0s") and changed.holds == ()


def test_a_query_that_is_declared_twice_keeps_what_was_desired_of_it_meanwhile() -> None:
    both = join(begin(desired(), None, LIMITS), "b", OF_SLOW, None)
    steered = replace(both, desired=scaled_to(2, a="1s", b="1s"), holds=(held("trigger:a", "1s"), held("trigger:b", "1s")))
    assert join(steered, "b", OF_SLOW, None) == steered
    assert join(steered, "b", QueryConfiguration(), None).holds == (held("trigger:a", "1s"),)
