"""Policies by utilisation see what a CPU metric would: through long batches, executors that came late, and outages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from assessed import NOW_S, assessed

from penstock.core.domain.decision import Recommended
from penstock.core.domain.reading import BatchParts, ExecutorReading, QueryReading
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge.assessment import Assessment
from penstock.core.models.usage import ROW_S
from penstock.core.policies.hpa import Hpa, HpaPaper, Reactive
from penstock.runtime.fakes import blank_reading

ALL = (Hpa(stable_down_s=0.0), HpaPaper(), Reactive(stable_down_s=0.0))


def executor(number: int, **known: Any) -> ExecutorReading:
    return ExecutorReading(**{"executor_id": str(number), "host": "a", "slots": 1, "uptime_s": 3600.0, **known})


def batched(executors: tuple[ExecutorReading, ...], memo: dict[str, float] | None = None, **known: Any) -> Assessment:
    """A job in micro-batches of 5 s that has committed one of 90 s, and begun another 24 s ago."""
    usual = {"name": "q", "state": "running", "trigger": Trigger(interval_s=5.0), "rate_limit_rows_per_s": None, "batch_id": 3, "batches": 1}
    long = {"batch": BatchParts(total_s=90.0), "since_commit_s": 24.0, "lag_s": 115.0, "lag_rows": 5e6, "uptime_s": 3600.0}
    query = QueryReading(**{**usual, **long, **known})
    size = len(executors)
    seen = blank_reading(NOW_S, queries=(query,), executors=executors, executors_running=size, executors_requested=size)
    return assessed(plant="micro_batch", reading=seen, current=size, memo=memo or {})


def flowing(share: float, **known: Any) -> Assessment:
    """Six executors in Real-Time Mode, so much of the CPU of each."""
    usual = {"name": "q", "state": "running", "trigger": Trigger(kind="real_time", interval_s=10.0), "rate_limit_rows_per_s": None, "uptime_s": 3600.0}
    executors = tuple(executor(number, cpu_cores=share) for number in range(6))
    seen = blank_reading(NOW_S, queries=(QueryReading(**{**usual, **known}),), executors=executors, executors_running=6, executors_requested=6)
    return assessed(reading=seen, current=6)


@pytest.mark.parametrize("uptime_s", [31.0, 23.0], ids=["came for its last wave", "came after it"])
def test_an_executor_without_a_part_in_the_last_batch_does_not_make_the_others_look_idle(uptime_s: float) -> None:
    three = tuple(executor(number, busyness=0.9987) for number in range(3))
    seen = batched((*three, executor(4, busyness=0.0, uptime_s=uptime_s)), busyness=0.749)
    decision = Hpa(ready_s=15.0).decide(seen)
    assert (decision.executors, decision.why.value) == (5, pytest.approx(0.9987))


def test_an_executor_that_joined_the_last_batch_counts_by_the_time_it_was_there() -> None:
    three = tuple(executor(number, busyness=0.9) for number in range(3))
    seen = batched((*three, executor(4, busyness=0.3, uptime_s=54.0)), busyness=0.75)
    assert Hpa().decide(seen).why.value == pytest.approx(0.9)


def test_an_executor_that_was_there_and_did_nothing_is_idle() -> None:
    seen = batched((executor(1, busyness=0.9), executor(2, busyness=0.0)), busyness=0.45)
    assert HpaPaper().decide(seen).why.value == pytest.approx(0.45)


def test_a_batch_that_runs_for_longer_than_a_reading_looks_back_is_work() -> None:
    idle = tuple(executor(number, busyness=0.0) for number in range(4))
    stalled: dict[str, Any] = {"batch": None, "batches": 0, "busyness": 0.0, "since_commit_s": 200.0, "lag_s": 290.0, "excess_lag_rows": 9e6}
    unknown = Hpa().decide(batched(idle, **stalled))
    assert (unknown.executors, unknown.why.code) == (4, "not_ready"), "what a row costs was never seen"
    for policy, size in ((Hpa(), 5), (HpaPaper(), 5), (Reactive(), 8)):
        decision = policy.decide(batched(idle, {f"{ROW_S}q": 0.0002}, **stalled))
        assert (decision.executors, decision.why.code, decision.why.value) == (size, "utilization_above_target", 1.0)


def test_what_a_row_costs_is_kept_in_mind_whatever_is_decided() -> None:
    told = batched((executor(1, busyness=0.8),), busyness=0.8, throughput_rows_per_s=4000.0)
    cost = {f"{ROW_S}q": pytest.approx(0.0002)}
    young = replace(told, reading=replace(told.reading, executors=(executor(1, busyness=0.8, uptime_s=1.0),)))
    for seen, code in ((told, "within_tolerance"), (replace(told, since_rescale_s=1.0), "too_soon"), (young, "not_ready")):
        decision = HpaPaper().decide(seen)
        assert (decision.why.code, decision.memo) == (code, cost)


@pytest.mark.parametrize("state", ["restarting", "failed", "starting"])
def test_an_outage_is_not_idleness(state: str) -> None:
    for policy in ALL:
        decision = policy.decide(flowing(0.05, state=state))
        assert (decision.executors, decision.why.code) == (6, "not_ready")
        assert policy.decide(flowing(0.05)).executors == 1


@pytest.mark.parametrize(("uptime_s", "knows"), [(0.0, False), (14.0, False), (15.0, True)])
def test_cpu_averaged_over_a_stop_tells_nothing(uptime_s: float, knows: bool) -> None:
    """The last decision, and the reading it was made from, are 15 s old."""
    seen = replace(flowing(0.05, uptime_s=uptime_s), earlier=(Recommended(at_s=NOW_S - 15.0, executors=6),))
    decision = HpaPaper().decide(replace(seen, reading=replace(seen.reading, since_disturbance_s=uptime_s)))
    assert (decision.why.code != "not_ready") == knows


def test_a_window_of_batches_that_overlaps_a_stop_tells_nothing() -> None:
    one = (executor(1, busyness=0.1),)
    calm: dict[str, Any] = {"batch": BatchParts(total_s=3.0), "batches": 2, "busyness": 0.1, "since_commit_s": 0.0, "lag_rows": 0.0}
    assert HpaPaper().decide(batched(one, uptime_s=8.0, **calm)).why.code == "not_ready"
    assert HpaPaper().decide(batched(one, uptime_s=18.0, **calm)).why.code != "not_ready"


def test_a_query_that_was_given_up_does_not_blind_a_policy_for_ever() -> None:
    for state in ("given up", "stopped", "ended"):
        assert HpaPaper().decide(flowing(0.05, state=state)).executors == 1
