"""What a policy sees: the reading, and what was learnt from those before it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.core.domain.cadence import Cadence
from penstock.core.domain.configuration import Configuration
from penstock.core.domain.decision import Recommended
from penstock.core.domain.job_spec import Limits, Promises
from penstock.core.domain.policy_memory import PolicyMemory
from penstock.core.domain.prediction import Prediction, PredictionKind
from penstock.core.domain.reading import Reading, total
from penstock.core.domain.trigger import Plant, Trigger
from penstock.core.models.capacity.batch_cost import BatchCost
from penstock.core.models.capacity.batch_law import LikelyLaws
from penstock.core.models.estimate import Estimate
from penstock.core.models.forecast.forecast import Forecast
from penstock.core.models.latency.latency_table import LatencyTable
from penstock.core.models.recovery.arrivals import Arrivals

LASTING_S = 900.0
"""Seconds for which a prediction about a configuration holds if no horizon is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageNeed:
    """One stage: rows/s of one busy slot, and rows it gets for each row of the source."""

    position: int
    name: str
    rate_rows_per_s: float
    selectivity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryAssessment:
    """What is known of one query: its load, its lag, the cost of its batches and its latency by executors. None and empty are "not known"."""

    name: str
    trigger: Trigger
    load_rows_per_s: float | None = None
    excess_lag_rows: float | None = None
    batch_s: float | None = None
    cost: BatchCost | None = None
    latencies: Mapping[int, Estimate] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """All that a decision may rest on; None and empty are "not known". Load, lag, batch time and latencies of the job derive from those of its `queries`.

    `current` is the configuration that the policy steers: the desired one, or its own in shadow. `uptime_s` counts from start, restart, failure or rescale,
    whichever was last; `since_rescale_s` None is "never"; both are rounded up to whole reading intervals where at most half of one is missing, so that a
    timer ends at the reading nearest to its end. `load_rows_per_s` is the mean since the last decision. `stops` holds those of "rescale_up" and
    "rescale_down" that stop the job. `batch_laws` are those of a job with a single query in micro-batches. Capacities, T_max and latencies are by number of
    executors. `earlier` is what the policy recommended within the last hour, the newest last; `memory` is what its last decision remembered.
    """

    at_s: float
    plant: Plant
    reading: Reading
    current: Configuration
    declared: Configuration
    limits: Limits
    promises: Promises
    cadence: Cadence
    uptime_s: float
    since_rescale_s: float | None = None
    queries: tuple[QueryAssessment, ...] = ()
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
    memory: PolicyMemory | None = None

    @property
    def executors(self) -> int:
        """The present number of executors."""
        return self.current.executors

    @property
    def choices(self) -> range:
        """The numbers of executors that the limits allow, ascending."""
        return range(self.limits.min_executors, self.limits.max_executors + 1)

    @property
    def excess_lag_rows(self) -> float:
        """Excess lag of all queries; 0 while that of one is unknown."""
        return (total(query.excess_lag_rows for query in self.queries) if self.queries else self.reading.excess_lag_rows) or 0.0

    def capacity(self, executors: int) -> float | None:
        known = self.capacities.get(executors)
        return None if known is None else known.value

    @property
    def utilization_at_capacity(self) -> float:
        """The share of the time in which tasks run when batches take the longest time allowed, the least of all queries; 1 where that is not known."""
        laws = [self.batch_laws] if self.batch_laws is not None else [query.cost.laws() for query in self.queries if query.cost is not None]
        shares = [each.best.utilization_at_capacity(self.cadence) for each in laws if isinstance(each, LikelyLaws)]
        return min(shares, default=1.0) if self.plant == "micro_batch" else 1.0

    def saturated(self, executors: int, capacity_rows_per_s: float | None = None) -> float | None:
        """Return the throughput in rows/s of a job that is always behind: by the cost of batches, and never less than its capacity or what it does now."""
        known = self.capacity(executors) if capacity_rows_per_s is None else capacity_rows_per_s
        if self.batch_laws is None or known is None:
            return known
        now = 0.0 if executors < self.reading.executors_running else self.reading.throughput_rows_per_s or 0.0
        return max(known, now, self.batch_laws.best.saturated_rows_per_s(executors, self.cadence.interval_s))

    def peak(self, until_s: float) -> float:
        """Return the largest forecast rate of the next `until_s` seconds, at most to the end of the forecast; the load without a forecast."""
        if self.forecast is None:
            return self.load_rows_per_s or 0.0
        path = self.forecast.mean
        begin = (self.at_s - self.forecast.start_s) / self.forecast.step_s
        end = len(path) if math.isinf(until_s) else math.ceil((self.at_s + until_s - self.forecast.start_s) / self.forecast.step_s)
        first = min(max(0, math.floor(begin)), len(path) - 1)
        return max(path[first : max(first + 1, end)])

    @property
    def lasting_s(self) -> float:
        """How long a prediction about a configuration can still be judged."""
        return LASTING_S if self.forecast is None else self.forecast.end_s - self.forecast.start_s

    def predicted(
        self, kind: PredictionKind, expected: Estimate, configuration: Configuration, *, about: str = "", due_s: float | None = None,
        expires_s: float | None = None,
    ) -> Prediction:  # fmt: skip
        """Return a prediction made now; who decides gives it its id."""
        return Prediction(
            kind=kind,
            made_s=self.at_s,
            value=expected.value,
            low=expected.low,
            high=expected.high,
            configuration=configuration.beyond(self.current),
            due_s=due_s,
            expires_s=expires_s,
            about=about,
        )
