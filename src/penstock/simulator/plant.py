"""A simulated job behind the ports of a real one: its clock, its source and actuator, and a testbed of copies."""

from __future__ import annotations

from collections.abc import Callable

from penstock.core.config import Config
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.domain.reading import Reading
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.monitor.observe import Memory, observe
from penstock.ports import Clock, Source
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

    def __init__(self, engine: Engine, clock: Clock, config: Config) -> None:
        self._engine = engine
        self._clock = clock
        self._config = config
        self._memory = Memory()

    def advance(self) -> None:
        """Advance the engine to now, so that outcomes reach the controller before its turn and not in the middle of it."""
        self._engine.advance(self._clock.now_s())

    def read(self) -> Reading:
        self.advance()
        self._memory, reading = observe(self._memory, self._engine.observation(), self._config)
        return reading

    def perform(self, instruction: Instruction, report: Callable[[Outcome], None]) -> None:
        self.advance()
        self._engine.perform(instruction, report)


EngineOf = Callable[[int, Load], Engine]
"""Returns a copy of the job with this number of executors and this load."""


class SimulatedTestbed:
    """Copies of a job that share a clock and a rate of arrivals, one for each number of executors."""

    def __init__(self, engine_of: EngineOf, clock: Clock, config: Config) -> None:
        self._engine_of = engine_of
        self._clock = clock
        self._config = config
        self._rate_rows_per_s = 0.0
        self._copies: dict[int, tuple[Engine, Load]] = {}

    def launch(self, executors: int) -> Source:
        if executors in self._copies:
            raise ValueError(f"a copy with {executors} executors runs already")
        load = Load.of(Arrivals.constant(self._rate_rows_per_s), self._clock.now_s())
        engine = self._engine_of(executors, load)
        self._copies[executors] = (engine, load)
        return SimulatedPlant(engine, self._clock, self._config)

    def set_rate(self, rows_per_s: float) -> None:
        now_s, self._rate_rows_per_s = self._clock.now_s(), rows_per_s
        for executors, (engine, load) in self._copies.items():
            engine.advance(now_s)
            changed = load.then(now_s, rows_per_s)
            engine.follow(changed)
            self._copies[executors] = (engine, changed)

    def stop(self, executors: int) -> None:
        del self._copies[executors]
