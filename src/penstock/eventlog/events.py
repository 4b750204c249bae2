"""The events of a Spark event log that matter for a streaming job. All times are wall times in seconds."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationStarted:
    at_s: float
    name: str
    app_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Configured:
    """How many cores a task takes, and whether pools share the executors fairly (else the first job has priority)."""

    task_cpus: int = 1
    fair: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorAdded:
    at_s: float
    executor_id: str
    host: str
    cores: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorRemoved:
    """`lost`: the removal was not requested."""

    at_s: float
    executor_id: str
    lost: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStarted:
    """A Spark job of a batch: the stages that it may run, and its scheduler pool."""

    at_s: float
    query_id: str
    batch_id: int
    stages: tuple[int, ...]
    pool: str = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEnded:
    """One attempt of a task; rows count only where it succeeded."""

    at_s: float
    stage: int
    executor_id: str
    run_time_s: float
    source_rows: int
    shuffle_rows: int
    succeeded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryStarted:
    at_s: float
    query_id: str
    name: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryProgressed:
    """A batch that was committed at `at_s`. `behind_rows` had arrived when it began and are not in it; None if the sources do not report them."""

    at_s: float
    query_id: str
    name: str | None
    batch_id: int
    started_s: float
    rows: int
    parts_s: Mapping[str, float] = field(default_factory=dict)
    behind_rows: float | None = None
    state_rows: int | None = None
    state_memory_bytes: int | None = None
    partitions: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryIdle:
    """The query found nothing to read."""

    at_s: float
    query_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTerminated:
    """The end of a query; Spark does not log its time."""

    query_id: str
    failed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A line that is not an event, or lacks fields."""

    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A file of the log is damaged: only about this share of its bytes could be read."""

    part: str
    read_share: float


ExecutorEvent = ExecutorAdded | ExecutorRemoved
QueryEvent = QueryStarted | QueryProgressed | QueryIdle | QueryTerminated
Logged = ApplicationStarted | Configured | ExecutorEvent | JobStarted | TaskEnded | QueryEvent | Unreadable | Cut
