"""What capacity is learnt from: utilisation and throughput of every worker at one moment."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerReading:
    """One worker; `utilization` is 0 to 1, best as an average over a minute that ends at a commit (Daedalus sec. 3.1)."""

    worker: str
    utilization: float
    throughput_rows_per_s: float

    @property
    def is_sane(self) -> bool:
        """Whether both numbers are numbers and not negative."""
        return 0.0 <= self.utilization < math.inf and 0.0 <= self.throughput_rows_per_s < math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkersReading:
    """All workers of a job at one moment; `since_change_s` is the time since workers last came, went or restarted, None where nobody knows."""

    at_s: float
    scaleout: int
    since_change_s: float | None
    workers: tuple[WorkerReading, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The workers, sorted: the same set is the same tuple."""
        return tuple(sorted(worker.worker for worker in self.workers))

    @property
    def is_whole(self) -> bool:
        """Whether every worker told, once, and something sane: a sum over less is not the throughput of the job."""
        return len(self.workers) == self.scaleout == len(set(self.names)) > 0 and all(worker.is_sane for worker in self.workers)
