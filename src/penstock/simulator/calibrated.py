"""What to simulate a job with, found in its own history."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.usage.utilization import Plant
from penstock.simulator.continuous_settings import ContinuousSettings
from penstock.simulator.ground_truth import Fault
from penstock.simulator.microbatch_settings import MicroBatchSettings

Settings = MicroBatchSettings | ContinuousSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Settings of a query, found in its readings; `notes` say in words what was not to be found.

    `likely` are the same with rows as dear, and as cheap, as the measurements allow in four of five cases; empty where nobody knows how wrong they may be.
    """

    settings: Settings
    likely: tuple[Settings, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """What to simulate a job with; `notes` say in words what its history did not tell, and what was taken for it.

    `likely` are the settings with rows as dear, and as cheap, as the measurements allow in four of five cases; empty where nobody knows that.
    The recorded run counts from `start_s`, when it had caught up with its start, on `executors`, until `end_s`; `faults` are those that struck it then.
    `left_out` are the names of the job's other queries, which used the same executors and are not simulated.
    """

    kind: Plant
    settings: Settings
    arrivals: Arrivals
    start_s: float
    end_s: float
    executors: int
    likely: tuple[Settings, ...] = ()
    faults: tuple[Fault, ...] = ()
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def counts(self, at_s: float) -> bool:
        """Whether what was recorded then is simulated."""
        return self.start_s <= at_s <= self.end_s
