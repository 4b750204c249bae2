"""Simulated micro-batch jobs for tests."""

from changes import scaling

from penstock.core.domain.fault import Fault
from penstock.core.domain.instruction import Outcome
from penstock.core.domain.trigger import Trigger
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.monitor.facts import BatchFact
from penstock.simulator.engine_settings import MicroBatchSettings
from penstock.simulator.load import Load
from penstock.simulator.microbatch import MicroBatchEngine

ON_SPARK = MicroBatchSettings(overhead_s=0.57, row_s=0.00119, partitions=12, trigger=Trigger(interval_s=3.0))
"""The job whose failures SPARK-FACTS reports: 1,800 rows/s on 4 executors. Overhead and cost are the line through its last four batches of catching up;
the defaults of retry and warm-up were chosen by its crash. What it was not fitted to: the stall, the batch after it, and the time to recover."""


def engine(job: MicroBatchSettings, arrivals: Arrivals | float, executors: int, faults: tuple[Fault, ...] = (), seed: int = 0) -> MicroBatchEngine:
    rates = arrivals if isinstance(arrivals, Arrivals) else Arrivals.constant(arrivals)
    return MicroBatchEngine(job, Load.of(rates, 0.0), executors=executors, seed=seed, faults=faults)


def scaled(running: MicroBatchEngine, at_s: float, executors: int, number: int = 1) -> list[Outcome]:
    """Ask for so many executors at a time; where the outcome will be."""
    outcomes: list[Outcome] = []
    running.advance(at_s)
    running.perform(scaling(number, 0, executors), outcomes.append)
    return outcomes


def batches(running: MicroBatchEngine, until_s: float) -> tuple[BatchFact, ...]:
    """Those committed since the last look."""
    running.advance(until_s)
    (query,) = running.observation().queries
    return query.batches
