"""What the owner declares about a job: its parts, its limits and its promises."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from penstock.core.config import Config
from penstock.core.domain.autopilot import Autopilot, Mode
from penstock.core.domain.profile import ProfileSeen
from penstock.core.domain.trigger import Trigger

EMBEDDED = "embedded"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedSpec:
    """A feeder of one topic; the options are those of a trace source, `value_format` is "json" (all columns) or "raw" (the column `value`)."""

    topic: str
    options: Mapping[str, str]
    value_format: str = "json"


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSpec:
    """The Kafka of a job.

    `bootstrap` is a list of brokers, or `EMBEDDED` for one of the job's own. `options` are those of the client in Java's names, without a leading "kafka.".
    `connector` has coordinates and paths of jars; empty is "find one". `topics` has the partitions of each topic that is to be there.
    """

    bootstrap: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    connector: tuple[str, ...] = ()
    topics: Mapping[str, int] = field(default_factory=dict)
    feeds: tuple[FeedSpec, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuQuery:
    """A Prometheus query for the CPU cores that each executor uses; `label` of its answer names the executor."""

    url: str = field(repr=False)
    query: str
    label: str = "executor_id"


PROMISED_SHARE = 0.95
"""Share of rows for which a latency is promised: the 95th percentile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How few and how many executors the job may have, and with how many it starts (None: the most)."""

    min_executors: int = 1
    max_executors: int = 4
    start_executors: int | None = None

    @property
    def first(self) -> int:
        return self.max_executors if self.start_executors is None else self.start_executors

    def nearest(self, executors: int) -> int:
        """Return the number itself, or the limit that it lies beyond."""
        return min(max(executors, self.min_executors), self.max_executors)

    def at_least(self, executors: int) -> Self:
        """Return these limits with at least this minimum, but not above the maximum.

        >>> Limits(max_executors=4).at_least(2).min_executors, Limits(max_executors=4).at_least(6).min_executors
        (2, 4)
        """
        return replace(self, min_executors=max(self.min_executors, min(executors, self.max_executors)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Promises:
    """The promises of the job; None: nothing is promised."""

    latency_p95_s: float | None = None
    recovery_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSpec:
    """One input: a format Spark knows, or Penstock's own `trace`, with its options."""

    name: str
    format: str
    options: Mapping[str, str] = field(default_factory=dict)
    schema: str | None = None
    arrival_column: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkSpec:
    """Where a query writes: a format with options, or the user's own `foreachBatch` function.

    `arrival_field` is the header or JSON field of a record in a Kafka sink with the time its input had arrived: latency at the sink is measured from it.
    """

    format: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    foreach_batch: str | None = None
    arrival_field: str = "arrival"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySpec:
    """One query: an ordinary function from DataFrames to a DataFrame, its sources and its sink. `partitions` holds at the first start; None: the session's."""

    name: str
    function: str
    sources: tuple[str, ...]
    sink: SinkSpec
    trigger: Trigger = Trigger()
    rate_limit_rows_per_s: float | None = None
    output_mode: str = "append"
    partitions: int | None = None
    priority: int = 1
    minimum_accuracy: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """A whole job, as its file says. `folder` is what relative paths in it start from; `profile` is what was measured of the job beforehand."""

    name: str
    folder: str
    checkpoint: str
    sources: tuple[SourceSpec, ...]
    queries: tuple[QuerySpec, ...]
    master: str | None = None
    limits: Limits = Limits()
    promises: Promises = Promises()
    autopilot: Autopilot = field(default_factory=Autopilot)
    profile: tuple[ProfileSeen, ...] = ()
    config: Config = Config()
    spark_conf: Mapping[str, str] = field(default_factory=dict)
    metrics_address: str | None = None
    kafka: KafkaSpec = field(default_factory=KafkaSpec)
    cpu_query: CpuQuery | None = None
    ask_executors_cpu: bool = True

    def source(self, name: str) -> SourceSpec:
        return next(each for each in self.sources if each.name == name)

    @property
    def mode(self) -> Mode:
        return self.autopilot.mode

    @property
    def uses_kafka(self) -> bool:
        """Whether a source or a sink is a topic."""
        return any(source.format == "kafka" for source in self.sources) or any(query.sink.format == "kafka" for query in self.queries)
