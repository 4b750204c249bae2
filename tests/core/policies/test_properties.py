from dataclasses import replace
from typing import Any

import pytest
from assessed import NOW_S
from changes import scaled_to
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import KINDS, PARTS, World, assessments, remembering, without, worlds

from penstock.core.domain.decision import Comparison, Decision
from penstock.core.domain.policy_memory import PolicyMemory
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.policy import Policy
from penstock.core.policies.registry import POLICIES

KEEPS = frozenset({"keep"})
UP, DOWN = KEEPS | {"up"}, KEEPS | {"down"}
DIRECTIONS: dict[str, frozenset[str]] = {
    "backlogged_tasks": frozenset({"up"}), "cpu_unknown": KEEPS, "executors_starting": KEEPS, "idle_executors": frozenset({"down"}),
    "lag_above_backlog": KEEPS, "latency_above_limit": frozenset({"up"}), "limits": KEEPS, "no_backlog": KEEPS, "none_passes": UP, "not_ready": KEEPS,
    "recently_rescaled": KEEPS, "stabilised": DOWN, "tasks_run_always": KEEPS, "tasks_too_few": KEEPS, "too_soon": KEEPS,
    "uptime_below_period": KEEPS, "utilization_above_target": frozenset({"up"}), "utilization_below_target": frozenset({"down"}),
    "within_boundary": KEEPS, "within_tolerance": KEEPS,
}  # fmt: skip
"""Where a reason may lead; one that is not named may lead anywhere: the fewest executors that hold, those that were declared."""
ABOVE = {"backlogged_tasks", "lag_above_backlog", "latency_above_limit", "stabilised", "tasks_too_few", "utilization_above_target"}
BELOW = {"no_backlog", "recently_rescaled", "too_soon", "uptime_below_period", "utilization_below_target"}
"""Reasons whose first number lies above, or below, the second."""
SOME = settings(max_examples=60)
EVERY: dict[str, Any] = {name: policy() for name, policy in POLICIES.items()}


@SOME
@given(seen=assessments())
def test_a_decision_is_within_the_limits_repeatable_and_its_reason_agrees_with_its_direction_and_numbers(seen: Assessment) -> None:
    for name, policy in EVERY.items():
        decision = policy.decide(remembering(seen, name))
        assert decision.executors in seen.choices and decision == policy.decide(remembering(seen, name)), name
        why: Comparison = decision.why
        assert decision.direction in DIRECTIONS.get(why.code, {"up", "down", "keep"}) and why.words(), (name, why)
        if why.code in ABOVE | BELOW:
            assert why.value is not None and why.limit is not None, (name, why)
            assert (why.value > why.limit) == (why.code in ABOVE), (name, why)


@SOME
@given(seen=assessments())
def test_candidates_ascend_until_one_passes_and_numbers_bear_refusals_out(seen: Assessment) -> None:
    for name, policy in EVERY.items():
        decision: Decision = policy.decide(remembering(seen, name))
        assert [each.executors for each in decision.candidates] == list(seen.choices[: len(decision.candidates)]), name
        passed = [each.executors for each in decision.candidates if each.refused is None]
        assert passed == ([decision.executors] if decision.candidates and decision.why.code in ("smallest_that_holds", "cheapest_ahead") else []), name
        refused = [each.refused for each in decision.candidates if each.refused is not None]
        assert all(borne_out(each) for each in refused), (name, refused)


def borne_out(refused: Comparison) -> bool:
    """Whether the two numbers speak against the executors as the reason says."""
    if refused.value is None or refused.limit is None:
        return refused.code == "unknown_capacity"
    if refused.code == "recovery_above_target":
        return refused.value > refused.limit
    if refused.code == "dearer":
        return refused.value >= refused.limit
    return refused.code == "latency_invalid" or refused.value <= refused.limit


@SOME
@given(world=worlds(), declared=st.integers(1, 14))
def test_where_nothing_is_known_the_executors_stay(world: World, declared: int) -> None:
    """But for `static`, which knows all it needs: what was declared."""
    seen = without(replace(world.seen(world.most), declared=scaled_to(declared), memory=None), frozenset(PARTS))
    for name, policy in EVERY.items():
        stays = min(max(declared, world.least), world.most) if name == "static" else world.most
        assert policy.decide(seen).executors == stays, name


@SOME
@given(world=worlds(), more=st.sampled_from((1.25, 2.0, 3.0, 10.0)), data=st.data())
def test_more_load_never_means_fewer_executors(world: World, more: float, data: st.DataObject) -> None:
    """More of all that comes: load, forecast, what waits. Capacities, timers and memory are the same; more executors carry no less.

    The exception: a job that lags longer than its profile predicts is not left to Phoebe, and Daedalus may be content with less.
    """
    current = data.draw(st.sampled_from(world.executor_counts))
    usual, busier = world.seen(current), world.seen(current, more=more)
    for name, policy in EVERY.items():
        less, more_of_it = policy.decide(remembering(usual, name)), policy.decide(remembering(busier, name))
        assert more_of_it.executors >= less.executors or (less.policy == "auto:phoebe" != more_of_it.policy), name


@pytest.mark.slow
@settings(max_examples=25)
@given(world=worlds(steady=True), data=st.data())
def test_under_a_constant_load_it_comes_to_rest(world: World, data: st.DataObject) -> None:
    """A steady state is a fixed point, and is reached from any executors.

    The exception: Daedalus as in the paper, where a failure takes longer than a rescale that stops the job (see its own tests); here downtimes are alike.
    """
    current = data.draw(st.sampled_from(world.executor_counts))
    alike = replace(world, downtimes_s=dict.fromkeys(KINDS, world.downtimes_s["rescale_up"]))
    for name, policy in EVERY.items():
        decisions = followed(policy, alike if name == "daedalus" else world, current)
        assert {each.direction for each in decisions[-6:]} == {"keep"}, (name, [each.executors for each in decisions])


def followed(policy: Policy, world: World, current: int, times: int = 25, apart_s: float = 4000.0) -> list[Decision]:
    settled = replace(world, uptime_s=apart_s, since_rescale_s=apart_s)
    decisions: list[Decision] = []
    memory: PolicyMemory | None = None
    for number in range(times):
        decisions.append(policy.decide(settled.seen(current, memory=memory, at_s=NOW_S + number * apart_s)))
        current, memory = decisions[-1].executors, decisions[-1].memory
    return decisions
