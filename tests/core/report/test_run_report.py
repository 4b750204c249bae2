from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from steady_job import READING_S, SteadyJob

from penstock.core.domain.events.executor_events import ExecutorLost
from penstock.core.domain.events.query_events import QueryFailed, QueryRestarted
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.reading import Quantiles, Reading
from penstock.core.report.run_report import Recovery, RunReport, Violation, covered_s, held_s, recoveries_of, run_report, violation_of
from penstock.runtime.fakes import blank_reading

PROMISED = Promises(latency_p95_s=2.0, recovery_s=60.0)
SPANS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)).map(sorted).map(tuple), max_size=8)


def every(seconds: float, *known: dict[str, Any], **same: Any) -> list[Reading]:
    """Readings so far apart; each says what is given for it, and `same`."""
    return [blank_reading(seconds * number, **{"executors_running": 2, "executors_requested": 2, **same, **each}) for number, each in enumerate(known)]


def late(seconds: float) -> Quantiles:
    return Quantiles(p50_s=seconds, p95_s=seconds, p99_s=seconds)


def failing(normal: int, *, after: int, downtime_s: float = 60.0) -> list[Reading]:
    """A job at half of its capacity for some readings, then one failure, and some readings after it."""
    job = SteadyJob(downtime_s=downtime_s)
    readings = [job.reading() for _ in range(normal)]
    job.fail()
    return [*readings, *(job.reading() for _ in range(after))]


def of(readings: Sequence[Reading], promises: Promises = PROMISED, **more: Any) -> RunReport:
    return run_report(readings, promises, **{"window_s": READING_S, **more})


def test_a_gap_was_not_observed_and_costs_nothing() -> None:
    readings = every(10.0, *[{}] * 6, executors_running=3, throughput_rows_per_s=100.0, arrival_rows_per_s=50.0)
    later = [blank_reading(each.at_s + 3600.0, executors_running=1, throughput_rows_per_s=10.0) for each in readings]
    found = of([*readings, *later])
    assert (found.from_s, found.until_s, found.duration_s, found.gap_s) == (0.0, 3650.0, 110.0, 3540.0)
    assert (found.executor_s, found.average_executors, found.cost(3.6)) == (3 * 60.0 + 50.0, 230.0 / 110.0, pytest.approx(0.23))
    assert (found.processed_rows, found.arrived_rows, found.peak_arrival_rows_per_s) == (6500.0, 3000.0, 50.0)


@pytest.mark.parametrize(("apart_s", "holds_s"), [(30.0, 30.0), (30.1, 10.0)])
def test_a_gap_is_more_than_three_usual_intervals(apart_s: float, holds_s: float) -> None:
    times_s = (0.0, 10.0, 20.0, 20.0 + apart_s, 30.0 + apart_s)
    assert held_s([blank_reading(at_s) for at_s in times_s]).tolist() == [10.0, 10.0, holds_s, 10.0, 0.0]


@given(gaps_s=st.lists(st.floats(0.1, 1e5), max_size=30))
def test_what_was_observed_and_what_was_not_is_the_whole_time(gaps_s: list[float]) -> None:
    found = of([blank_reading(at_s) for at_s in np.cumsum([0.0, *gaps_s]).tolist()])
    assert found.duration_s + found.gap_s == pytest.approx(sum(gaps_s)) and found.gap_s >= 0.0


def test_nothing_was_seen_of_a_run_without_readings_and_one_reading_has_no_duration() -> None:
    nothing, one = of([]), of(every(10.0, {"latency": late(1.0), "throughput_rows_per_s": 5.0}))
    assert (nothing.duration_s, nothing.gap_s, nothing.executor_s, nothing.average_executors, nothing.latency, nothing.recoveries) == (0, 0, 0, 0, None, ())
    assert (one.duration_s, one.executor_s, one.average_executors, one.within_promise) == (0.0, 0.0, 0.0, 1.0)


def test_the_share_within_the_promise_is_of_rows_and_not_of_readings() -> None:
    known = [{"throughput_rows_per_s": 900.0, "latency": late(1.0)}, {"throughput_rows_per_s": 100.0, "latency": late(50.0)}, {"latency": late(50.0)}]
    readings = every(10.0, *known, {"throughput_rows_per_s": 500.0})
    assert of(readings, window_s=0.0).within_promise == pytest.approx(0.9), "rows of unknown latency do not count"
    assert of(readings, Promises(), window_s=0.0).within_promise is None


def test_rows_lie_evenly_between_the_quantiles_of_a_reading() -> None:
    readings = every(10.0, {"throughput_rows_per_s": 1.0, "latency": Quantiles(p50_s=6.0, p95_s=10.5, p99_s=10.9)})
    shares = [of(readings, Promises(latency_p95_s=promised_s)).within_promise for promised_s in (0.9, 3.5, 6.0, 10.5, 11.0)]
    assert shares == pytest.approx([0.0, 0.25, 0.5, 0.95, 1.0])


def test_latencies_count_from_a_window_after_the_first_reading_on_unless_there_are_no_others() -> None:
    slow, fast = {"throughput_rows_per_s": 1.0, "latency": late(9.0)}, {"throughput_rows_per_s": 1.0, "latency": late(1.0)}
    found = of(every(10.0, slow, slow, fast, fast), window_s=15.0)
    assert (found.within_promise, found.violation) == (1.0, Violation())
    assert of(every(10.0, slow, slow), window_s=15.0).within_promise == 0.0


def test_a_promise_is_broken_while_the_p95_is_late_and_a_gap_breaks_none() -> None:
    known = [{"latency": late(p95_s)} for p95_s in (1.0, 2.0, 2.1, 3.0, 1.0)]
    readings = [*every(10.0, *known), blank_reading(50.0, latency=late(9.0)), blank_reading(5000.0, latency=late(1.0))]
    assert of(readings, window_s=0.0).violation == Violation(latency_s=30.0, recovery_s=0.0, total_s=30.0)
    assert of(readings, Promises(), window_s=0.0).violation is None


def test_a_recovery_is_measured_from_the_failure_until_the_job_keeps_up_again() -> None:
    readings = failing(40, after=40)
    (recovery,) = of(readings).recoveries
    took_s = recovery.took_s
    assert (recovery.kind, recovery.at_s) == ("query_restart", 600.0) and took_s is not None and 60.0 < took_s <= 180.0
    assert of(readings, Promises(recovery_s=60.0)).violation == Violation(recovery_s=took_s - 60.0, total_s=took_s - 60.0)
    assert of(readings, Promises(recovery_s=600.0)).violation_s == 0.0


def test_a_recovery_that_does_not_end_is_overdue_until_the_end_of_the_run() -> None:
    found = of(failing(40, after=20, downtime_s=1e6), Promises(recovery_s=60.0))
    assert found.recoveries == (Recovery(kind="query_restart", at_s=600.0, recovered_s=None),) and found.recoveries[0].took_s is None
    assert found.violation_s == 20 * READING_S - 60.0


def test_a_recovery_ends_where_readings_are_normal_again_if_not_for_long_yet() -> None:
    whole = of(failing(40, after=40)).recoveries[0]
    ended = [recoveries_of(failing(40, after=number), READING_S)[0].recovered_s for number in range(1, 20)]
    assert ended[0] is None and ended[-1] is not None and whole.recovered_s is not None
    assert all(each is None or abs(each - whole.recovered_s) <= READING_S for each in ended)


def test_a_second_in_which_both_promises_are_broken_counts_once() -> None:
    found = of(failing(40, after=40)).violation
    assert found is not None and found.latency_s > 0.0 < found.recovery_s
    assert max(found.latency_s, found.recovery_s) <= found.total_s < found.latency_s + found.recovery_s
    twice = [Recovery(kind="executor_loss", at_s=at_s, recovered_s=200.0) for at_s in (0.0, 50.0)]
    assert violation_of([(150.0, 250.0)], twice, PROMISED, 300.0) == Violation(latency_s=100.0, recovery_s=140.0, total_s=190.0)


@given(spans=SPANS)
def test_overlaps_are_covered_once(spans: list[tuple[int, int]]) -> None:
    assert covered_s(spans) == len({second for start_s, end_s in spans for second in range(start_s, end_s)})


def test_latencies_of_spans_that_are_left_out_do_not_count_and_executors_do() -> None:
    known = [{"throughput_rows_per_s": 10.0, "latency": late(9.0 if 3 <= number < 6 else 1.0)} for number in range(10)]
    whole, without = (of(every(10.0, *known), window_s=0.0, left_out=spans) for spans in ((), [(30.0, 60.0)]))
    assert (whole.within_promise, whole.violation_s) == (pytest.approx(6 / 9), 30.0)
    assert (without.within_promise, without.violation_s) == (1.0, 0.0)
    assert without.latency is not None and without.latency.p99_s == pytest.approx(1.0)
    assert (whole.executor_s, whole.duration_s) == (without.executor_s, without.duration_s) == (180.0, 90.0)


def test_executors_that_ran_are_paid_for_and_those_asked_for_are_rescales() -> None:
    executor_counts = [(2, 2), (2, 3), (3, 3), (2, 3), (3, 3), (4, 3), (3, 1), (1, 1)]
    found = of(every(10.0, *({"executors_running": ran, "executors_requested": asked} for ran, asked in executor_counts)))
    assert (found.executor_s, found.rescales, found.executors_used) == (190.0, 2, 3) and of([]).rescales == 0
    seldom = of(every(10.0, *[{}] * 50, {"executors_running": 9}, *[{}] * 50))
    assert seldom.executors_used == 1, "a number counts as used from a twentieth of the time on"


def test_failures_and_restarts_are_those_of_events_or_else_the_failures_that_readings_count() -> None:
    events = [
        QueryFailed(at_s=1.0, query="q", cause="c"),
        ExecutorLost(at_s=2.0, executor_id="1", reason="r"),
        QueryRestarted(at_s=3.0, query="q", attempt=1, downtime_s=2.0, cause="c"),
    ]
    readings = failing(5, after=5)
    assert (of(readings, events=events).failures, of(readings, events=events).restarts) == (2, 1)
    assert (of(readings).failures, of(readings).restarts) == (1, 0)
