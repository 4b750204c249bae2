"""From interleaved batches to the cost in throughput, with its bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np
from scipy import stats


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One batch: how long it took, and the CPU seconds that everybody (executors and driver) and the driver alone took meanwhile."""

    wall_s: float
    cpu_s: float
    driver_cpu_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What was measured with one set of executors: batches of the plain query before there was a loop (where it came first), then pairs.

    What a JIT compiler makes of a query stays as it is while its JVM lives, and two queries that do the same differ by some percent for so long:
    the pairs of a start are not independent of each other, its mean is one measurement.
    """

    alone: tuple[Batch, ...]
    plain: tuple[Batch, ...]
    under: tuple[Batch, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """A share of throughput, and its one-sided 90 % bound by Student's distribution over the starts."""

    share: float
    upper_90: float

    def words(self) -> str:
        return f"{self.share:.2%}, at most {self.upper_90:.2%} (90 %)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Overhead:
    """What observation costs a saturated query: by the clock, and by the CPU time that a batch takes, which is what bounds the throughput of a query
    that has all cores busy, and on which neighbours on the machine weigh less. Both hold what the loop in the driver takes all the time."""

    starts: int
    pairs: int
    rows_per_batch: int
    plain_s: float
    penstock_s: float
    by_clock: Cost
    by_cpu: Cost
    driver_extra_cpu_cores: float
    driver_extra_mb: float
    start_costs: tuple[tuple[float, float], ...]

    def rows(self) -> list[tuple[str, str]]:
        return [
            ("pairs of batches", f"{self.pairs} of {self.rows_per_batch:,} rows, after {self.starts} starts of the executors"),
            ("plain", f"{self.plain_s:.2f} s a batch"),
            ("under Penstock", f"{self.penstock_s:.2f} s a batch"),
            ("cost in throughput, by the clock", f"{self.by_clock.words()}; target below 3 %"),
            ("cost in throughput, by CPU time", f"{self.by_cpu.words()}; target below 3 %"),
            ("of each start, by the clock", " ".join(f"{wall:+.1%}" for wall, _ in self.start_costs)),
            ("driver, extra CPU", f"{self.driver_extra_cpu_cores:.3f} cores"),
            ("driver, extra memory", f"{self.driver_extra_mb:.1f} MB"),
        ]


def overhead_of(starts: Sequence[Start], *, rows_per_batch: int, cores: int, extra_mb: float) -> Overhead:
    """The cost over pairs of batches.

    >>> quiet, watched = Batch(wall_s=1.0, cpu_s=1.5, driver_cpu_s=0.1), Batch(wall_s=1.0, cpu_s=1.5, driver_cpu_s=0.12)
    >>> slower = Batch(wall_s=1.02, cpu_s=1.53, driver_cpu_s=0.12)
    >>> start = Start(alone=(quiet,) * 3, plain=(watched,) * 10, under=(slower,) * 10)
    >>> found = overhead_of([start, start], rows_per_batch=1, cores=2, extra_mb=1.0)
    >>> round(found.driver_extra_cpu_cores, 4), round(found.by_clock.share, 4), round(found.by_cpu.upper_90, 4)
    (0.02, 0.0294, 0.0294)
    """
    loops = [busy_cores(start.plain) - busy_cores(start.alone) for start in starts if start.alone]
    loop_cores = max(0.0, fmean(loops))
    costs = tuple((mean_cost(start, "wall_s"), mean_cost(start, "cpu_s")) for start in starts)
    return Overhead(
        starts=len(starts),
        pairs=sum(len(start.plain) for start in starts),
        rows_per_batch=rows_per_batch,
        plain_s=fmean(each.wall_s for start in starts for each in start.plain),
        penstock_s=fmean(each.wall_s for start in starts for each in start.under),
        by_clock=cost_of([wall for wall, _ in costs], loop_cores / cores),
        by_cpu=cost_of([cpu for _, cpu in costs], loop_cores / cores),
        driver_extra_cpu_cores=loop_cores,
        driver_extra_mb=extra_mb,
        start_costs=tuple((round(wall, 4), round(cpu, 4)) for wall, cpu in costs),
    )


def busy_cores(batches: Sequence[Batch]) -> float:
    """How many cores the driver keeps busy."""
    return median(each.driver_cpu_s / each.wall_s for each in batches)


def mean_cost(start: Start, what: str) -> float:
    """Mean over pairs of the logarithm of each ratio: a batch that takes twice as long is as far off as one that takes half."""
    plain, under = ([getattr(each, what) for each in batches] for batches in (start.plain, start.under))
    return float(np.log(np.asarray(under) / np.asarray(plain)).mean())


def cost_of(costs: Sequence[float], loop_share: float) -> Cost:
    """Mean over starts, with the share of the machine that the loop takes during either batch of a pair."""
    mean = fmean(costs)
    bound = mean + float(stats.t.ppf(0.9, len(costs) - 1)) * float(np.std(costs, ddof=1)) / len(costs) ** 0.5

    def share(cost: float) -> float:
        return float(1 - np.exp(-cost) * (1 - loop_share))

    return Cost(share=share(mean), upper_90=share(bound))
