from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from changes import scaled_to
from example_run import example_run
from hypothesis import given
from hypothesis import strategies as st
from planned import wants

from penstock.core.domain.events.autopilot_events import Decided, Graded, PromiseBroken
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.reading import Quantiles
from penstock.core.models.latency.pooled import pooled_quantiles
from penstock.dashboard.summary import summarise, summarise_decisions

READINGS, EVENTS = example_run()
PROMISES = Promises(latency_p95_s=5)
LATENCIES = st.lists(st.floats(0, 1e4), min_size=3, max_size=3).map(sorted).map(lambda q: Quantiles(p50_s=q[0], p95_s=q[1], p99_s=q[2]))


def test_a_run_is_added_up() -> None:
    steady = [replace(READINGS[0], at_s=10.0 * i, throughput_rows_per_s=100.0, executors_running=2 if i < 3 else 3, executors_requested=2 + (i >= 2))
              for i in range(6)]  # fmt: skip
    summary = summarise(steady, EVENTS, PROMISES, max_executors=4)
    assert summary.report.duration_s == 50 and summary.report.processed_rows == pytest.approx(5000)
    assert summary.report.executor_s == 3 * 10 * 2 + 2 * 10 * 3 and summary.executor_s_at_maximum == 200
    assert (summary.report.rescales, summary.report.restarts, summary.report.failures) == (1, 1, 1)
    assert summary.report.within_promise == 1.0


def test_rows_print_every_number() -> None:
    rows = dict(summarise(READINGS, EVENTS, PROMISES, max_executors=4).rows())
    assert rows["duration"] == "4m" and rows["executor-seconds"] == "595 (62% of 960 with the maximum all the time)"
    assert rows["within the promise"] == "91% of rows (5s promised)"
    assert (rows["rescales"], rows["restarts"], rows["failures"]) == ("3", "1", "1")


def test_what_is_not_known_is_said_to_be_unknown() -> None:
    assert summarise([], [], PROMISES, max_executors=4).rows() == [("run", "nothing recorded yet")]
    rows = dict(summarise(READINGS[:1], [], Promises(), max_executors=4).rows())
    assert (rows["rows processed"], rows["executor-seconds"], rows["within the promise"]) == ("–", "–", "nothing promised")
    blind = [replace(each, arrival_rows_per_s=None, throughput_rows_per_s=None, latency=None) for each in READINGS]
    report = summarise(blind, [], PROMISES, max_executors=4).report
    assert (report.processed_rows, report.peak_arrival_rows_per_s, report.latency, report.within_promise) == (None, None, None, None)


@given(LATENCIES)
def test_the_quantiles_of_a_single_reading_are_its_own(latency: Quantiles) -> None:
    pooled = pooled_quantiles([latency], np.array([1.0]))
    assert pooled is not None and (pooled.p50_s, pooled.p95_s, pooled.p99_s) == pytest.approx((latency.p50_s, latency.p95_s, latency.p99_s), rel=1e-6, abs=1e-6)


@given(st.lists(LATENCIES, min_size=1, max_size=20))
def test_pooled_quantiles_are_in_order_and_within_what_was_seen(latencies: list[Quantiles]) -> None:
    pooled = pooled_quantiles(latencies, np.ones(len(latencies)))
    assert pooled is not None and 0 <= pooled.p50_s <= pooled.p95_s <= pooled.p99_s <= max(each.p99_s for each in latencies) + 1e-6


def decided(executors: int, effect: Any, mode: Any = "active") -> Decided:
    return Decided(id=1, at_s=1.0, mode=mode, policy="thumb", decision=wants(executors, 3), effect=effect)


def graded(actual: float) -> Graded:
    return Graded(at_s=1.0, kind="capacity", about="", made_s=0.0, predicted=10.0, low=9.0, high=11.0, actual=actual, configuration=scaled_to(3))


def test_only_what_was_carried_out_counts_and_a_proposal_when_it_is_approved() -> None:
    effects = [decided(4, "asked"), decided(2, "asked"), decided(5, "proposed"), decided(5, "approved"), decided(6, "held"), decided(3, "kept")]
    found = summarise_decisions([*effects, PromiseBroken(at_s=2.0, promise="latency p95", value=3.0, limit=2.0), graded(10.5), graded(12.0)])
    assert found is not None
    assert found.rows() == [("decided by thumb", "2 up, 1 down"), ("promises broken", "1"), ("predictions within their bounds", "50% of 2")]


def test_a_shadow_is_called_one_and_a_run_without_a_policy_says_nothing_of_one() -> None:
    found = summarise_decisions([decided(2, "shadow", "shadow")])
    assert found is not None
    assert found.rows() == [("decided by thumb", "0 up, 1 down, in shadow"), ("promises broken", "0"), ("predictions within their bounds", "none graded yet")]
    readings, events = example_run()
    without = summarise(readings, events, Promises(), 4).rows()
    with_one = summarise(readings, [*events, decided(4, "asked")], Promises(), 4).rows()
    assert summarise_decisions(events) is None and with_one[: len(without)] == without and len(with_one) == len(without) + 3
