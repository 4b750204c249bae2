"""What one set of workers showed while it was together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.capacity.worker_lines import (
    AVERAGING_S,
    IDLE_SPREAD,
    MIN_READINGS,
    CapacityLine,
    have_lines,
    idle_utilization,
    line_above_idle,
    mean_utilization_variance,
    regression_lines,
    tells_idle,
)
from penstock.core.models.capacity.worker_readings import WorkersReading, as_arrays
from penstock.core.models.moments import NOTHING, MomentColumns, PairedMoments
from penstock.core.models.once import once


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


LIKELY_SPREADS = 2.0
"""Workers whose lines say that they differ without load by more than so many times `IDLE_SPREAD` differ in something else: one is full, for example."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkersLaw:
    """Worker w is at idle_w + (mean_w - idle_w) * z / mean(z) when all together process z, known with `idle_variance`; in the order of the stay's workers."""

    mean: Floats
    idle: Floats
    idle_variance: Floats

    @property
    def first_full(self) -> int:
        """The worker that is the first to be at 1 when the load rises: its line is the capacity of the job."""
        return int(np.argmax((self.mean - self.idle) / np.maximum(1.0 - self.idle, 1e-9)))

    @property
    def first_idle(self) -> float:
        """Without load, the worker that is full first is here."""
        return float(self.idle[self.first_full])

    @property
    def first_mean(self) -> float:
        return float(self.mean[self.first_full])

    def first_at(self, mean_utilization: float) -> float:
        """The utilisation of the worker that is full first when the mean of all is here."""
        load = (mean_utilization - float(self.idle.mean())) / float((self.mean - self.idle).mean())
        return self.first_idle + (self.first_mean - self.first_idle) * load

    @property
    def at_full(self) -> Floats:
        """The utilisation of every worker when the first is full."""
        at_full = self.idle + (self.mean - self.idle) * (1.0 - self.first_idle) / (self.first_mean - self.first_idle)
        at_full[self.first_full] = 1.0
        return np.asarray(at_full)

    @property
    def skew(self) -> float:
        """What all workers could do if all were full, over what they do when the first is."""
        return float((1.0 - self.idle).sum() / (self.at_full - self.idle).sum())


def workers_law(stay: StayColumns, *, idle_spread: float = IDLE_SPREAD) -> WorkersLaw | None:
    """None without load, or where a worker is no busier than without load.

    All share the idle utilisation a of `idle_utilization`. A worker's own differs from it by e = (b_w - a) - p_w * (b - a), where b_w and b are the mean
    utilisations of the worker and of all, and p_w = cov(u_w, z) / cov(u, z) is its part of what the load z adds: whatever bends the line of all alike
    (utilisation that comes later than the load, rows that cost more) cancels out in it. Each e is shrunk to zero by variance: v_w from the scatter of
    u_w - p_w * u, and t^2 = var(e) - mean(v) * (1 + sqrt(2 / (n - 1))), not below 0, for how different the n workers are: one standard deviation more
    than chance makes of workers that are alike. So these, or readings too few to tell, leave the common a. What is beyond a likely t^2 is doubt too.
    """
    load, workers = stay.load, len(stay.names)
    a, a_variance = idle_utilization(load, idle_spread=idle_spread, overlap=stay.overlap)
    mean = stay.moments.mean_x
    idle, variance = np.full(workers, a), np.full(workers, a_variance)
    if workers > 1 and tells_idle(load) and not np.isnan([stay.with_load, stay.with_mean]).any():
        part = stay.with_load / load.c_xy
        own = (mean - a) - part * (load.mean_y - a)
        scatter = stay.moments.m2_x - part * (2.0 * stay.with_mean - part * load.m2_y)
        reach = 1.0 / load.count + load.m2_x * ((load.mean_y - a) / load.c_xy) ** 2
        own_variance = stay.overlap * np.maximum(scatter, 0.0) / (load.count - 2.0) * reach
        by_chance = 1.0 + (2.0 / (workers - 1)) ** 0.5
        between = max(0.0, float(own.var(ddof=1)) - by_chance * float(own_variance.mean()))
        likely = min(between, (LIKELY_SPREADS * idle_spread) ** 2)
        own_variance += between - likely
        kept = np.divide(likely, likely + own_variance, out=np.zeros(workers), where=likely + own_variance > 0.0)
        idle = a + kept * own
        variance = a_variance * (1.0 - kept + kept * part) ** 2 + kept * own_variance
    law = WorkersLaw(mean=mean, idle=idle, idle_variance=variance)
    return law if load.mean_x > 0.0 and law.first_mean > law.first_idle else None


def job_law_line(stay: StayColumns, *, idle_spread: float = IDLE_SPREAD) -> CapacityLine | None:
    """Capacity of all workers by the utilisation law on the load of the whole job, over the utilisation of the worker that is full first.

    Not in the paper; see `utilization_line`. Twelve workers average out most of the noise of each, before the line is drawn. Which worker is full first
    is told from means, as the highest of every moment is too high by the noise of whichever worker happened to be on top.
    """
    law = workers_law(stay, idle_spread=idle_spread) if round(stay.readings) >= MIN_READINGS else None
    if law is None:
        return None
    first = stay.moments.at(law.first_full)
    variance, overlap = mean_utilization_variance(first, overlap=stay.overlap), stay.overlap
    return line_above_idle(stay.load, first.mean_x, variance, law.first_idle, float(law.idle_variance[law.first_full]), overlap=overlap)
