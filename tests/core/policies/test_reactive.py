"""Flink's reactive mode: HPA at a low target, on a plant that restarts with every change."""

from __future__ import annotations

from dataclasses import replace

from assessed import NOW_S, assessed
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.domain.reading import ExecutorReading
from penstock.core.knowledge.assessment import Assessment
from penstock.core.policies.hpa import Hpa, Reactive
from penstock.runtime.fakes import blank_reading


def busy(share: float, lag_rows: float = 0.0) -> Assessment:
    four = tuple(ExecutorReading(executor_id=str(each), host="a", slots=1, uptime_s=3600.0, busyness=share, cpu_cores=share) for each in range(4))
    return assessed(reading=blank_reading(NOW_S, executors=four, executors_running=4, executors_requested=4, excess_lag_rows=lag_rows))


def test_it_holds_executors_at_a_third() -> None:
    assert Reactive().decide(busy(0.35)).executors == 4
    assert Reactive().decide(busy(0.7)).executors == 8
    assert Reactive().decide(busy(0.7)).policy == "reactive"


@given(share=st.floats(0.0, 1.0))
def test_it_decides_as_hpa_does_at_the_same_target(share: float) -> None:
    mine, its = Reactive().decide(busy(share)), Hpa(target=0.35).decide(busy(share))
    assert (mine.executors, mine.why, mine.guards) == (its.executors, its.why, ())
    assert [*mine.memo.values()] == [*its.memo.values()]


@given(share=st.floats(0.0, 1.0))
def test_a_recovery_does_not_hold_it_back(share: float) -> None:
    recovering = replace(busy(share, lag_rows=1e6), uptime_s=1.0, since_rescale_s=1.0)
    assert Reactive().decide(recovering) == Reactive().decide(busy(share))


def test_where_a_change_does_not_stop_the_job_it_says_so() -> None:
    decision = Reactive().decide(replace(busy(0.7), plant="micro_batch", stops=frozenset()))
    assert (decision.executors, [guard.code for guard in decision.guards]) == (8, ["plant_rescales_live"])
