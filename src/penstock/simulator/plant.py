"""A simulated job behind the ports of a real one: its clock, its source and actuator, and a testbed of copies."""

from collections.abc import Callable

from penstock.core.config import Config
from penstock.core.domain.configuration import Configuration
from penstock.core.domain.fault import Fault, Injected
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.reading import Reading
from penstock.core.errors import NotReachable
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.monitor.observe import Memory, observe
from penstock.ports import Clock, Copy, Faults
from penstock.simulator.engine import Engine
from penstock.simulator.load import Load


class SimulatedClock:
    """A clock whose time passes only in `wait`."""

    def __init__(self, now_s: float = 0.0) -> None:
        self._now_s = now_s

    def now_s(self) -> float:
        return self._now_s

    def wait(self, seconds: float) -> None:
        self._now_s += max(0.0, seconds)


class SimulatedPlant:
    """Source and Actuator of a simulated job. Each call first advances the engine to the clock's time."""

    def __init__(self, engine: Engine, clock: Clock, config: Config, promises: Promises = Promises()) -> None:
        self._engine = engine
        self._clock = clock
        self._config = config
        self._promises = promises
        self._memory = Memory()

    def advance(self) -> None:
        """Advance the engine to now, so that outcomes reach the controller before its turn and not in the middle of it."""
        self._engine.advance(self._clock.now_s())

    def read(self) -> Reading:
        self.advance()
        self._memory, reading = observe(self._memory, self._engine.observation(), self._config, self._promises)
        return reading

    def perform(self, instruction: Instruction, report: Callable[[Outcome], None]) -> None:
        self.advance()
        self._engine.perform(instruction, report)


class SimulatedCopy(SimulatedPlant):
    """A copy on a testbed, and the faults that strike it."""

    def __init__(self, engine: Engine, load: Load, clock: Clock, config: Config) -> None:
        super().__init__(engine, clock, config)
        self._load = load
        self._stopped = False

    def advance(self) -> None:
        if self._stopped:
            raise NotReachable("the copy was stopped")
        super().advance()

    def set_rate(self, rows_per_s: float) -> None:
        self.advance()
        self._load = self._load.then(self._clock.now_s(), rows_per_s)
        self._engine.follow(self._load)

    def stop(self) -> None:
        self._stopped = True

    @property
    def faults(self) -> Faults:
        return self

    def inject(self, fault: Fault) -> Injected:
        self.advance()
        return Injected(fault=fault, at_s=self._clock.now_s(), executor_id=self._engine.strike(fault))

    def undo(self, injected: Injected) -> None:
        self.advance()
        if injected.fault.kind == "freeze" and injected.executor_id is not None:
            self._engine.thaw(injected.executor_id)


EngineOf = Callable[[Configuration, Load], Engine]
"""Makes a copy of the job with this configuration and this load."""


class SimulatedTestbed:
    """Copies that share a clock; no rows arrive at a copy before it is given a rate."""

    def __init__(self, engine_of: EngineOf, clock: Clock, config: Config) -> None:
        self._engine_of = engine_of
        self._clock = clock
        self._config = config

    def launch(self, configuration: Configuration) -> Copy:
        load = Load.of(Arrivals.constant(0.0), self._clock.now_s())
        return SimulatedCopy(self._engine_of(configuration, load), load, self._clock, self._config)
