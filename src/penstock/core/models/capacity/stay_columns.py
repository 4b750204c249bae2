"""A stay with its workers in columns: what is learnt and asked of a thousand of them at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.capacity.line import CapacityLine
from penstock.core.models.capacity.reading_columns import as_arrays
from penstock.core.models.capacity.readings import WorkersReading
from penstock.core.models.capacity.regression_lines import have_lines, regression_lines
from penstock.core.models.capacity.stay import Stay, WorkerSeen
from penstock.core.models.capacity.utilization_law import AVERAGING_S, IDLE_SPREAD
from penstock.core.models.moments import MomentColumns, PairedMoments
from penstock.core.models.once import once


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StayColumns:
    """What `Stay` is; `with_load` and `with_mean` are not a number where a worker has none."""

    scaleout: int
    at_s: float
    names: tuple[str, ...]
    moments: MomentColumns
    proportion: Floats
    with_load: Floats
    with_mean: Floats
    load: PairedMoments
    independent: float
    highest_utilization: float

    @property
    def readings(self) -> float:
        """How many readings it stands for, old ones counting less."""
        return self.load.count

    @property
    def overlap(self) -> float:
        """How many readings make one independent one."""
        return self.load.count / self.independent if self.independent > 0.0 else 1.0

    def learned(self, readings: Sequence[WorkersReading], half_life_s: float, averaging_s: float = AVERAGING_S) -> StayColumns:
        """With these readings of the same workers too, in the order of time; each weighs half after `half_life_s`."""
        if not readings:
            return self
        at_s = np.array([reading.at_s for reading in readings])
        newest_s = max(self.at_s, float(at_s.max()))
        fade = math.exp2((self.at_s - newest_s) / half_life_s)
        weights = np.exp2((at_s - newest_s) / half_life_s)
        utilization, throughput = as_arrays(readings)
        top = utilization.max(axis=1)
        before = self.load.count * fade
        since_s = np.diff(at_s, prepend=self.at_s if before > 0.0 else -math.inf)
        loads, means = throughput.sum(axis=1), utilization.mean(axis=1)
        batch = PairedMoments.of(loads, means, weights)
        off, since = utilization - weights @ utilization / batch.count, weights @ utilization / batch.count - self.moments.mean_x
        cross = before * batch.count / (before + batch.count)
        with_load = (weights * (loads - batch.mean_x)) @ off + since * ((batch.mean_x - self.load.mean_x) * cross)
        with_mean = (weights * (means - batch.mean_y)) @ off + since * ((batch.mean_y - self.load.mean_y) * cross)
        return StayColumns(
            scaleout=self.scaleout,
            at_s=newest_s,
            names=self.names,
            moments=self.moments.grown(fade, utilization, throughput, weights),
            proportion=(self.proportion * before + weights @ (utilization / top[:, None])) / (before + batch.count),
            with_load=self.with_load * fade + with_load,
            with_mean=self.with_mean * fade + with_mean,
            load=self.load.decayed(fade).merged(batch),
            independent=self.independent * fade + float(weights @ np.clip(since_s / averaging_s, 0.0, 1.0)),
            highest_utilization=max(self.highest_utilization, float(top.max())),
        )

    def stay(self) -> Stay:
        """As it is kept, a row for each worker."""
        columns = zip(self.names, self.moments.each(), self.proportion.tolist(), self.with_load.tolist(), self.with_mean.tolist(), strict=True)
        return Stay(
            scaleout=self.scaleout,
            at_s=self.at_s,
            workers=tuple(
                WorkerSeen(
                    worker=name,
                    moments=moments,
                    proportion=proportion,
                    with_load=None if math.isnan(by_load) else by_load,
                    with_mean=None if math.isnan(by_mean) else by_mean,
                )
                for name, moments, proportion, by_load, by_mean in columns
            ),
            load=self.load,
            independent=self.independent,
            highest_utilization=self.highest_utilization,
        )


@once(16)
def columns_of(stay: Stay) -> StayColumns:
    """Once, as the same stay is learnt from and then asked."""
    told = [(worker.proportion, worker.with_load, worker.with_mean) for worker in stay.workers]
    proportion, with_load, with_mean = np.array(told, dtype=float).T
    return StayColumns(
        scaleout=stay.scaleout,
        at_s=stay.at_s,
        names=stay.names,
        moments=MomentColumns.of([worker.moments for worker in stay.workers]),
        proportion=proportion,
        with_load=with_load,
        with_mean=with_mean,
        load=stay.load,
        independent=stay.independent,
        highest_utilization=stay.highest_utilization,
    )


def job_regression_line(stay: StayColumns, *, idle_spread: float = IDLE_SPREAD) -> CapacityLine | None:
    """Capacity of all workers over the utilisation u of the busiest: the sum of each worker's regression at x_w * u (Daedalus sec. 3.1).

    x_w is the worker's proportion to the busiest one of each moment, averaged. A worker that did nothing adds nothing.
    """
    known = have_lines(stay.moments)
    if not known.any() or stay.load.mean_x <= 0.0:
        return None
    return regression_lines(stay.moments.where(known), idle_spread=idle_spread, overlap=stay.overlap).along(stay.proportion[known]).together()
