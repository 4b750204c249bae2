"""A place to profile a job in: copies of it at several sizes, with one rate of arrivals for all."""

from __future__ import annotations

from collections.abc import Callable

from penstock.core.config import Config
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.ports import Clock, Source
from penstock.simulator.engine import Engine
from penstock.simulator.load import Load
from penstock.simulator.plant import SimulatedPlant

EngineOf = Callable[[int, Load], Engine]
"""Makes a copy of the job with so many executors and this load."""


class SimulatedTestbed:
    """Copies that share a clock and a rate, one of each size."""

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
