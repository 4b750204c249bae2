"""One measured latency of a job that had settled."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyMeasured:
    """Latency (a mean or a quantile, the same in all) at a trigger interval, an arrival rate and a scale-out."""

    interval_s: float
    rate_rows_per_s: float
    latency_s: float
    scaleout: int = 1

    def __post_init__(self) -> None:
        if not (0 <= self.interval_s < math.inf and 0 <= self.rate_rows_per_s < math.inf and 0 < self.latency_s < math.inf and self.scaleout >= 1):
            raise ValueError(f"a latency that cannot be: {self}")
