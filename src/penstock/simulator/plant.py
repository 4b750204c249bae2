"""A simulated job behind the ports of a real one: the same monitor makes the readings."""

from __future__ import annotations

from collections.abc import Callable

from penstock.core.config import Config
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.domain.reading import Reading
from penstock.core.monitor.observe import Memory, observe
from penstock.ports import Clock
from penstock.simulator.engine import Engine


class SimulatedPlant:
    """Source and Actuator in one. The engine lives up to the clock whenever it is looked at, asked, or told to by `advance`."""

    def __init__(self, engine: Engine, clock: Clock, config: Config) -> None:
        self._engine = engine
        self._clock = clock
        self._config = config
        self._memory = Memory()

    def advance(self) -> None:
        """Live up to now: outcomes come to the controller before its turn and not in the middle of it."""
        self._engine.advance(self._clock.now_s())

    def read(self) -> Reading:
        self.advance()
        self._memory, reading = observe(self._memory, self._engine.observation(), self._config)
        return reading

    def perform(self, instruction: Instruction, report: Callable[[Outcome], None]) -> None:
        self.advance()
        self._engine.perform(instruction, report)
