"""The utilisation law of every worker: what each is at without load, and which of them is full first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.capacity.line import CapacityLine
from penstock.core.models.capacity.stay_columns import StayColumns
from penstock.core.models.capacity.utilization_law import IDLE_SPREAD, idle_utilization, line_above_idle, tells_idle
from penstock.core.models.capacity.worker import MIN_READINGS, mean_utilization_variance

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
