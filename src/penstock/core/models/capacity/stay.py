"""What one set of workers showed while it was together."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.core.models.capacity.readings import WorkersReading
from penstock.core.models.moments import NOTHING, PairedMoments


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSeen:
    """One worker of a stay: moments of x = utilisation and y = throughput, and `proportion`, its mean utilisation as a share of the busiest one's.

    `with_load` and `with_mean` are the co-moments of its utilisation with the throughput of all workers and with their mean utilisation; None in a
    stay that was stored before there were any.
    """

    worker: str
    moments: PairedMoments = NOTHING
    proportion: float = 0.0
    with_load: float | None = None
    with_mean: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stay:
    """A stretch of time with the same workers: names of executors and the split of the data among them are new after every rescale.

    `load` has moments of x = throughput of all workers and y = their mean utilisation; all moments are decayed to `at_s`, the newest reading.
    `independent` is how many independent readings they are worth: one that came g seconds after the one before it tells g / `averaging_s` of
    something new, and at most 1, where utilisation is an average over so long. `highest_utilization` is the most that the busiest worker showed.
    """

    scaleout: int
    at_s: float
    workers: tuple[WorkerSeen, ...]
    load: PairedMoments = NOTHING
    independent: float = 0.0
    highest_utilization: float = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(worker.worker for worker in self.workers)


def first_stay(reading: WorkersReading) -> Stay:
    """Nothing learnt yet about the workers of this reading."""
    return Stay(scaleout=reading.scaleout, at_s=reading.at_s, workers=tuple(WorkerSeen(worker=name, with_load=0.0, with_mean=0.0) for name in reading.names))
