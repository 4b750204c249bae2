"""One set of executors while it stays together: what each of them showed, and the capacity of all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.core.models.arrays import Flags, Floats
from penstock.core.models.capacity.executor_lines import (
    AVERAGING_S,
    IDLE_SPREAD,
    MIN_READINGS,
    CapacityLine,
    LineColumns,
    have_lines,
    idle_utilization,
    regression_lines,
    shows_idle,
    utilization_law_line,
)
from penstock.core.models.capacity.executor_use import ExecutorUses, as_arrays
from penstock.core.models.moments import NOTHING, MomentColumns, PairedMoments
from penstock.core.models.once import once

LIKELY_SPREADS = 2.0
"""Executors that differ without load by more than this many times `IDLE_SPREAD` differ in something else: one is full, for example."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExecutorColumns:
    """Every executor of a stay, one array element an executor: moments of x = utilisation and y = throughput, and `proportion`, the mean utilisation as a share
    of the busiest executor's. `with_load` and `with_mean` are the co-moments of its utilisation with the throughput and with the mean utilisation of all."""

    moments: MomentColumns
    proportion: Floats
    with_load: Floats
    with_mean: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Stay:
    """A stretch of time with the same executors: names of executors and the split of the data among them are new after every rescale.

    `columns` are the six moments, the proportion and the two co-moments of `ExecutorColumns`, in the order of `names`. `load` has moments of x = throughput
    of all executors and y = their mean utilisation. All moments are decayed to `at_s`, the newest reading. `independent` is the number of independent
    readings: one that came g seconds after the one before it counts g / `averaging_s`, at most 1. `highest_utilization` is the most of the busiest executor.
    """

    executors: int
    at_s: float
    names: tuple[str, ...]
    columns: tuple[tuple[float, ...], ...]
    load: PairedMoments = NOTHING
    independent: float = 0.0
    highest_utilization: float = 0.0

    @property
    def by_executor(self) -> ExecutorColumns:
        return _columns(self)

    @property
    def readings(self) -> float:
        """Number of readings, old ones counting less."""
        return self.load.count

    @property
    def overlap(self) -> float:
        """Readings that make one independent one."""
        return self.load.count / self.independent if self.independent > 0.0 else 1.0

    def learned(self, readings: Sequence[ExecutorUses], half_life_s: float, averaging_s: float = AVERAGING_S) -> Stay:
        """Return the stay after these readings of the same executors, in the order of time; each weighs half after `half_life_s`."""
        if not readings:
            return self
        known, at_s = self.by_executor, np.array([reading.at_s for reading in readings])
        newest_s = max(self.at_s, float(at_s.max()))
        fade = math.exp2((self.at_s - newest_s) / half_life_s)
        weights = np.exp2((at_s - newest_s) / half_life_s)
        utilization, throughput = as_arrays(readings)
        top = utilization.max(axis=1)
        before = self.load.count * fade
        since_s = np.diff(at_s, prepend=self.at_s if before > 0.0 else -math.inf)
        loads, means = throughput.sum(axis=1), utilization.mean(axis=1)
        batch = PairedMoments.of(loads, means, weights)
        off, since = utilization - weights @ utilization / batch.count, weights @ utilization / batch.count - known.moments.mean_x
        cross = before * batch.count / (before + batch.count)
        with_load = (weights * (loads - batch.mean_x)) @ off + since * ((batch.mean_x - self.load.mean_x) * cross)
        with_mean = (weights * (means - batch.mean_y)) @ off + since * ((batch.mean_y - self.load.mean_y) * cross)
        columns = (
            *known.moments.decayed(fade).merged(MomentColumns.of(utilization, throughput, weights)).rows,
            (known.proportion * before + weights @ (utilization / top[:, None])) / (before + batch.count),
            known.with_load * fade + with_load,
            known.with_mean * fade + with_mean,
        )
        return Stay(
            executors=self.executors,
            at_s=newest_s,
            names=self.names,
            columns=tuple(tuple(column.tolist()) for column in columns),
            load=self.load.decayed(fade).merged(batch),
            independent=self.independent * fade + float(weights @ np.clip(since_s / averaging_s, 0.0, 1.0)),
            highest_utilization=max(self.highest_utilization, float(top.max())),
        )


def first_stay(reading: ExecutorUses) -> Stay:
    """Return a stay of the executors of this reading that has learnt nothing yet."""
    return Stay(executors=reading.executors, at_s=reading.at_s, names=reading.names, columns=((0.0,) * len(reading.names),) * 9)


@once(16)
def _columns(stay: Stay) -> ExecutorColumns:
    rows = np.array(stay.columns)
    return ExecutorColumns(moments=MomentColumns.of_rows(rows[:6]), proportion=rows[6], with_load=rows[7], with_mean=rows[8])


def executor_regressions(stay: Stay, *, idle_spread: float = IDLE_SPREAD) -> tuple[Flags, LineColumns]:
    """Return which executors have a regression, and the regressions of these."""
    known = have_lines(stay.by_executor.moments)
    return known, regression_lines(stay.by_executor.moments.where(known), idle_spread=idle_spread, overlap=stay.overlap)


def job_regression_line(stay: Stay, *, idle_spread: float = IDLE_SPREAD) -> CapacityLine | None:
    """Return the capacity of all executors over the utilisation u of the busiest: the sum of each executor's regression at x_w * u (Daedalus sec. 3.1).

    x_w is the executor's proportion to the busiest one of each moment, averaged. An executor that did nothing adds nothing.
    """
    known, lines = executor_regressions(stay, idle_spread=idle_spread)
    return lines.along(stay.by_executor.proportion[known]).together() if known.any() and stay.load.mean_x > 0.0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorsLaw:
    """Executor w is at idle_w + (mean_w - idle_w) * z / mean(z) when all together process z, known with `idle_variance`; in the order of the stay."""

    mean: Floats
    idle: Floats
    idle_variance: Floats

    @property
    def first_full(self) -> int:
        """The executor that is the first at utilisation 1 when the load rises: its line is the capacity of the job."""
        return int(np.argmax((self.mean - self.idle) / np.maximum(1.0 - self.idle, 1e-9)))

    @property
    def first_idle(self) -> float:
        """Utilisation without load of the executor that is full first."""
        return float(self.idle[self.first_full])

    @property
    def first_mean(self) -> float:
        return float(self.mean[self.first_full])

    def first_at(self, mean_utilization: float) -> float:
        """Return the utilisation of the executor that is full first when this is the mean of all."""
        load = (mean_utilization - float(self.idle.mean())) / float((self.mean - self.idle).mean())
        return self.first_idle + (self.first_mean - self.first_idle) * load

    @property
    def at_full(self) -> Floats:
        """The utilisation of every executor when the first is full."""
        at_full = self.idle + (self.mean - self.idle) * (1.0 - self.first_idle) / (self.first_mean - self.first_idle)
        at_full[self.first_full] = 1.0
        return np.asarray(at_full)

    @property
    def skew(self) -> float:
        """Throughput if all executors were full, over throughput when the first is."""
        return float((1.0 - self.idle).sum() / (self.at_full - self.idle).sum())


def executors_law(stay: Stay, *, idle_spread: float = IDLE_SPREAD) -> ExecutorsLaw | None:
    """Return the utilisation law of every executor; None without load, or where the executor that is full first is no busier than without load.

    All share the idle utilisation a of `idle_utilization`. An executor's own differs from it by e = (b_w - a) - p_w * (b - a), where b_w and b are the mean
    utilisations of the executor and of all, and p_w = cov(u_w, z) / cov(u, z) is its part of what the load z adds: whatever bends the line of all alike
    (utilisation that comes later than the load, rows that cost more) cancels out in it. Each e is shrunk to zero by variance: v_w from the scatter of
    u_w - p_w * u, and t^2 = var(e) - mean(v) * (1 + sqrt(2 / (n - 1))), not below 0, for how different the n executors are: one standard deviation more
    than chance makes of executors that are alike. So these, or too few readings, leave the common a. What is beyond a likely t^2 adds to the variance.
    """
    known, load, number = stay.by_executor, stay.load, len(stay.names)
    a, a_variance = idle_utilization(load, idle_spread=idle_spread, overlap=stay.overlap)
    mean = known.moments.mean_x
    idle, variance = np.full(number, a), np.full(number, a_variance)
    if number > 1 and shows_idle(load):
        part = known.with_load / load.c_xy
        own = (mean - a) - part * (load.mean_y - a)
        scatter = known.moments.m2_x - part * (2.0 * known.with_mean - part * load.m2_y)
        reach = 1.0 / load.count + load.m2_x * ((load.mean_y - a) / load.c_xy) ** 2
        own_variance = stay.overlap * np.maximum(scatter, 0.0) / (load.count - 2.0) * reach
        by_chance = 1.0 + (2.0 / (number - 1)) ** 0.5
        between = max(0.0, float(own.var(ddof=1)) - by_chance * float(own_variance.mean()))
        likely = min(between, (LIKELY_SPREADS * idle_spread) ** 2)
        own_variance += between - likely
        kept = np.divide(likely, likely + own_variance, out=np.zeros(number), where=likely + own_variance > 0.0)
        idle = a + kept * own
        variance = a_variance * (1.0 - kept + kept * part) ** 2 + kept * own_variance
    law = ExecutorsLaw(mean=mean, idle=idle, idle_variance=variance)
    return law if load.mean_x > 0.0 and law.first_mean > law.first_idle else None


def job_law_line(stay: Stay, *, idle_spread: float = IDLE_SPREAD) -> CapacityLine | None:
    """Return the capacity of all executors by the utilisation law on the load of the whole job, over the utilisation of the executor that is full first.

    Summing over executors averages out most of the noise of each before the line is fitted. Which executor is full first follows from means: the highest
    utilisation of each moment is biased upwards by noise.
    """
    law = executors_law(stay, idle_spread=idle_spread) if round(stay.readings) >= MIN_READINGS else None
    if law is None:
        return None
    first = stay.by_executor.moments.at(law.first_full)
    return utilization_law_line(stay.load, first, law.first_idle, float(law.idle_variance[law.first_full]), overlap=stay.overlap)
