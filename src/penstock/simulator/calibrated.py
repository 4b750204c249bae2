"""What to simulate a job with, found in its own history."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.usage.utilization import Plant
from penstock.simulator.continuous_settings import ContinuousSettings
from penstock.simulator.ground_truth import Fault
from penstock.simulator.microbatch_settings import MicroBatchSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """What to simulate a job with; `notes` say in words what its history did not tell, and what was taken for it.

    The recorded run counts from `start_s`, when it had caught up with its start, on `executors`, until `end_s`; `faults` are those that struck it then.
    `left_out` are the names of the job's other queries, which used the same executors and are not simulated.
    """

    kind: Plant
    settings: MicroBatchSettings | ContinuousSettings
    arrivals: Arrivals
    start_s: float
    end_s: float
    executors: int
    faults: tuple[Fault, ...] = ()
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def counts(self, at_s: float) -> bool:
        """Whether what was recorded then is simulated."""
        return self.start_s <= at_s <= self.end_s
