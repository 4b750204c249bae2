"""What the monitor saw: one Reading every few seconds. Unknown is None, never 0 or NaN."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil

from penstock.core.domain.configuration import Configuration, QueryConfiguration
from penstock.core.domain.knobs import KNOBS
from penstock.core.domain.trigger import interval_of

OVER = ("given up", "stopped")
"""States of a query that reads nothing any more; one that has ended may be started again, in a loop."""
IN_TASKS = "addBatch"
"""The part of a batch in which its tasks run and its rows are written, by Spark's name for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantiles:
    """Latency from a record's arrival to the commit of its batch; in Real-Time Mode to the write of its result at the sink."""

    p50_s: float
    p95_s: float
    p99_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorReading:
    """One executor over the window.

    `busyness` is task time over slots x wall time, unknown in Real-Time Mode, where tasks run all the time; `cpu_cores` is what its process tree took,
    where that can be read.
    """

    executor_id: str
    host: str
    slots: int
    uptime_s: float
    throughput_rows_per_s: float | None = None
    busyness: float | None = None
    cpu_cores: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StageReading:
    """One stage of the query's batches, known by its position: stage ids change with every batch."""

    position: int
    name: str
    tasks: float
    rows_per_s: float
    run_time_s_per_s: float
    busyness: float | None
    cpu_s_per_s: float | None = None
    """CPU time of its tasks, without that of Python workers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionReading:
    """One partition of a query's source: how fast rows arrive there, and how many wait."""

    name: str
    arrival_rows_per_s: float | None
    lag_rows: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchReading:
    """One committed batch: its time outside of its tasks, and the run time and CPU time of all its tasks together, None where that is not known.

    `number` counts the batches since the query's start, from 1, over all starts where it is started in a loop; `since_s` is the time since its commit.
    """

    number: int
    rows: float
    took_s: float
    since_s: float
    taken: float = 0.0
    outside_s: float | None = None
    run_s: float | None = None
    cpu_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchParts:
    """The average batch of the window: its rows, and where its time went, in seconds. `taken` is the share of the CPU time wanted that others took."""

    total_s: float
    rows: float | None = None
    taken: float | None = None
    each: tuple[BatchReading, ...] = ()
    """The batches of the window, the newest last: averages of batches that follow each other do not show what a row costs."""
    parts_s: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryReading(QueryConfiguration):
    """One query over the window: its configuration as it runs, and what was measured. `unable` says which knobs cannot be set, and what would change that.

    `batches` are those of the window, `batches_run` all since its start. `in_batch_rows` is what the running batch has read so far, `boundary_pause_s` how
    long rows last waited between two batches of Real-Time Mode, `replayed_rows` what was read again after restarts, `slots_held` what its tasks occupy all
    the time in Real-Time Mode.
    """

    name: str
    state: str
    batch_id: int | None = None
    batches: int = 0
    batches_run: int = 0
    since_commit_s: float | None = None
    uptime_s: float = 0.0
    arrival_rows_per_s: float | None = None
    throughput_rows_per_s: float | None = None
    lag_rows: float | None = None
    lag_s: float | None = None
    excess_lag_rows: float | None = None
    latency: Quantiles | None = None
    clock_skew_s: float | None = None
    batch: BatchParts | None = None
    busyness: float | None = None
    stages: tuple[StageReading, ...] = ()
    state_rows: int | None = None
    state_memory_bytes: int | None = None
    failures: int = 0
    unable: dict[str, str] = field(default_factory=dict)
    in_batch_rows: float | None = None
    boundary_pause_s: float | None = None
    replayed_rows: float = 0.0
    source_partitions: tuple[PartitionReading, ...] = ()
    slots_held: int = 0

    @property
    def cycle_s(self) -> float:
        """From one trigger to the next, on average: the interval, or the batch where that takes longer."""
        return max(interval_of(self.trigger, self.rate_limit_rows_per_s), self.batch.total_s if self.batch else 0.0)

    @property
    def window_s(self) -> float:
        """How long the batches of the window took together, with the waits for their triggers; 0 without any.

        >>> parts = BatchParts(total_s=2.0)
        >>> from penstock.core.domain.trigger import Trigger
        >>> QueryReading(name="q", state="running", trigger=Trigger(interval_s=5.0), batches=3, batch=parts).window_s
        15.0
        """
        return self.batches * self.cycle_s if self.batch else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The whole job at one moment; sums over its active queries, the worst of their latencies and lags in seconds."""

    at_s: float
    uptime_s: float
    since_disturbance_s: float | None
    executors_running: int
    executors_requested: int
    arrival_rows_per_s: float | None
    throughput_rows_per_s: float | None
    lag_rows: float | None
    lag_s: float | None
    excess_lag_rows: float | None
    latency: Quantiles | None
    busyness: float | None
    failures: int
    executors: tuple[ExecutorReading, ...] = ()
    queries: tuple[QueryReading, ...] = ()
    unable: dict[str, str] = field(default_factory=dict)

    @property
    def configuration(self) -> Configuration:
        """The running configuration; executors are those requested, other knobs of the job are fields of the same name."""
        others = {knob.field: getattr(self, knob.field) for knob in KNOBS.values() if knob.scope == "job" and knob.name != "executors"}
        return Configuration(executors=self.executors_requested, queries={query.name: query for query in self.queries}, **others)

    @property
    def active(self) -> tuple[QueryReading, ...]:
        """The queries that run or are to run again: one that was given up reads nothing and needs nothing."""
        return tuple(query for query in self.queries if query.state not in OVER)

    @property
    def least_executors(self) -> int:
        """The fewest executors with enough slots for tasks that never end; 0 without such tasks or without executors."""
        if not self.executors:
            return 0
        held, slots = sum(query.slots_held for query in self.active), min((executor.slots for executor in self.executors), default=1)
        return ceil(held / max(1, slots))

    @property
    def query_failures(self) -> int:
        """Failures of its queries; the others are losses of executors."""
        return sum(query.failures for query in self.queries)

    def has_work_for(self, seconds: float) -> bool:
        """Return whether the excess lag is at least this many seconds of work at the present throughput; False if that is unknown."""
        waiting, done = self.excess_lag_rows, self.throughput_rows_per_s
        return waiting is not None and done is not None and waiting >= done * seconds


def rescales(readings: Sequence[Reading]) -> int:
    """Return how often the requested number of executors changed. Late, lost and surplus executors do not count."""
    return sum(before.executors_requested != after.executors_requested for before, after in pairwise(readings))


def total(values: Iterable[float | None]) -> float | None:
    """Return the sum, unknown if any part is.

    >>> total([1.0, 2.0]), total([1.0, None]), total([])
    (3.0, None, None)
    """
    found = None
    for value in values:
        if value is None:
            return None
        found = value if found is None else found + value
    return found
