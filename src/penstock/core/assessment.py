"""What a policy sees: the reading, and what was learnt from those before it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.core.domain.decision import Recommended
from penstock.core.domain.job import Limits, Promises
from penstock.core.domain.reading import Reading
from penstock.core.domain.trigger import Plant
from penstock.core.models.capacity.batch_law import LikelyLaws
from penstock.core.models.estimate import Estimate
from penstock.core.models.forecast.forecast import Forecast
from penstock.core.models.latency.latency_table import LatencyTable
from penstock.core.models.recovery.arrivals import Arrivals


@dataclass(frozen=True, slots=True, kw_only=True)
class StageNeed:
    """One stage: rows/s of one busy slot, and rows it gets for each row of the source."""

    position: int
    name: str
    rate_rows_per_s: float
    selectivity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """All that a decision may rest on; None and empty are "not known".

    `current` is the size the policy steers: what is desired, or its own in shadow. `uptime_s` is since start, restart, failure or rescale,
    whichever was last; `since_rescale_s` None is "never"; both are rounded up to whole reading intervals where half of one is missing at most, so that a
    timer is over at the reading nearest to its end. `load_rows_per_s` is the mean since the last decision. `stops` holds those of
    "rescale_up" and "rescale_down" that stop the job. `batch_laws` are those of a job with a single query in micro-batches.
    `earlier` is what the policy recommended within the last hour, the newest last.
    """

    at_s: float
    plant: Plant
    reading: Reading
    current: int
    declared: int
    limits: Limits
    promises: Promises
    interval_s: float
    uptime_s: float
    since_rescale_s: float | None = None
    load_rows_per_s: float | None = None
    batch_s: float | None = None
    slots_each: int = 1
    cpu_cores_each: float | None = None
    capacities: Mapping[int, Estimate] = field(default_factory=dict)
    batch_laws: LikelyLaws | None = None
    t_max: Mapping[int, Estimate] = field(default_factory=dict)
    forecast: Forecast | None = None
    arrivals: Arrivals | None = None
    downtimes_s: Mapping[str, float] = field(default_factory=dict)
    stops: frozenset[str] = frozenset()
    latencies: Mapping[int, Estimate] = field(default_factory=dict)
    table: LatencyTable | None = None
    stages: tuple[StageNeed, ...] = ()
    earlier: tuple[Recommended, ...] = ()
    memo: Mapping[str, float] = field(default_factory=dict)

    @property
    def sizes(self) -> range:
        return range(self.limits.min_executors, self.limits.max_executors + 1)

    @property
    def excess_lag_rows(self) -> float:
        return self.reading.excess_lag_rows or 0.0

    def capacity(self, executors: int) -> float | None:
        known = self.capacities.get(executors)
        return None if known is None else known.value

    def peak(self, until_s: float) -> float:
        """The largest forecast rate of the next `until_s` seconds, at most to the forecast's end; the load without a forecast."""
        if self.forecast is None:
            return self.load_rows_per_s or 0.0
        path = self.forecast.mean
        begin = (self.at_s - self.forecast.start_s) / self.forecast.step_s
        end = len(path) if math.isinf(until_s) else math.ceil((self.at_s + until_s - self.forecast.start_s) / self.forecast.step_s)
        first = min(max(0, math.floor(begin)), len(path) - 1)
        return max(path[first : max(first + 1, end)])
