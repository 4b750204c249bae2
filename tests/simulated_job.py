from typing import Any

import numpy as np
from changes import scaling

from penstock.core.domain.fault import Fault
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.domain.trigger import Trigger
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.monitor.facts import BatchFact
from penstock.simulator.continuous import ContinuousEngine
from penstock.simulator.engine_settings import ContinuousSettings, MicroBatchSettings
from penstock.simulator.ground_truth import Record
from penstock.simulator.load import Load
from penstock.simulator.microbatch import MicroBatchEngine


def job(load: Arrivals | float, *, executors: int = 4, faults: tuple[Fault, ...] = (), seed: int = 0, **known: Any) -> ContinuousEngine:
    """A job of 1,000 rows/s an executor without pauses or noise, unless given; times count from 0."""
    arrivals = Arrivals.constant(load) if isinstance(load, float) else load
    given = ContinuousSettings(**{"capacity_rows_per_s": 1000.0, "pause_s": 0.0, "noise": 0.0, **known})
    return ContinuousEngine(given, Load.of(arrivals, 0.0), executors=executors, seed=seed, faults=faults)


def lived(engine: ContinuousEngine, until_s: float) -> Record:
    engine.advance(until_s)
    return engine.record


def asked(engine: ContinuousEngine, instruction: Instruction) -> list[Outcome]:
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


ON_SPARK = MicroBatchSettings(overhead_s=0.57, row_s=0.00119, partitions=12, trigger=Trigger(interval_s=3.0))
"""The job whose failures SPARK-FACTS reports: 1,800 rows/s on 4 executors. Overhead and cost are the line through its last four batches of catching up;
the defaults of retry and warm-up were chosen by its crash. What it was not fitted to: the stall, the batch after it, and the time to recover."""


def engine(job: MicroBatchSettings, arrivals: Arrivals | float, executors: int, faults: tuple[Fault, ...] = (), seed: int = 0) -> MicroBatchEngine:
    rates = arrivals if isinstance(arrivals, Arrivals) else Arrivals.constant(arrivals)
    return MicroBatchEngine(job, Load.of(rates, 0.0), executors=executors, seed=seed, faults=faults)


def scaled(running: MicroBatchEngine, at_s: float, executors: int, number: int = 1) -> list[Outcome]:
    outcomes: list[Outcome] = []
    running.advance(at_s)
    running.perform(scaling(number, 0, executors), outcomes.append)
    return outcomes


def batches(running: MicroBatchEngine, until_s: float) -> tuple[BatchFact, ...]:
    running.advance(until_s)
    (query,) = running.observation().queries
    return query.batches
