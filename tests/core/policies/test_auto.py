from dataclasses import replace
from typing import Any

import pytest
from assessed import NOW_S, about, assessed, under

from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.policy_memory import AutoMemory, Ds2Memory, Wanted
from penstock.core.domain.reading import ExecutorReading, Reading
from penstock.core.knowledge.assessment import Assessment, StageNeed
from penstock.core.knowledge.policy import Need
from penstock.core.knowledge.terms import Terms
from penstock.core.models.latency.latency_table import LatencyTable
from penstock.core.policies.auto import Auto
from penstock.core.policies.registry import POLICIES, policy_of
from penstock.runtime.fakes import blank_reading

TABLE = LatencyTable(executor_counts=(1,), rates_rows_per_s=(0.0, 5000.0), latency_s=((1.0, 1.0),), valid=((True, True),), rows=50)
PROFILED: dict[str, Any] = {"table": TABLE, "t_max": {executors: about(100.0 * executors) for executors in range(1, 13)}}
PROMISED = Promises(latency_p95_s=1.0)
STAGE = StageNeed(position=0, name="source", rate_rows_per_s=100.0, selectivity=1.0)


def busy(share: float) -> Reading:
    four = tuple(ExecutorReading(executor_id=str(number), host="a", slots=1, uptime_s=3600.0, busyness=share, cpu_cores=share) for number in range(4))
    return blank_reading(NOW_S, executors=four, executors_running=4, executors_requested=4, busyness=share)


KNOWN: dict[str, tuple[Assessment, str, float]] = {
    "a profile, and a promised latency": (under(350.0, promises=PROMISED, executors=5, **PROFILED), "auto:phoebe", 600.0),
    "a profile, and no promise": (under(350.0, **PROFILED), "auto:daedalus", 60.0),
    "a profile of micro-batches": (under(350.0, plant="micro_batch", stops=frozenset(), promises=PROMISED, **PROFILED), "auto:daedalus", 60.0),
    "a promised latency, and no profile": (under(350.0, promises=PROMISED), "auto:daedalus", 60.0),
    "load and capacity, and utilisation": (under(350.0, reading=busy(0.9)), "auto:daedalus", 60.0),
    "stages and load": (under(350.0, capacities={}, stages=(STAGE,), reading=busy(0.9)), "auto:ds2", 60.0),
    "utilisation": (assessed(reading=busy(0.9)), "auto:hpa", 15.0),
}


@pytest.mark.parametrize("known", KNOWN)
def test_the_first_that_suits_the_job_and_knows_enough_decides(known: str) -> None:
    seen, name, next_after_s = KNOWN[known]
    decision = Auto().decide(seen)
    assert (decision.policy, decision.next_after_s) == (name, next_after_s)


def test_a_decision_is_that_of_the_policy_it_names() -> None:
    seen = under(350.0)
    mine, its = Auto().decide(seen), Auto().daedalus.decide(seen)
    assert (mine.executors, mine.why, mine.candidates) == (its.executors, its.why, its.candidates)


def test_phoebe_still_waits_for_its_period_first() -> None:
    decision = Auto().decide(under(350.0, promises=PROMISED, uptime_s=10.0, **PROFILED))
    assert (decision.policy, decision.why.code, decision.next_after_s) == ("auto:phoebe", "uptime_below_period", 600.0)


@pytest.mark.parametrize(("uptime_s", "next_after_s"), [(200.0, 400.0), (590.0, 60.0)])
def test_to_have_looked_after_a_rescale_does_not_put_off_phoebes_next_decision(uptime_s: float, next_after_s: float) -> None:
    decision = Auto().decide(under(350.0, promises=PROMISED, uptime_s=uptime_s, since_rescale_s=uptime_s + 20.0, **PROFILED))
    assert (decision.why.code, decision.next_after_s) == ("uptime_below_period", next_after_s)


def test_after_a_rescale_by_phoebe_it_is_asked_again_when_the_job_should_have_recovered() -> None:
    decision = Auto().decide(under(350.0, promises=PROMISED, **PROFILED))
    assert (decision.executors, decision.policy) == (5, "auto:phoebe")
    assert decision.next_after_s == pytest.approx(decision.candidates[-1].recovery_s + 120.0)  # type: ignore[operator]


RECOVERED_S = 30.0 + 40.0 * 350.0 / 150.0
"""By the T_max of 500 rows/s at 5 executors."""


@pytest.mark.parametrize(
    ("executors", "uptime_s", "lag_rows", "policy"),
    [
        (5, RECOVERED_S + 59.0, 1e5, "auto:phoebe"),
        (5, RECOVERED_S + 61.0, 1e5, "auto:daedalus"),
        (5, RECOVERED_S + 61.0, 300.0, "auto:phoebe"),
        (5, 3600.0, 1e5, "auto:daedalus"),
        (3, 89.0, 1e5, "auto:phoebe"),  # by the profile itself three cannot carry the load
        (3, 91.0, 1e5, "auto:daedalus"),
    ],
)
def test_a_job_that_lags_longer_than_its_profile_predicts_is_not_left_to_phoebe(executors: int, uptime_s: float, lag_rows: float, policy: str) -> None:
    seen = under(350.0, promises=PROMISED, executors=executors, uptime_s=uptime_s, lag_rows=lag_rows, **PROFILED)
    assert Auto().decide(seen).policy == policy


def test_while_nothing_is_known_the_executors_stay() -> None:
    decision = Auto().decide(assessed(executors=3))
    assert (decision.policy, decision.executors, decision.why.code, decision.next_after_s) == ("auto", 3, "not_ready", None)


def test_without_the_cpu_of_any_executor_it_says_so() -> None:
    reading = busy(0.9)
    silent = replace(reading, executors=tuple(replace(executor, cpu_cores=None) for executor in reading.executors))
    decision = Auto().decide(assessed(reading=silent))
    assert (decision.policy, decision.direction, decision.why.code) == ("auto", "keep", "cpu_unknown")


def test_more_utilisation_than_seven_tenths_asks_for_more() -> None:
    assert Auto().decide(assessed(reading=busy(0.9))).direction == "up"
    assert Auto().decide(assessed(reading=busy(0.7))).direction == "keep"


def test_what_one_of_its_policies_wanted_outlives_the_decisions_of_another() -> None:
    """The hour of ds2 is longer than the five minutes that hpa remembers."""
    ready = under(350.0, capacities={}, stages=(STAGE,), reading=busy(0.9), executors=8)
    earlier = Ds2Memory(wanted=(Wanted(at_s=NOW_S - 1800.0, executors=7),))
    between = Auto().decide(replace(ready, stages=(), memory=AutoMemory(ds2=earlier)))
    assert isinstance(between.memory, AutoMemory) and (between.policy, between.memory.ds2) == ("auto:hpa", earlier)
    after = Auto().decide(replace(ready, load_rows_per_s=10.0, at_s=NOW_S + 60.0, memory=between.memory))
    assert (after.policy, after.executors, after.why.code) == ("auto:ds2", 7, "utilization_below_target")
    assert isinstance(after.memory, AutoMemory) and after.memory.hpa == between.memory.hpa and after.memory.hpa.wanted and after.memory.ds2.wanted


def test_it_asks_for_what_its_policies_need_but_for_the_papers_parts_that_models_with_smaller_errors_replace() -> None:
    auto = Auto()
    needed: set[Need] = set().union(*(policy.needs for policy in (auto.phoebe, auto.daedalus, auto.ds2, auto.hpa)))
    assert needed - auto.needs == {"regression", "arima", "boosting"}


def test_its_policies_live_in_the_time_of_the_job() -> None:
    quick = policy_of(Terms(autopilot=Autopilot(policy="auto", time_scale=0.1)))
    assert quick.decide(under(350.0)).next_after_s == pytest.approx(6.0)
    assert quick.decide(under(350.0, since_rescale_s=30.0)).why.code == "recently_rescaled"
    assert Auto().decide(under(350.0, since_rescale_s=30.0)).why.code == "too_soon"


def test_the_shared_guards_are_on() -> None:
    assert not Auto().faithful
    assert POLICIES["auto"] is Auto
