"""A simulated run of the demonstration's job, in the place of one on Spark: a wave of load, and a policy that is quick to simulate."""

import numpy as np

from penstock.core.config import Config
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.job_spec import Limits, Promises
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge.terms import Terms
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.shapes.chance import FloatArray
from penstock.core.shapes.shape import parse_shape
from penstock.simulator.engine_settings import MicroBatchSettings
from penstock.wiring.setup import Setup
from penstock.wiring.simulation import Simulated, simulate

TERMS = Terms(
    limits=Limits(min_executors=1, max_executors=4, start_executors=1),
    promises=Promises(latency_p95_s=8.0, recovery_s=60.0),
    config=Config(reading_interval_s=2.0, reading_window_s=6.0),
    autopilot=Autopilot(mode="active", policy="hpa", time_scale=0.06, downtime_s=5.0),
)
ENGINE = MicroBatchSettings(overhead_s=0.6, row_s=0.0012, partitions=12, trigger=Trigger(interval_s=2.0), noise=0.03)


def waved(rate: str, seconds: float) -> Simulated:
    return at_rates(parse_shape(rate).rate_at(np.arange(0.0, seconds + 1.0)))


def at_rates(rates: FloatArray, *, terms: Terms = TERMS, engine: MicroBatchSettings = ENGINE, seed: int = 0) -> Simulated:
    return simulate(Setup(load=Arrivals.through(np.arange(float(len(rates))), rates), engine=engine, terms=terms, seed=seed))
