"""Copies of a job on a testbed see the same rows at the same time."""

from __future__ import annotations

import pytest

from penstock import ports
from penstock.core.config import Config
from penstock.simulator.clock import SimulatedClock
from penstock.simulator.continuous import ContinuousEngine
from penstock.simulator.continuous_settings import ContinuousSettings
from penstock.simulator.load import Load
from penstock.simulator.testbed import SimulatedTestbed

CONFIG = Config(reading_interval_s=15.0, reading_window_s=15.0)
SETTINGS = ContinuousSettings(capacity_rows_per_s=1000.0)


def engine_of(executors: int, load: Load) -> ContinuousEngine:
    return ContinuousEngine(SETTINGS, load, executors=executors, seed=executors)


@pytest.fixture
def clock() -> SimulatedClock:
    return SimulatedClock(5000.0)


@pytest.fixture
def testbed(clock: SimulatedClock) -> ports.Testbed:
    return SimulatedTestbed(engine_of, clock, CONFIG)


def test_every_copy_gets_the_rate_and_only_the_large_ones_keep_up(testbed: ports.Testbed, clock: SimulatedClock) -> None:
    copies = {executors: testbed.launch(executors) for executors in (1, 2, 4)}
    testbed.set_rate(1500.0)
    for copy in copies.values():
        copy.read()
    clock.wait(60.0)
    readings = {executors: copy.read() for executors, copy in copies.items()}
    assert [reading.arrival_rows_per_s for reading in readings.values()] == pytest.approx([1500.0] * 3)
    assert [reading.throughput_rows_per_s for reading in readings.values()] == pytest.approx([1000.0, 1500.0, 1500.0], rel=0.02)
    assert [(reading.excess_lag_rows or 0.0) > 1000.0 for reading in readings.values()] == [True, False, False]


def test_a_rate_is_set_from_now_on(testbed: ports.Testbed, clock: SimulatedClock) -> None:
    copy, rates = testbed.launch(4), []
    for rate in (500.0, 2500.0, 0.0):
        testbed.set_rate(rate)
        copy.read()
        clock.wait(30.0)
        rates.append(copy.read().arrival_rows_per_s)
    assert rates == pytest.approx([500.0, 2500.0, 0.0])


def test_a_copy_that_comes_later_gets_the_rate_of_the_others(testbed: ports.Testbed, clock: SimulatedClock) -> None:
    testbed.set_rate(800.0)
    clock.wait(100.0)
    copy = testbed.launch(2)
    assert copy.read().at_s == 5100.0
    clock.wait(30.0)
    assert copy.read().arrival_rows_per_s == pytest.approx(800.0)


def test_a_copy_that_is_stopped_sees_no_new_rate_and_its_size_can_be_launched_again(testbed: ports.Testbed, clock: SimulatedClock) -> None:
    stopped = testbed.launch(2)
    testbed.set_rate(800.0)
    with pytest.raises(ValueError):
        testbed.launch(2)
    testbed.stop(2)
    again = testbed.launch(2)
    testbed.set_rate(300.0)
    for copy in (stopped, again):
        copy.read()
    clock.wait(30.0)
    assert [copy.read().arrival_rows_per_s for copy in (stopped, again)] == pytest.approx([800.0, 300.0])
