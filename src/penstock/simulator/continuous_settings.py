"""The numbers of a simulated job whose tasks run all the time: a Flink job of the papers, or a query in Real-Time Mode."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.core.domain.trigger import Trigger


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinuousSettings:
    """How much a worker carries, and what failures, rescales and checkpoints cost."""

    capacity_rows_per_s: float
    """Of one worker that works all the time."""
    interval_s: float = 10.0
    """Between two checkpoints."""
    pause_s: float = 0.1
    """Nothing is processed for so long at a checkpoint."""
    downtime_s: float = 30.0
    """From when a failure is noticed until the job works again."""
    timeout_s: float = 20.0
    """Until a worker that froze is noticed; one that crashed is at once."""
    up_s: float = 30.0
    """What more workers, or other settings of the query, take."""
    down_s: float = 15.0
    """What fewer workers take."""
    replays: bool = True
    """Whether a rescale goes back to the last checkpoint (reactive mode), or stops the job at one (Real-Time Mode)."""
    grows_live: bool = False
    """Whether the job works on while more workers come."""
    base_s: float = 0.2
    """Latency of a row that waits for nothing."""
    queue_s: float = 0.05
    """Latency rises by this at half of the capacity, by u/(1-u) of it at utilisation u (M/M/1)."""
    idle: float = 0.02
    """CPU of a worker without rows."""
    noise: float = 0.02
    """Relative spread of a second's CPU."""
    skew: float = 0.0
    """Coefficient of variation of the workers' shares, drawn anew at every start."""
    rate_limit_rows_per_s: float | None = None
    query: str = "query"

    def __post_init__(self) -> None:
        if not self.capacity_rows_per_s > 0:
            raise ValueError(f"a worker carries more than 0 rows/s, found {self.capacity_rows_per_s}")
        if not 0 <= self.pause_s < self.interval_s:
            raise ValueError(f"the pause at a checkpoint is shorter than the interval; found {self.pause_s} s and {self.interval_s} s")
        if min(self.downtime_s, self.timeout_s, self.up_s, self.down_s) < 0:
            raise ValueError("downtimes are not negative")

    @property
    def trigger(self) -> Trigger:
        return Trigger(kind="real_time", interval_s=self.interval_s)
