import time

import numpy as np
import pytest

from penstock.core.config import Config
from penstock.core.domain.command import SetKnob
from penstock.core.domain.configuration import Configuration, QueryConfiguration
from penstock.core.domain.events.run_events import TurnFailed
from penstock.core.domain.events.steering_events import InstructionDone
from penstock.core.domain.fault import Fault
from penstock.core.domain.job_spec import Limits, Promises
from penstock.core.domain.reading import Reading
from penstock.core.knowledge.terms import Terms
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.usage import plant_of, utilization
from penstock.runtime.controller import Controller
from penstock.simulator.continuous import ContinuousEngine
from penstock.simulator.engine_settings import ContinuousSettings
from penstock.simulator.exact_report import exact_report
from penstock.simulator.load import Load
from penstock.simulator.plant import SimulatedClock, SimulatedPlant
from penstock.stores.in_memory import MemoryStore

CONFIG = Config(reading_interval_s=15.0, reading_window_s=15.0)
SETTINGS = ContinuousSettings(capacity_rows_per_s=5000.0)


class Stage:
    def __init__(self, arrivals: Arrivals, *, executors: int = 4, faults: tuple[Fault, ...] = (), settings: ContinuousSettings = SETTINGS) -> None:
        self.clock = SimulatedClock()
        self.engine = ContinuousEngine(settings, Load.of(arrivals, 0.0), executors=executors, faults=faults)
        self.plant = SimulatedPlant(self.engine, self.clock, CONFIG)

    def readings(self, until_s: float) -> list[Reading]:
        found = [self.plant.read()]
        while self.clock.now_s() < until_s:
            self.clock.wait(15.0)
            found.append(self.plant.read())
        return found

    def controller(self, store: MemoryStore) -> Controller:
        terms = Terms(limits=Limits(min_executors=1, max_executors=12), config=CONFIG)
        executors = self.engine.observation().executors_requested
        declared = Configuration(executors=executors, queries={"query": QueryConfiguration(trigger=SETTINGS.trigger)})
        return Controller(source=self.plant, actuator=self.plant, memory=store, clock=self.clock, terms=terms, declared=declared)


def test_a_reading_has_what_a_reading_of_spark_has() -> None:
    last = Stage(Arrivals.constant(10_000.0)).readings(300.0)[-1]
    assert last.at_s == 300.0 and last.failures == 0 and (last.executors_running, last.executors_requested) == (4, 4)
    assert last.arrival_rows_per_s == pytest.approx(10_000.0) == last.throughput_rows_per_s
    assert last.lag_rows == pytest.approx(0.0, abs=1e-3) and last.excess_lag_rows == 0.0
    assert last.latency is not None and last.latency.p95_s == pytest.approx(0.2 + 0.05, abs=0.02)
    (query,) = last.queries
    assert query.state == "running" and query.boundary_pause_s == 0.1 and query.batch_id == 28 and plant_of(last) == "continuous"


@pytest.mark.parametrize("load", [0.2, 0.5, 0.9])
def test_utilisation_and_throughput_of_each_worker_point_at_its_capacity(load: float) -> None:
    last = Stage(Arrivals.constant(20_000.0 * load)).readings(300.0)[-1]
    for executor in last.executors:
        busy = utilization(executor, "continuous")
        assert busy is not None and executor.throughput_rows_per_s == pytest.approx(5000.0 * load, rel=0.001)
        assert (busy - 0.02) / 0.98 == pytest.approx(load, rel=0.03)


def test_a_failure_shows_as_one() -> None:
    by_time = {reading.at_s: reading for reading in Stage(Arrivals.constant(10_000.0), faults=(Fault(at_s=100.0),)).readings(300.0)}
    assert by_time[90.0].failures == 0 and by_time[105.0].failures == 1
    assert by_time[105.0].queries[0].state == "restarting" and by_time[105.0].since_disturbance_s == 5.0
    assert by_time[120.0].throughput_rows_per_s == 0.0 and by_time[120.0].lag_rows == pytest.approx(10_000.0 * 30.0)
    assert by_time[135.0].queries[0].state == "running" and by_time[135.0].queries[0].uptime_s == 5.0
    assert by_time[150.0].throughput_rows_per_s == pytest.approx(20_000.0, rel=0.02)
    assert by_time[300.0].excess_lag_rows == 0.0 and by_time[300.0].queries[0].replayed_rows == pytest.approx(100_000.0)


def test_an_operator_scales_it_through_the_controller() -> None:
    stage, store = Stage(Arrivals.constant(10_000.0)), MemoryStore()
    controller = stage.controller(store)
    controller.step()
    controller.submit(SetKnob(at_s=0.0, who="ann", knob="executors", value="6"))
    for _ in range(5):
        stage.plant.advance()
        controller.step()
        stage.clock.wait(15.0)
    done = [event for event in store.events if isinstance(event, InstructionDone)]
    assert [(event.at_s, event.took_s) for event in done] == [(30.0, 30.0)]
    assert [reading.executors_running for reading in store.readings] == [4, 4, 4, 6, 6, 6]
    assert [outcome.down_s for outcome, _ in store.outcomes] == [30.0]
    assert not [event for event in store.events if isinstance(event, TurnFailed)]


@pytest.mark.slow
def test_six_hours_without_a_policy_are_quick(capsys: pytest.CaptureFixture[str]) -> None:
    time_s = np.arange(0.0, 21_600.0, 10.0)
    stage, store = Stage(Arrivals.through(time_s, 30_000.0 + 20_000.0 * np.sin(time_s / 3000.0)), executors=12, faults=(Fault(at_s=12_000.0),)), MemoryStore()
    controller, began = stage.controller(store), time.process_time()
    for _ in range(1440):
        stage.clock.wait(15.0)
        stage.plant.advance()
        controller.step()
    took_s = time.process_time() - began
    found = exact_report(stage.engine.record, Promises(latency_p95_s=1.0, recovery_s=600.0))
    with capsys.disabled():
        print(f"\nsix hours took {took_s:.2f} s of CPU; {found}")
    assert (found.duration_s, found.executor_s, len(store.readings)) == (21_600.0, 12 * 21_600.0, 1440)
    assert found.within_promise is not None and 0.98 < found.within_promise < 1.0
    (struck,) = found.recoveries
    assert struck.took_s is not None and 30.0 < struck.took_s < 120.0
