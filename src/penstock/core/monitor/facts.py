"""What an engine reports: raw facts, before any arithmetic. All `_s` times are on the controller's steady clock unless a name says wall."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.core.domain.configuration import QueryConfiguration

ARRIVAL_PROBABILITIES = (0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0)
"""At which the arrival times of a batch are observed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorShare:
    """What one executor did for one stage of a batch."""

    executor_id: str
    task_time_s: float
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StageFact:
    """One stage of one batch; `rows` are those it read, from a source or from a shuffle; `cpu_s` is what its tasks computed, as Spark counts it."""

    position: int
    name: str
    tasks: int
    run_time_s: float
    rows: int
    reads_source: bool
    shares: tuple[ExecutorShare, ...] = ()
    cpu_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivalSample:
    """When the rows of a batch had arrived: wall times at the given probabilities, ascending, and how many rows they stand for."""

    rows: float
    probabilities: tuple[float, ...]
    wall_s: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFact:
    """One partition of a source, named like `clicks-0`; both counts are cumulative, `processed_rows` is None where it is unknown."""

    name: str
    newest_rows: float
    processed_rows: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSample:
    """One output record that was looked at: when it was written, how long after the arrival of its input, and how many records it stands for."""

    wall_s: float
    latency_s: float
    rows: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFact:
    """One committed batch. `rows` come from offsets where the source's offsets count rows, else from Spark's own count.

    `pause_s` is how long rows waited at the boundary before it: from when the tasks of the batch before it had ended to when its own ran.
    """

    batch_id: int
    started_s: float
    committed_s: float
    committed_wall_s: float
    rows: float
    parts_s: Mapping[str, float] = field(default_factory=dict)
    arrivals: tuple[ArrivalSample, ...] = ()
    stages: tuple[StageFact, ...] = ()
    state_rows: int | None = None
    state_memory_bytes: int | None = None
    pause_s: float | None = None

    @property
    def duration_s(self) -> float:
        return self.committed_s - self.started_s


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryFacts(QueryConfiguration):
    """One query since the last look, with its configuration: `newest_rows` and `processed_rows` are cumulative, None where the source does not report them.

    Live task metrics have `in_batch_rows`, which the running batch has read so far, and in Real-Time Mode, where `processed_rows` includes them,
    also `read_rows` and `executor_rows`: all rows read, replays included, together and by executor. These counts are `stale_s` old on average.
    `outputs` are new since the last look; `replayed_rows` are all rows read again after restarts: the most that an unsafe sink can hold twice.
    `counted_s` is when all these were counted, None for the moment of the observation. `slots_held` are those that its tasks occupy all the time.
    """

    name: str
    state: str
    started_s: float | None
    batches: tuple[BatchFact, ...] = ()
    idle_s: float | None = None
    newest_rows: float | None = None
    processed_rows: float | None = None
    oldest_waiting_s: float | None = None
    failures: int = 0
    unable: Mapping[str, str] = field(default_factory=dict)
    in_batch_rows: float | None = None
    read_rows: float | None = None
    executor_rows: Mapping[str, float] = field(default_factory=dict)
    stale_s: float = 0.0
    source_partitions: tuple[PartitionFact, ...] = ()
    slots_held: int = 0
    outputs: tuple[OutputSample, ...] = ()
    replayed_rows: float = 0.0
    counted_s: float | None = None

    @property
    def is_real_time(self) -> bool:
        return self.trigger.kind == "real_time"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorFact:
    """One executor now; `cpu_s` is what it has taken since it began, `cpu_cores` what it takes now, None where unknown."""

    executor_id: str
    host: str
    slots: int
    added_s: float
    cpu_s: float | None = None
    cpu_cores: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuWanted:
    """CPU seconds that the processes of the job wanted since it began, and those of them that others took: both only grow."""

    wanted_s: float
    taken_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Everything an engine reports at one moment; `cpu` is None where contention cannot be measured."""

    at_s: float
    started_s: float
    disturbed_s: float | None
    executors_requested: int
    executors: tuple[ExecutorFact, ...]
    queries: tuple[QueryFacts, ...]
    executors_lost: int = 0
    cpu: CpuWanted | None = None
    unable: Mapping[str, str] = field(default_factory=dict)
