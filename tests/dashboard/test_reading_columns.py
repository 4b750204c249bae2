from dataclasses import replace

import numpy as np
import pytest
from example_run import START_S, example_run
from planned import wants

from penstock.core.domain.events.autopilot_events import AutopilotChanged, Decided, PolicyPaused
from penstock.core.domain.events.run_events import RunEnded
from penstock.dashboard.reading_columns import series

READINGS, _ = example_run()


def test_columns_hold_what_the_readings_say_in_the_order_of_time() -> None:
    columns = series(list(reversed(READINGS)))
    assert columns.at_s.tolist() == [reading.at_s for reading in READINGS]
    assert columns.executors_running.tolist() == [reading.executors_running for reading in READINGS]
    assert columns.lag_rows.tolist() == [reading.lag_rows for reading in READINGS]


def test_an_unknown_is_a_gap_and_a_time_without_readings_breaks_every_line() -> None:
    columns = series([replace(READINGS[0], arrival_rows_per_s=None, latency=None), READINGS[1]])
    assert np.isnan(columns.arrival_rows_per_s[0]) and np.isnan(columns.p95_s[0])
    assert columns.p95_s[1] == pytest.approx(READINGS[1].latency.p95_s if READINGS[1].latency else None)
    assert series([]).at_s.shape == series([]).p99_s.shape == (0,)
    columns = series([replace(reading, at_s=reading.at_s + (600 if i >= 20 else 0)) for i, reading in enumerate(READINGS)])
    assert len(columns.at_s) == len(READINGS) + 1
    assert np.isnan(columns.executors_running[20]) and np.isfinite(columns.executors_running[[19, 21]]).all()
    assert (np.diff(columns.at_s) > 0).all()


def test_many_readings_are_folded_without_losing_a_peak() -> None:
    many = [replace(READINGS[0], at_s=float(i), lag_rows=1e6 if i == 777 else 0.0, excess_lag_rows=None, arrival_rows_per_s=float(i % 2)) for i in range(5000)]
    columns = series(many, at_most=100)
    assert len(columns.at_s) == 100 and columns.lag_rows.max() == 1e6
    assert np.isnan(columns.excess_lag_rows).all()
    assert columns.arrival_rows_per_s == pytest.approx(np.full(100, 0.5))


def test_the_executors_a_policy_wants_hold_until_its_next_decision_and_not_while_it_does_not_decide() -> None:
    def decided(after_s: float, executors: int) -> Decided:
        return Decided(id=1, at_s=START_S + after_s, mode="shadow", policy="thumb", decision=wants(executors, 3), effect="shadow")

    events = [
        decided(10.0, 4), decided(20.0, 5), PolicyPaused(at_s=START_S + 30.0, who="ann", until_s=None), decided(40.0, 2),
        AutopilotChanged(at_s=START_S + 50.0, changes=(("mode", "shadow", "observe"),)), decided(60.0, 3), RunEnded(at_s=START_S + 70.0, job="j", reason="r"),
    ]  # fmt: skip
    known = [None if np.isnan(executors) else executors for executors in series(READINGS[:16], events).executors_decided.tolist()]
    assert known == [None, None, 4, 4, 5, 5, None, None, 2, 2, None, None, 3, 3, None, None]
    assert np.isnan(series(READINGS[:16]).executors_decided).all()
