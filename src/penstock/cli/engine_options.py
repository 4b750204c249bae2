"""The options of `penstock simulate` that say what an engine is like."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.cli.simulate_options import needed, one_of
from penstock.core.domain.trigger import Trigger
from penstock.core.errors import UserMistake
from penstock.simulator.continuous_settings import ContinuousSettings
from penstock.simulator.microbatch_settings import MicroBatchSettings

CONTINUOUS, MICRO_BATCH = ENGINES = ("continuous", "micro-batch")
USUAL_DOWNTIME_S = 30.0
OF_BATCHES = ("trigger", "overhead", "row_cost_us", "partitions", "cores")
"""Options that mean nothing where tasks run all the time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """As they were given, by their names; None is "not given"."""

    engine: str
    capacity_per_worker: float
    downtime: float | None
    downtime_in: float | None
    timeout_failures: float | None
    interval: float
    trigger: float | None
    overhead: float | None
    row_cost_us: float | None
    partitions: int | None
    cores: int | None
    rate_limit: float | None
    noise: float | None
    skew: float | None

    def settings(self, query: str = "query") -> ContinuousSettings | MicroBatchSettings:
        """The engine of one query of that name, or one line that says what is wrong."""
        one_of("engine", self.engine, ENGINES)
        needed(0, above=True, capacity_per_worker=self.capacity_per_worker, row_cost_us=self.row_cost_us, rate_limit=self.rate_limit)
        needed(0, downtime=self.downtime, downtime_in=self.downtime_in, timeout_failures=self.timeout_failures, noise=self.noise)
        needed(0, trigger=self.trigger, overhead=self.overhead)
        needed(1, partitions=self.partitions, cores=self.cores)
        needed(0 if self.engine == CONTINUOUS else 1, skew=self.skew)
        foreign = [name for name in OF_BATCHES if self.engine == CONTINUOUS and getattr(self, name) is not None]
        if foreign:
            raise UserMistake(f"--{foreign[0].replace('_', '-')}: it is an option of --engine {MICRO_BATCH}, and the engine is {CONTINUOUS}")
        return replace(self._continuous() if self.engine == CONTINUOUS else self._micro_batch(), query=query)

    def _continuous(self) -> ContinuousSettings:
        """A rescale costs what a failure does, unless it is told what taking workers away costs."""
        usual = ContinuousSettings(capacity_rows_per_s=self.capacity_per_worker)
        needed(usual.pause_s, above=True, interval=self.interval)
        down_s = USUAL_DOWNTIME_S if self.downtime is None else self.downtime
        return ContinuousSettings(
            capacity_rows_per_s=self.capacity_per_worker,
            interval_s=self.interval,
            downtime_s=down_s,
            timeout_s=usual.timeout_s if self.timeout_failures is None else self.timeout_failures,
            up_s=down_s,
            down_s=down_s if self.downtime_in is None else self.downtime_in,
            noise=usual.noise if self.noise is None else self.noise,
            skew=usual.skew if self.skew is None else self.skew,
            rate_limit_rows_per_s=self.rate_limit,
        )

    def _micro_batch(self) -> MicroBatchSettings:
        """A row costs what leaves a worker the capacity it was given, unless its cost is given."""
        usual = MicroBatchSettings()
        cores = usual.cores_per_executor if self.cores is None else self.cores
        return MicroBatchSettings(
            overhead_s=usual.overhead_s if self.overhead is None else self.overhead,
            row_s=cores / self.capacity_per_worker if self.row_cost_us is None else self.row_cost_us / 1e6,
            partitions=usual.partitions if self.partitions is None else self.partitions,
            cores_per_executor=cores,
            trigger=usual.trigger if self.trigger is None else Trigger(interval_s=self.trigger),
            rate_limit_rows_per_s=self.rate_limit,
            skew=usual.skew if self.skew is None else self.skew,
            noise=usual.noise if self.noise is None else self.noise,
            up_s=usual.up_s if self.downtime is None else self.downtime,
            down_s=usual.down_s if self.downtime_in is None else self.downtime_in,
            timeout_s=usual.timeout_s if self.timeout_failures is None else self.timeout_failures,
        )
