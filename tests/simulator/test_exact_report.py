from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.domain.job_spec import Promises
from penstock.core.domain.reading import Quantiles
from penstock.core.report.run_report import Violation
from penstock.simulator.exact_report import exact_report, quantiles
from penstock.simulator.ground_truth import COLUMNS, Record, Rescaled, Seconds, Struck, together


def recorded(count: int, **columns: Any) -> Record:
    """A record from 1,000 s on in which all is 0 but what is given; its rows finished at the end of their second with its latency."""
    record = Record(1000.0)
    written = Seconds(**{name: np.broadcast_to(np.asarray(columns.get(name, 0.0), dtype=float), count).copy() for name in COLUMNS})
    record.append(written)
    record.deliver(1001.0 + np.arange(count, dtype=np.float64), written.latency_s, written.finished_rows)
    return record


def test_executor_seconds_are_what_was_paid_for() -> None:
    record = recorded(10, executors=[4.0] * 6 + [2.0] * 4)
    record.rescales.append(Rescaled(asked_s=1006.0, done_s=1009.0, before=4, after=2, down_s=3.0))
    found = exact_report(record, Promises())
    assert (found.duration_s, found.executor_s, found.average_executors, found.rescales) == (10.0, 32.0, 3.2, 1)
    assert (found.latency, found.within_promise, found.violation) == (None, None, None)


def test_latency_is_weighted_by_rows() -> None:
    found = exact_report(recorded(4, finished_rows=[900.0, 60.0, 30.0, 10.0], latency_s=[0.1, 0.5, 1.0, 2.0]), Promises(latency_p95_s=0.5))
    assert found.latency == Quantiles(p50_s=0.1, p95_s=0.5, p99_s=1.0)
    assert found.latency_mean_s == pytest.approx((90.0 + 30.0 + 30.0 + 20.0) / 1000.0)
    assert found.within_promise == pytest.approx(0.96) and found.violation_s == 2.0


@pytest.mark.parametrize(("late_rows", "violation_s"), [(5.0, 0.0), (6.0, 1.0)])
def test_a_second_breaks_the_promise_by_its_p95(late_rows: float, violation_s: float) -> None:
    record = recorded(3)
    record.deliver(np.array([1002.0, 1002.0]), np.array([0.1, 9.0]), np.array([100.0 - late_rows, late_rows]))
    assert exact_report(record, Promises(latency_p95_s=1.0)).violation_s == violation_s


def test_rows_that_wait_are_judged_by_the_oldest_and_a_record_without_seconds_has_a_report() -> None:
    record = recorded(5, finished_rows=[1.0, 0.0, 0.0, 0.0, 1.0], latency_s=[0.1, 0.0, 0.0, 0.0, 3.0], oldest_s=[0.0, 0.5, 1.5, 2.5, 9.0])
    assert exact_report(record, Promises(latency_p95_s=1.0)).violation_s == 3.0
    record = recorded(3, arrived_rows=10.0, finished_rows=10.0, latency_s=0.1, lag_rows=1.0, oldest_s=0.1)
    assert exact_report(record, Promises(latency_p95_s=0.2)).within_promise == 1.0
    found = exact_report(Record(0.0), Promises(latency_p95_s=1.0))
    assert (found.executor_s, found.average_executors, found.latency, found.within_promise) == (0.0, 0.0, None, None)


def test_a_recovery_beyond_the_target_counts_and_one_without_end_counts_until_the_end() -> None:
    record = recorded(600)
    record.struck = [
        Struck(at_s=1100.0, kind="kill", recovered_s=1150.0),
        Struck(at_s=1200.0, kind="kill", recovered_s=1290.0),
        Struck(at_s=1500.0, kind="kill"),
    ]
    found = exact_report(record, Promises(recovery_s=60.0))
    assert found.violation_s == pytest.approx(0.0 + 30.0 + 40.0)
    assert [each.took_s for each in found.recoveries] == [50.0, 90.0, None]
    assert exact_report(record, Promises()).violation is None


def test_a_second_in_which_several_promises_are_broken_counts_once() -> None:
    record = recorded(600, finished_rows=1.0, latency_s=[0.1] * 280 + [5.0] * 40 + [0.1] * 280)
    record.struck = [
        Struck(at_s=1200.0, kind="kill", recovered_s=1310.5), Struck(at_s=1220.0, kind="kill", recovered_s=1310.5),
        Struck(at_s=1100.0, kind="kill", recovered_s=1170.0), Struck(at_s=1530.0, kind="kill"), Struck(at_s=1500.0, kind="kill"),
    ]  # fmt: skip
    recovering_s = 10.0 + 50.5 + 40.0
    assert exact_report(record, Promises(recovery_s=60.0)).violation_s == pytest.approx(recovering_s)
    assert exact_report(record, Promises(latency_p95_s=1.0)).violation_s == 40.0
    both = exact_report(record, Promises(latency_p95_s=1.0, recovery_s=60.0)).violation
    assert both == Violation(latency_s=40.0, recovery_s=recovering_s, total_s=10.0 + 60.0 + 40.0), "late from 1280 to 1320"
    assert exact_report(record, Promises(latency_p95_s=0.0, recovery_s=1.0)).violation_s == 600.0, "never more than the run"


def test_rows_that_wait_at_the_end_count_with_what_they_have_waited() -> None:
    """Ten rows a second: those of the first two seconds finished in 1 s, the others wait; by the median of 1 s the youngest ten tell nothing."""
    lag = [0.0, 0.0, 10.0, 20.0, 30.0]
    record = recorded(5, arrived_rows=10.0, finished_rows=[10.0, 10.0, 0.0, 0.0, 0.0], latency_s=[1.0, 1.0, 0.0, 0.0, 0.0], lag_rows=lag, oldest_s=lag)
    found = exact_report(record, Promises(latency_p95_s=2.0))
    assert (found.waiting_rows, found.oldest_waiting_s) == (30.0, 30.0)
    assert found.within_promise == pytest.approx(20.0 / 30.0), "ten wait for 2.5 s; of those that wait for 1.5 s and 0.5 s nothing is known"
    assert found.latency_mean_s == pytest.approx((20 * 1.0 + 10 * 1.5 + 10 * 2.5) / 40)


def test_the_rows_that_wait_in_a_job_are_those_of_its_queries() -> None:
    quick = recorded(4, arrived_rows=10.0, finished_rows=10.0, latency_s=0.1)
    slow = recorded(4, arrived_rows=10.0, lag_rows=[10.0, 20.0, 30.0, 40.0], oldest_s=[1.0, 2.0, 3.0, 4.0])
    found = exact_report(together([quick, slow]), Promises(latency_p95_s=1.0))
    assert (found.waiting_rows, found.oldest_waiting_s) == (40.0, 4.0)
    assert found.within_promise == pytest.approx(40.0 / 70.0)


def test_a_report_may_begin_later() -> None:
    record = recorded(10, executors=[9.0] * 4 + [1.0] * 6, finished_rows=1.0, latency_s=[5.0] * 4 + [0.1] * 6)
    record.rescales.append(Rescaled(asked_s=1003.0, done_s=1004.0, before=9, after=1))
    record.struck = [Struck(at_s=1001.0, kind="kill", recovered_s=1003.0)]
    found = exact_report(record, Promises(latency_p95_s=1.0, recovery_s=1.0), from_s=1004.0)
    assert (found.executor_s, found.average_executors, found.rescales, found.violation_s, found.recoveries) == (6.0, 1.0, 0, 0.0, ())
    assert found.latency_mean_s == pytest.approx(0.1) and found.within_promise == 1.0


@given(st.lists(st.tuples(st.floats(0.0, 100.0), st.integers(1, 50)), min_size=1, max_size=50))
def test_quantiles_are_those_of_every_row_by_itself(samples: list[tuple[float, int]]) -> None:
    latency_s, rows = np.array([each for each, _ in samples]), np.array([float(count) for _, count in samples])
    each_row = np.sort(np.repeat(latency_s, rows.astype(int)))
    found, mean_s = quantiles(latency_s, rows)
    assert found is not None and mean_s == pytest.approx(each_row.mean(), abs=1e-6)
    by_hand = [each_row[int(np.ceil(share * len(each_row) - 1e-9)) - 1] for share in (0.5, 0.95, 0.99)]
    assert [found.p50_s, found.p95_s, found.p99_s] == pytest.approx(by_hand, abs=1e-6)
