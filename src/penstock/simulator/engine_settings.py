"""Settings of simulated jobs: one in micro-batches, and one whose tasks run all the time."""

import math
from dataclasses import dataclass

from penstock.core.domain.cadence import Cadence, cadence_of
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.trigger import Trigger, interval_of, rows_per_batch
from penstock.core.errors import UserMistake
from penstock.core.models.capacity.batch_law import BatchLaw
from penstock.core.models.recovery.batch_recovery import COLD_FACTOR, REPLACED_AFTER_S, WARM_AFTER_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Contention:
    """Others take this share of the CPU, in seconds since the start of the run."""

    from_s: float
    until_s: float
    share: float


NOT_NEGATIVE = (
    "overhead_s", "row_s", "sink_s_per_row", "state_growth", "noise", "up_s", "up_spread", "down_s", "gap_wait_s", "commit_wait_s", "restart_s", "failed_s",
    "replace_s", "retry_s", "timeout_s", "first_task_s", "warm_up_factor",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroBatchSettings:
    """A job in micro-batches. A batch of n rows in P tasks on s warm executors takes a*(1 + growth*state) + b*skew*n*ceil(P/(s*cores))/P + sink*n seconds.

    `overhead_s` is a, `row_s` b, `partitions` P; `noise` is the spread of the logarithm of durations. Scaling is live, with the durations of SPARK-FACTS.
    `retry_s` and the warm-up are fitted to the crash reported there: its batch took 2.5 s longer, 0.5 s of it by this law, and the next two were slow.
    """

    overhead_s: float = 0.5
    row_s: float = 0.0002
    partitions: int = 24
    cores_per_executor: int = 1
    trigger: Trigger = Trigger(interval_s=5.0)
    rate_limit_rows_per_s: float | None = None
    skew: float = 1.0
    """Duration of the longest task over that of the mean task."""
    sink_s_per_row: float = 0.0
    """Time to write a row, one after the other: more executors do not help."""
    state_growth: float = 0.0
    """Share by which the overhead grows with each row ever processed."""
    state_share: float = 0.3
    """Share of a row's cost in the stage after the shuffle."""
    noise: float = 0.0
    up_s: float = 5.0
    up_spread: float = 0.2
    """New executors are ready up to half this share of `up_s` sooner or later than it."""
    down_s: float = 5.0
    gap_wait_s: float = 15.0
    """How long surplus executors wait for the end of a batch."""
    commit_wait_s: float = 60.0
    """How long a change of the query waits for a commit before the batch is given up."""
    restart_s: float = 0.5
    """Duration of a change of the query."""
    failed_s: float = 1.0
    """From when the query fails until it has started again."""
    replace_s: float = REPLACED_AFTER_S
    retry_s: float = 2.0
    timeout_s: float = 20.0
    first_task_s: float = 0.0
    """How much longer the first task of a new executor takes, while executors start and code is loaded; its batch waits for it."""
    warm_up_factor: float = COLD_FACTOR
    """Additional time of work on a new executor, as a multiple: 2 is three times as long in all."""
    warm_up_s: float = WARM_AFTER_S
    """Time in which the additional time falls to 1/e."""
    drift_per_hour: float = 0.0
    """Share by which the cost of a row grows in an hour."""
    contention: tuple[Contention, ...] = ()
    query: str = "query"

    def __post_init__(self) -> None:
        if self.trigger.kind != "processing_time":
            raise UserMistake(f'trigger: found "{self.trigger}", micro-batches are simulated with a time ("5s") or "asap"')
        if self.partitions < 1 or self.cores_per_executor < 1 or not 1 <= self.skew < math.inf:
            raise UserMistake(f"a batch needs a task, a slot and a skew of at least 1: {self.partitions} tasks, {self.cores_per_executor} slots, {self.skew}")
        for name in NOT_NEGATIVE:
            if not (value := getattr(self, name)) >= 0:
                raise UserMistake(f"{name}: found {value:g}, times and costs of a simulated job are not negative")
        if self.overhead_s + self.row_s + self.sink_s_per_row <= 0 or self.warm_up_s <= 0:
            raise UserMistake("a simulated batch takes time, and so does a warm-up: both must be above 0 s")

    @property
    def interval_s(self) -> float:
        """The time between two triggers; 0 is "as soon as the last batch is done"."""
        return interval_of(self.trigger, self.rate_limit_rows_per_s)

    def cadence(self, promises: Promises, longest_batch_s: float = 0.0) -> Cadence:
        return cadence_of(self.trigger, promises, rate_limit_rows_per_s=self.rate_limit_rows_per_s, longest_batch_s=longest_batch_s)

    @property
    def limit_rows(self) -> float:
        """The maximum number of rows of a batch.

        >>> MicroBatchSettings(trigger=Trigger(interval_s=5.0), rate_limit_rows_per_s=1000.0).limit_rows
        5000.0
        """
        return math.inf if self.rate_limit_rows_per_s is None else max(1.0, rows_per_batch(self.trigger, self.rate_limit_rows_per_s))

    @property
    def law(self) -> BatchLaw:
        """The cost of a batch on warm executors, without growth of the state and without the sink."""
        return BatchLaw(
            overhead_s=self.overhead_s,
            row_s=self.row_s,
            partitions=self.partitions,
            cores_per_executor=self.cores_per_executor,
            skew=self.skew,
            limit_rows=None if self.rate_limit_rows_per_s is None else self.limit_rows,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinuousSettings:
    """A job whose tasks run all the time, as a Flink job of the papers or a query in Real-Time Mode."""

    capacity_rows_per_s: float
    """Capacity of one executor."""
    interval_s: float = 10.0
    """Time between two checkpoints."""
    pause_s: float = 0.1
    """Pause of processing at a checkpoint."""
    downtime_s: float = 30.0
    """Time from when a failure is noticed until the job is up again."""
    timeout_s: float = 20.0
    """Time until a frozen executor is noticed; a crash is noticed at once."""
    up_s: float = 30.0
    """Duration of a scale-up, or of a change of the query."""
    down_s: float = 15.0
    """Duration of a scale-down."""
    replays: bool = True
    """Whether a rescale goes back to the last checkpoint (reactive mode), or stops the job at one (Real-Time Mode)."""
    grows_live: bool = False
    """Whether the job keeps running during a scale-up."""
    base_s: float = 0.2
    """Latency of a row without any queue."""
    queue_s: float = 0.05
    """Additional latency at half of the capacity; u/(1-u) of it at utilisation u (M/M/1)."""
    idle: float = 0.02
    """CPU of an executor without rows."""
    noise: float = 0.02
    """Relative spread of the CPU of a second."""
    skew: float = 0.0
    """Coefficient of variation of the executors' shares, drawn anew at every start."""
    rate_limit_rows_per_s: float | None = None
    query: str = "query"

    def __post_init__(self) -> None:
        if not self.capacity_rows_per_s > 0:
            raise ValueError(f"an executor carries more than 0 rows/s, found {self.capacity_rows_per_s}")
        if not 0 <= self.pause_s < self.interval_s:
            raise ValueError(f"the pause at a checkpoint is shorter than the interval; found {self.pause_s} s and {self.interval_s} s")
        if min(self.downtime_s, self.timeout_s, self.up_s, self.down_s) < 0:
            raise ValueError("downtimes are not negative")

    @property
    def trigger(self) -> Trigger:
        return Trigger(kind="real_time", interval_s=self.interval_s)
