"""What one set of workers showed while it was together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.capacity.line import CapacityLine, together
from penstock.core.models.capacity.readings import WorkersReading
from penstock.core.models.capacity.utilization_law import AVERAGING_S, IDLE_SPREAD
from penstock.core.models.capacity.worker import regression_line
from penstock.core.models.moments import NOTHING, PairedMoments, grown


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

    @property
    def busiest(self) -> WorkerSeen:
        return max(self.workers, key=lambda worker: worker.moments.mean_x)

    @property
    def _means(self) -> Floats:
        return np.array([worker.moments.mean_x for worker in self.workers])

    @property
    def readings(self) -> float:
        """How many readings it stands for, old ones counting less."""
        return self.load.count

    @property
    def overlap(self) -> float:
        """How many readings make one independent one."""
        return self.load.count / self.independent if self.independent > 0.0 else 1.0

    def learned(self, readings: Sequence[WorkersReading], half_life_s: float, averaging_s: float = AVERAGING_S) -> Stay:
        """With these readings of the same workers too, in the order of time; each weighs half after `half_life_s`."""
        if not readings:
            return self
        at_s = np.array([reading.at_s for reading in readings])
        newest_s = max(self.at_s, float(at_s.max()))
        fade = math.exp2((self.at_s - newest_s) / half_life_s)
        weights = np.exp2((at_s - newest_s) / half_life_s)
        utilization, throughput = as_arrays(readings)
        top = utilization.max(axis=1)
        proportions = weights @ (utilization / top[:, None])
        before = self.load.count * fade
        since_s = np.diff(at_s, prepend=self.at_s if before > 0.0 else -math.inf)
        loads, means = throughput.sum(axis=1), utilization.mean(axis=1)
        batch = PairedMoments.of(loads, means, weights)
        off, since = utilization - weights @ utilization / batch.count, weights @ utilization / batch.count - self._means
        cross = before * batch.count / (before + batch.count)
        with_load = (weights * (loads - batch.mean_x)) @ off + since * ((batch.mean_x - self.load.mean_x) * cross)
        with_mean = (weights * (means - batch.mean_y)) @ off + since * ((batch.mean_y - self.load.mean_y) * cross)
        moments = grown([worker.moments for worker in self.workers], fade, utilization, throughput, weights)
        return Stay(
            scaleout=self.scaleout,
            at_s=newest_s,
            workers=tuple(
                WorkerSeen(
                    worker=worker.worker,
                    moments=grew,
                    proportion=(worker.proportion * before + proportion) / (before + batch.count),
                    with_load=None if worker.with_load is None else worker.with_load * fade + by_load,
                    with_mean=None if worker.with_mean is None else worker.with_mean * fade + by_mean,
                )
                for worker, grew, proportion, by_load, by_mean in zip(
                    self.workers, moments, proportions.tolist(), with_load.tolist(), with_mean.tolist(), strict=True
                )
            ),
            load=self.load.decayed(fade).merged(batch),
            independent=self.independent * fade + float(weights @ np.clip(since_s / averaging_s, 0.0, 1.0)),
            highest_utilization=max(self.highest_utilization, float(top.max())),
        )


def first_stay(reading: WorkersReading) -> Stay:
    """Nothing learnt yet about the workers of this reading."""
    return Stay(scaleout=reading.scaleout, at_s=reading.at_s, workers=tuple(WorkerSeen(worker=name, with_load=0.0, with_mean=0.0) for name in reading.names))


def as_arrays(readings: Sequence[WorkersReading]) -> tuple[Floats, Floats]:
    """Utilisation and throughput, a row for each moment and a column for each worker in the order of names."""
    ordered = [sorted(reading.workers, key=attrgetter("worker")) for reading in readings]
    utilization = np.array([[worker.utilization for worker in workers] for workers in ordered], dtype=float)
    throughput = np.array([[worker.throughput_rows_per_s for worker in workers] for workers in ordered], dtype=float)
    return utilization, throughput


def job_regression_line(stay: Stay, *, idle_spread: float = IDLE_SPREAD) -> CapacityLine | None:
    """Capacity of all workers over the utilisation u of the busiest: the sum of each worker's regression at x_w * u (Daedalus sec. 3.1).

    x_w is the worker's proportion to the busiest one of each moment, averaged. A worker that did nothing adds nothing.
    """
    lines = [(regression_line(worker.moments, idle_spread=idle_spread, overlap=stay.overlap), worker.proportion) for worker in stay.workers]
    known = [line.along(proportion) for line, proportion in lines if line]
    return together(known) if known and stay.load.mean_x > 0.0 else None
