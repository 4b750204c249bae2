"""A simulated continuous job to test with, and the questions that tests ask of it."""

from typing import Any

import numpy as np
from changes import scaling

from penstock.core.domain.fault import Fault
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.simulator.continuous import ContinuousEngine
from penstock.simulator.engine_settings import ContinuousSettings
from penstock.simulator.ground_truth import Record
from penstock.simulator.load import Load


def job(load: Arrivals | float, *, executors: int = 4, faults: tuple[Fault, ...] = (), seed: int = 0, **known: Any) -> ContinuousEngine:
    """A job of 1,000 rows/s a worker without pauses or noise, but as told; times count from 0."""
    arrivals = Arrivals.constant(load) if isinstance(load, float) else load
    told = ContinuousSettings(**{"capacity_rows_per_s": 1000.0, "pause_s": 0.0, "noise": 0.0, **known})
    return ContinuousEngine(told, Load.of(arrivals, 0.0), executors=executors, seed=seed, faults=faults)


def lived(engine: ContinuousEngine, until_s: float) -> Record:
    engine.advance(until_s)
    return engine.record


def asked(engine: ContinuousEngine, instruction: Instruction) -> list[Outcome]:
    """Where the outcome will be."""
    outcomes: list[Outcome] = []
    engine.perform(instruction, outcomes.append)
    return outcomes


def scale(executors: int, before: int = 0) -> Instruction:
    return scaling(1, before, executors)


def recovery(record: Record) -> float:
    (struck,) = record.struck
    assert struck.recovery_s is not None
    return struck.recovery_s


def assert_nothing_is_lost(record: Record) -> None:
    seen = record.seconds()
    balance = np.cumsum(seen.arrived_rows - seen.finished_rows + seen.replayed_rows) - seen.lag_rows
    assert np.abs(balance).max() <= 1e-6 * max(1.0, seen.arrived_rows.sum())
    assert min(seen.lag_rows.min(), seen.finished_rows.min(), seen.replayed_rows.min(), seen.oldest_s.min()) >= 0.0
