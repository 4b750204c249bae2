"""Khaos's M_L: latency over checkpoint interval, rate and, where it varies, number of executors."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

import numpy as np

from penstock.core.models.estimate import NotReady
from penstock.core.models.latency.latency_forms import FORMS
from penstock.core.models.surrogate.points import points_of
from penstock.core.models.surrogate.study import LEAST_ROWS, MOST_SEEN, Studied, Study


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencySeen:
    """The latency of a job that ran undisturbed at an interval and a rate."""

    interval_s: float
    rate_rows_per_s: float
    latency_s: float
    executors: int | None = None

    def __post_init__(self) -> None:
        if not (0 < self.interval_s < math.inf and 0 <= self.rate_rows_per_s < math.inf and 0 < self.latency_s < math.inf):
            raise ValueError(f"a latency needs a positive interval and duration and a rate of at least zero, all finite: {self}")
        if self.executors is not None and self.executors < 1:
            raise ValueError(f"a job that answered had an executor: {self}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyRegression(Studied):
    """Learns latency from readings (Khaos sec. III-D), by the form that best predicts intervals it has not seen.

    The paper's plane is one of the forms; regressions of the logarithm, a queue with pauses, micro-batches, and these corrected by data are improvements on it.

    >>> rows = [LatencySeen(interval_s=i, rate_rows_per_s=r, latency_s=0.5 + 2 / i + r / 4000) for i in (10, 60, 120) for r in (200, 500, 800)]
    >>> answer = LatencyRegression().learn(rows).predict(60, 650)
    >>> abs(answer.value - 0.696) < 0.03
    True
    """

    seen: tuple[LatencySeen, ...] = ()

    def learn(self, seen: Sequence[LatencySeen]) -> Self:
        return replace(self, seen=(*self.seen, *seen)[-MOST_SEEN:])

    @property
    def study(self) -> Study | NotReady:
        return _study(self.seen)


@lru_cache(maxsize=4)
def _study(seen: tuple[LatencySeen, ...]) -> Study | NotReady:
    if len(seen) < LEAST_ROWS:
        return NotReady(why=f"{len(seen)} latencies seen, {LEAST_ROWS} needed")
    return Study(points_of(seen), np.array([each.latency_s for each in seen], dtype=float), FORMS)
