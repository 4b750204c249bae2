"""From the times of interleaved batches to the cost in throughput, with its bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

RESAMPLES = 10_000
CUT = 0.1
"""Of the pairs at each end: a neighbour on the machine can spoil a pair, not the result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overhead:
    """`cost` is the share of throughput lost: by longer batches (`batch_cost`, of pairs a few seconds long, so that the machine's own moods fall
    on both), and by the cores that the loop in the driver takes all the time; `cost_upper_90` is its one-sided 90 % bound by bootstrap over the pairs."""

    pairs: int
    rows_per_batch: int
    plain_s: float
    penstock_s: float
    batch_cost: float
    cost: float
    cost_upper_90: float
    driver_extra_cpu_cores: float
    driver_extra_rss_mb: float
    pair_costs: tuple[float, ...]

    def rows(self) -> list[tuple[str, str]]:
        return [
            ("pairs of batches", f"{self.pairs} of {self.rows_per_batch:,} rows"),
            ("plain", f"{self.plain_s:.2f} s a batch"),
            ("under Penstock", f"{self.penstock_s:.2f} s a batch"),
            ("cost in throughput", f"{self.cost:.2%}, at most {self.cost_upper_90:.2%} (90 %); target below 3 %"),
            ("of it by longer batches", f"{self.batch_cost:.2%}"),
            ("driver, extra CPU", f"{self.driver_extra_cpu_cores:.3f} cores"),
            ("driver, extra memory", f"{self.driver_extra_rss_mb:.1f} MB"),
        ]


def cost_of(plain_s: Sequence[float], under_s: Sequence[float], *, rows_per_batch: int, cores: int, extra_cpu_cores: float, extra_rss_mb: float) -> Overhead:
    """The cost over pairs of batch times; `extra_cpu_cores` is what the loop takes of the machine's `cores` during either.

    >>> found = cost_of([1.0] * 10, [1.02] * 10, rows_per_batch=1, cores=2, extra_cpu_cores=0.02, extra_rss_mb=1.0)
    >>> round(found.batch_cost, 4), round(found.cost, 4), round(found.cost_upper_90, 4)
    (0.0196, 0.0294, 0.0294)
    """
    costs = 1 - np.asarray(plain_s) / np.asarray(under_s)
    left = 1 - extra_cpu_cores / cores
    resampled = middle(np.random.default_rng(0).choice(costs, size=(RESAMPLES, len(costs))))
    return Overhead(
        pairs=len(costs),
        rows_per_batch=rows_per_batch,
        plain_s=float(np.mean(plain_s)),
        penstock_s=float(np.mean(under_s)),
        batch_cost=float(middle(costs)),
        cost=1 - (1 - float(middle(costs))) * left,
        cost_upper_90=1 - (1 - float(np.quantile(resampled, 0.9))) * left,
        driver_extra_cpu_cores=extra_cpu_cores,
        driver_extra_rss_mb=extra_rss_mb,
        pair_costs=tuple(round(float(cost), 4) for cost in costs),
    )


def middle(costs: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The mean along the last axis without its highest and its lowest tenth.

    >>> float(middle(np.array([0.02] * 9 + [0.5])))
    0.02
    """
    cut = int(costs.shape[-1] * CUT)
    return np.asarray(np.sort(costs, axis=-1)[..., cut : costs.shape[-1] - cut].mean(axis=-1))
