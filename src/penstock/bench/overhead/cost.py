"""From interleaved batches to the cost in throughput, with its bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np

RESAMPLES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One batch: how long it took, and the CPU seconds that everybody (executors and driver) and the driver alone took meanwhile."""

    wall_s: float
    cpu_s: float
    driver_cpu_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """A share of throughput, and its one-sided 90 % bound by bootstrap over the pairs."""

    share: float
    upper_90: float

    def words(self) -> str:
        return f"{self.share:.2%}, at most {self.upper_90:.2%} (90 %)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Overhead:
    """What observation costs a saturated query: by the clock, and by the CPU time that a batch takes, which is what bounds the throughput of a query
    that has all cores busy, and on which neighbours on the machine weigh less. Both hold what the loop in the driver takes all the time."""

    pairs: int
    rows_per_batch: int
    plain_s: float
    penstock_s: float
    by_clock: Cost
    by_cpu: Cost
    driver_extra_cpu_cores: float
    driver_extra_mb: float
    pair_costs: tuple[tuple[float, float], ...]

    def rows(self) -> list[tuple[str, str]]:
        return [
            ("pairs of batches", f"{self.pairs} of {self.rows_per_batch:,} rows"),
            ("plain", f"{self.plain_s:.2f} s a batch"),
            ("under Penstock", f"{self.penstock_s:.2f} s a batch"),
            ("cost in throughput, by the clock", f"{self.by_clock.words()}; target below 3 %"),
            ("cost in throughput, by CPU time", f"{self.by_cpu.words()}; target below 3 %"),
            ("driver, extra CPU", f"{self.driver_extra_cpu_cores:.3f} cores"),
            ("driver, extra memory", f"{self.driver_extra_mb:.1f} MB"),
        ]


def overhead_of(alone: Sequence[Batch], plain: Sequence[Batch], under: Sequence[Batch], *, rows_per_batch: int, cores: int, extra_mb: float) -> Overhead:
    """The cost over pairs of batches; `alone` are batches of the plain query before there was a loop.

    >>> quiet, watched = Batch(wall_s=1.0, cpu_s=1.5, driver_cpu_s=0.1), Batch(wall_s=1.0, cpu_s=1.5, driver_cpu_s=0.12)
    >>> slower = Batch(wall_s=1.02, cpu_s=1.53, driver_cpu_s=0.12)
    >>> found = overhead_of([quiet] * 3, [watched] * 10, [slower] * 10, rows_per_batch=1, cores=2, extra_mb=1.0)
    >>> round(found.driver_extra_cpu_cores, 4), round(found.by_clock.share, 4), round(found.by_cpu.upper_90, 4)
    (0.02, 0.0294, 0.0294)
    """
    loop_cores = max(0.0, median(each.driver_cpu_s / each.wall_s for each in plain) - median(each.driver_cpu_s / each.wall_s for each in alone))
    walls, cpus = (
        pair_costs([each.wall_s for each in plain], [each.wall_s for each in under]),
        pair_costs([each.cpu_s for each in plain], [each.cpu_s for each in under]),
    )
    return Overhead(
        pairs=len(plain),
        rows_per_batch=rows_per_batch,
        plain_s=fmean(each.wall_s for each in plain),
        penstock_s=fmean(each.wall_s for each in under),
        by_clock=cost_of(walls, loop_cores / cores),
        by_cpu=cost_of(cpus, loop_cores / cores),
        driver_extra_cpu_cores=loop_cores,
        driver_extra_mb=extra_mb,
        pair_costs=tuple((round(wall, 4), round(cpu, 4)) for wall, cpu in zip(walls, cpus, strict=True)),
    )


def pair_costs(plain: Sequence[float], under: Sequence[float]) -> list[float]:
    """The logarithm of each ratio: a batch that takes twice as long is as far off as one that takes half."""
    return [float(cost) for cost in np.log(np.asarray(under) / np.asarray(plain))]


def cost_of(costs: Sequence[float], loop_share: float) -> Cost:
    """Mean over pairs, with the share of the machine that the loop takes during either batch of a pair."""
    resampled = np.random.default_rng(0).choice(np.asarray(costs), size=(RESAMPLES, len(costs))).mean(axis=1)

    def share(cost: float) -> float:
        return float(1 - np.exp(-cost) * (1 - loop_share))

    return Cost(share=share(fmean(costs)), upper_90=share(float(np.quantile(resampled, 0.9))))
