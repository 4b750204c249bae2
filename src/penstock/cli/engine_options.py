"""The options of `penstock simulate` that describe the engine."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.cli.report import needed, one_of
from penstock.core.domain.trigger import Trigger
from penstock.core.errors import UserMistake
from penstock.simulator.engine_settings import ContinuousSettings, MicroBatchSettings

CONTINUOUS, MICRO_BATCH = ENGINES = ("continuous", "micro-batch")
USUAL_CAPACITY_ROWS_PER_S, USUAL_DOWNTIME_S = 5000.0, 30.0
OF_BATCHES, OF_FLOW = ("trigger", "overhead", "row_cost_us", "partitions", "cores"), ("interval",)
"""Options of the micro-batch engine only, and of the continuous engine only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """The options by their names; None is "not given"."""

    engine: str | None
    capacity_per_worker: float | None
    downtime: float | None
    downtime_in: float | None
    timeout_failures: float | None
    interval: float | None
    trigger: float | None
    overhead: float | None
    row_cost_us: float | None
    partitions: int | None
    cores: int | None
    rate_limit: float | None
    noise: float | None
    skew: float | None

    @property
    def kind(self) -> str:
        return CONTINUOUS if self.engine is None else self.engine

    def settings(self, query: str = "query") -> ContinuousSettings | MicroBatchSettings:
        """Return the settings of an engine for one query of that name, or raise a UserMistake."""
        one_of("engine", self.kind, ENGINES)
        if self.kind == CONTINUOUS:
            self._refuse(OF_BATCHES, f"it is an option of --engine {MICRO_BATCH}, and the engine is {CONTINUOUS}")
        else:
            self._refuse(OF_FLOW, f"it is an option of --engine {CONTINUOUS}, and the engine is {MICRO_BATCH}, which commits with every batch: --trigger")
        whole = self if self.capacity_per_worker is not None else replace(self, capacity_per_worker=USUAL_CAPACITY_ROWS_PER_S)
        if self.kind == MICRO_BATCH:
            return replace(whole._micro_batch(MicroBatchSettings()), query=query)
        stop_s = USUAL_DOWNTIME_S
        usual = ContinuousSettings(capacity_rows_per_s=USUAL_CAPACITY_ROWS_PER_S, downtime_s=stop_s, up_s=stop_s, down_s=stop_s)
        return replace(whole._continuous(usual), query=query)

    def over(self, recorded: ContinuousSettings | MicroBatchSettings) -> ContinuousSettings | MicroBatchSettings:
        """Return the settings of a recorded job with the given options in place of its own, or raise a UserMistake."""
        kind = CONTINUOUS if isinstance(recorded, ContinuousSettings) else MICRO_BATCH
        if self.engine not in (None, kind):
            one_of("engine", self.kind, ENGINES)
            raise UserMistake(f"--engine: found {self.engine}, the job of --like is {kind}; leave it out")
        self._refuse(OF_BATCHES if kind == CONTINUOUS else OF_FLOW, f"it means nothing to the job of --like, which is {kind}")
        return self._continuous(recorded) if isinstance(recorded, ContinuousSettings) else self._micro_batch(recorded)

    def _refuse(self, foreign: Sequence[str], why: str) -> None:
        for name in foreign:
            if getattr(self, name) is not None:
                raise UserMistake(f"--{name.replace('_', '-')}: {why}")

    def _continuous(self, usual: ContinuousSettings) -> ContinuousSettings:
        """Return the settings with the given options; a rescale takes as long as a failure, unless --downtime-in is given for scale-downs."""
        self._check(lowest_skew=0)
        needed(usual.pause_s, above=True, interval=self.interval)
        changed = given(
            capacity_rows_per_s=self.capacity_per_worker,
            interval_s=self.interval,
            downtime_s=self.downtime,
            timeout_s=self.timeout_failures,
            up_s=self.downtime,
            down_s=self.downtime if self.downtime_in is None else self.downtime_in,
            noise=self.noise,
            skew=self.skew,
            rate_limit_rows_per_s=self.rate_limit,
        )
        return replace(usual, **changed)

    def _micro_batch(self, usual: MicroBatchSettings) -> MicroBatchSettings:
        """Return the settings with the given options; the cost of a row follows from the capacity, unless it is given."""
        self._check(lowest_skew=1)
        needed(1, partitions=self.partitions, cores=self.cores)
        needed(0, trigger=self.trigger, overhead=self.overhead)
        cores, capacity = usual.cores_per_executor if self.cores is None else self.cores, self.capacity_per_worker
        of_capacity_s = None if capacity is None else cores / capacity
        changed = given(
            overhead_s=self.overhead,
            row_s=of_capacity_s if self.row_cost_us is None else self.row_cost_us / 1e6,
            partitions=self.partitions,
            cores_per_executor=cores,
            trigger=None if self.trigger is None else Trigger(interval_s=self.trigger),
            rate_limit_rows_per_s=self.rate_limit,
            skew=self.skew,
            noise=self.noise,
            up_s=self.downtime,
            down_s=self.downtime_in,
            timeout_s=self.timeout_failures,
        )
        return replace(usual, **changed)

    def _check(self, *, lowest_skew: float) -> None:
        needed(0, above=True, capacity_per_worker=self.capacity_per_worker, row_cost_us=self.row_cost_us, rate_limit=self.rate_limit)
        needed(0, downtime=self.downtime, downtime_in=self.downtime_in, timeout_failures=self.timeout_failures, noise=self.noise)
        needed(lowest_skew, skew=self.skew)


def given(**settings: Any) -> dict[str, Any]:
    """Drop the options that were not given.

    >>> given(overhead_s=0.5, row_s=None)
    {'overhead_s': 0.5}
    """
    return {name: value for name, value in settings.items() if value is not None}
