"""The testbeds of the contract suites: simulated ones, and real Spark, whose copy is shared by the tests that leave it as it was."""

import time
from collections.abc import Callable
from pathlib import Path

from jobfiles import write

from penstock.core.config import Config
from penstock.core.domain.configuration import Configuration, QueryConfiguration
from penstock.core.domain.reading import Reading
from penstock.core.domain.trigger import Trigger
from penstock.ports import Copy, Testbed
from penstock.runtime.jobfile import load_job
from penstock.runtime.steady_clock import SteadyClock
from penstock.simulator.continuous import ContinuousEngine
from penstock.simulator.engine import Engine
from penstock.simulator.engine_settings import ContinuousSettings, MicroBatchSettings
from penstock.simulator.graph import Simulable, configured
from penstock.simulator.load import Load
from penstock.simulator.microbatch import MicroBatchEngine
from penstock.simulator.plant import SimulatedClock, SimulatedTestbed
from penstock.wiring.copies import SparkTestbed

PATIENCE_S = 90.0
CONFIG = Config(reading_interval_s=1.0, reading_window_s=4.0)


class Stage:
    """A testbed, a configuration that it takes, the copies that run on it, and its time."""

    def __init__(self, testbed: Testbed, configuration: Configuration, clock: SimulatedClock | SteadyClock) -> None:
        self.testbed, self.configuration, self.clock = testbed, configuration, clock
        self.shared: Copy | None = None
        self.is_real = isinstance(clock, SteadyClock)

    def copy(self) -> Copy:
        if self.shared is None:
            self.shared = self.testbed.launch(self.configuration)
            self.shared.set_rate(300.0)
        return self.shared

    def until(self, copy: Copy, holds: Callable[[Reading], object], what: str) -> Reading:
        deadline_s = self.clock.now_s() + PATIENCE_S
        while not holds(reading := copy.read()):
            assert self.clock.now_s() < deadline_s, f"{what}: not within {PATIENCE_S:g} s; {reading}"
            self.wait(0.5)
        return reading

    def wait(self, seconds: float) -> None:
        if isinstance(self.clock, SteadyClock):
            time.sleep(seconds)
        else:
            self.clock.wait(seconds)


def simulated(job: Simulable, knobs: QueryConfiguration) -> Stage:
    def engine_of(configuration: Configuration, load: Load) -> Engine:
        of = configured(job, configuration)
        if isinstance(of, ContinuousSettings):
            return ContinuousEngine(of, load, executors=configuration.executors)
        assert isinstance(of, MicroBatchSettings)
        return MicroBatchEngine(of, load, executors=configuration.executors)

    clock = SimulatedClock(5000.0)
    return Stage(SimulatedTestbed(engine_of, clock, CONFIG), Configuration(executors=2, queries={"q": knobs}), clock)


def micro_batch_stage() -> Stage:
    return simulated(MicroBatchSettings(query="q"), QueryConfiguration(trigger=Trigger(interval_s=1.0), rate_limit_rows_per_s=5000.0, partitions=3))


def continuous_stage() -> Stage:
    knobs = QueryConfiguration(trigger=Trigger(kind="real_time", interval_s=5.0), rate_limit_rows_per_s=5000.0)
    return simulated(ContinuousSettings(capacity_rows_per_s=1000.0, query="q"), knobs)


JOB = """
name = "original"
master = "embedded"
checkpoint = "checkpoint"
[limits]
max_executors = 2
[sources.events]
format = "trace"
rate = "constant(100)"
partitions = 4
[queries.q]
function = "job.py:counted"
trigger = "2s"
[queries.q.sink]
format = "ledger"
path = "ledger"
[settings]
reading_interval_s = 1
reading_window_s = 4
"""


def spark_stage(folder: Path) -> tuple[Stage, SparkTestbed]:
    clock = SteadyClock()
    testbed = SparkTestbed(load_job(write(folder, job=JOB)).spec, clock)
    knobs = QueryConfiguration(trigger=Trigger(interval_s=1.0), rate_limit_rows_per_s=5000.0, partitions=3)
    return Stage(testbed, Configuration(executors=2, queries={"q": knobs}), clock), testbed
