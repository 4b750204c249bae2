"""A reading in Prometheus' text format; unknown values are left out."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Generic, TypeVar

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from penstock.core.domain.autopilot import Mode
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.reading import ExecutorReading, PartitionReading, Quantiles, QueryReading, Reading, StageReading

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class AutopilotState:
    """The state of the autopilot; `errors` are the mean relative errors of its latest predictions by kind."""

    mode: Mode
    target_executors: int
    paused: bool
    proposal_open: bool
    errors: Mapping[str, float]


LATENCY = "Latency from arrival to commit; in Real-Time Mode to the write at the sink"


@dataclass(frozen=True, slots=True)
class Measure(Generic[T]):
    """A metric of a `T`: its name, its help text and how to get its value."""

    name: str
    meaning: str
    value: Callable[[T], float | None]
    counts: bool = False


def _interval_s(query: QueryReading) -> float | None:
    """Return the trigger's interval; None for a trigger that runs once."""
    return None if query.trigger.kind == "available_now" else query.trigger.interval_s


JOB: tuple[Measure[Reading], ...] = (
    Measure("reading_timestamp_seconds", "When the latest reading was taken, in seconds since 1970.", lambda r: r.at_s),
    Measure("uptime_seconds", "Time since the job was started.", lambda r: r.uptime_s),
    Measure("since_disturbance_seconds", "Time since the last rescale, restart or failure.", lambda r: r.since_disturbance_s),
    Measure("executors_running", "Executors that run.", lambda r: r.executors_running),
    Measure("executors_requested", "Executors that were asked for.", lambda r: r.executors_requested),
    Measure("arrival_rows_per_second", "Rows that arrive at the sources, measured there.", lambda r: r.arrival_rows_per_s),
    Measure("throughput_rows_per_second", "Rows processed.", lambda r: r.throughput_rows_per_s),
    Measure("lag_rows", "Rows that have arrived and are not processed.", lambda r: r.lag_rows),
    Measure("lag_seconds", "Lag as time: the worst of the queries.", lambda r: r.lag_s),
    Measure("excess_lag_rows", "Lag beyond what a healthy query always has.", lambda r: r.excess_lag_rows),
    Measure("busyness_ratio", "Share of the executors' slot time spent in tasks.", lambda r: r.busyness),
    Measure("failures", "Failures seen since the job was started.", lambda r: r.failures, counts=True),
)

QUERY: tuple[Measure[QueryReading], ...] = (
    Measure("query_trigger_interval_seconds", "The trigger's interval; 0 is as soon as the last batch is done.", _interval_s),
    Measure("query_rate_limit_rows_per_second", "Rows the query may take in; absent where it has no limit.", lambda q: q.rate_limit_rows_per_s),
    Measure("query_batch_id", "Number of the last committed batch.", lambda q: q.batch_id),
    Measure("query_window_batches", "Batches committed within the reading's window.", lambda q: q.batches),
    Measure("query_run_batches", "Batches committed since the query's last start.", lambda q: q.batches_run),
    Measure("query_since_commit_seconds", "Time since the last commit.", lambda q: q.since_commit_s),
    Measure("query_uptime_seconds", "Time since the query was last started.", lambda q: q.uptime_s),
    Measure("query_arrival_rows_per_second", "Rows that arrive at the query's sources, measured there.", lambda q: q.arrival_rows_per_s),
    Measure("query_throughput_rows_per_second", "Rows the query processed.", lambda q: q.throughput_rows_per_s),
    Measure("query_lag_rows", "Rows that have arrived and the query has not processed.", lambda q: q.lag_rows),
    Measure("query_lag_seconds", "The query's lag as time.", lambda q: q.lag_s),
    Measure("query_excess_lag_rows", "The query's lag beyond what a healthy query always has.", lambda q: q.excess_lag_rows),
    Measure("query_clock_skew_seconds", "How far in the future the query's records arrive.", lambda q: q.clock_skew_s),
    Measure("query_batch_seconds", "Duration of an average batch of the window.", lambda q: q.batch.total_s if q.batch else None),
    Measure("query_busyness_ratio", "Share of the executors' slot time spent in the query's tasks.", lambda q: q.busyness),
    Measure("query_state_rows", "Rows in the query's state.", lambda q: q.state_rows),
    Measure("query_state_memory_bytes", "Memory the query's state takes.", lambda q: q.state_memory_bytes),
    Measure("query_kept_share_ratio", "Share of the arriving rows that the query keeps.", lambda q: q.kept_share),
    Measure("query_partitions", "Shuffle partitions of the query.", lambda q: q.partitions),
    Measure("query_failures", "Failures of the query since the job was started.", lambda q: q.failures, counts=True),
    Measure("query_in_batch_rows", "Rows the running batch has read so far.", lambda q: q.in_batch_rows),
    Measure("query_boundary_pause_seconds", "How long rows last waited between two batches of Real-Time Mode.", lambda q: q.boundary_pause_s),
    Measure(
        "query_replayed_rows",
        "Rows read again after restarts: the most that can be twice in a sink that is not idempotent.",
        lambda q: q.replayed_rows,
        counts=True,
    ),
    Measure("query_slots_held", "Slots that the query's tasks occupy all the time, in Real-Time Mode.", lambda q: q.slots_held),
)

PARTITION: tuple[Measure[PartitionReading], ...] = (
    Measure("query_partition_arrival_rows_per_second", "Rows that arrive at the partition, measured there.", lambda p: p.arrival_rows_per_s),
    Measure("query_partition_lag_rows", "Rows of the partition that have arrived and the query has not processed.", lambda p: p.lag_rows),
)

STAGE: tuple[Measure[StageReading], ...] = (
    Measure("stage_tasks", "Tasks of the stage in an average batch.", lambda s: s.tasks),
    Measure("stage_rows_per_second", "Rows the stage took in.", lambda s: s.rows_per_s),
    Measure("stage_run_time_seconds_per_second", "Task time the stage took per second of wall time.", lambda s: s.run_time_s_per_s),
    Measure("stage_busyness_ratio", "Share of the executors' slot time spent in the stage.", lambda s: s.busyness),
)

EXECUTOR: tuple[Measure[ExecutorReading], ...] = (
    Measure("executor_slots", "Tasks the executor can run at a time.", lambda e: e.slots),
    Measure("executor_uptime_seconds", "Time since the executor came.", lambda e: e.uptime_s),
    Measure("executor_throughput_rows_per_second", "Input rows the executor processed.", lambda e: e.throughput_rows_per_s),
    Measure("executor_busyness_ratio", "Share of the executor's slot time spent in tasks.", lambda e: e.busyness),
    Measure("executor_cpu_cores", "CPU the executor's process tree took, in cores.", lambda e: e.cpu_cores),
)

AUTOPILOT: tuple[Measure[AutopilotState], ...] = (
    Measure("target_executors", "Executors that are wanted; in shadow, that the policy would want.", lambda a: a.target_executors),
    Measure("policy_paused", "1 while the policy decides nothing.", lambda a: a.paused),
    Measure("proposal_open", "1 while a proposal waits for an answer.", lambda a: a.proposal_open),
)

PROMISE: tuple[Measure[Promises], ...] = (
    Measure("promised_latency_p95_seconds", "Latency the job promises for 95 % of its rows.", lambda p: p.latency_p95_s),
    Measure("promised_recovery_seconds", "Time within which the job promises to have recovered from a failure.", lambda p: p.recovery_s),
)


def metrics_text(
    job: str, reading: Reading | None, events_by_kind: Mapping[str, int], promises: Promises, autopilot: AutopilotState | None = None,
    redact: Callable[[str], str] = str,
) -> bytes:  # fmt: skip
    """Return all that is known of a job in Prometheus' text format, without secrets; before the first reading only what needs none."""
    registry = CollectorRegistry(auto_describe=False)
    standing = [*_standing(job, events_by_kind, promises), *(_of_autopilot(job, autopilot) if autopilot else ())]
    registry.register(_Families([*standing, *(_of_reading(job, reading, redact) if reading else ())]))
    return generate_latest(registry)


class _Families(Collector):
    """Families made beforehand, in the shape a registry takes."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = list(families)

    def collect(self) -> Iterator[Metric]:
        return (each for each in self._families if each.samples)


def _standing(job: str, events_by_kind: Mapping[str, int], promises: Promises) -> Iterator[Metric]:
    yield InfoMetricFamily("penstock_build", "The Penstock that reports.", value={"version": version("penstock")})
    yield from _families(PROMISE, ("job",), [((job,), promises)])
    events = CounterMetricFamily("penstock_events", "Events since the job was started, by kind.", labels=("job", "kind"))
    for kind, count in sorted(events_by_kind.items()):
        events.add_metric((job, kind), count)
    yield events


def _of_autopilot(job: str, autopilot: AutopilotState) -> Iterator[Metric]:
    yield from _families(AUTOPILOT, ("job",), [((job,), autopilot)])
    mode = GaugeMetricFamily("penstock_mode", "1 for the mode that the autopilot is in.", labels=("job", "mode"))
    mode.add_metric((job, autopilot.mode), 1)
    yield mode
    meaning = "Mean relative error of the latest predictions."
    errors = GaugeMetricFamily("penstock_prediction_error", meaning, labels=("job", "kind"))
    for kind, error in sorted(autopilot.errors.items()):
        errors.add_metric((job, kind), error)
    yield errors


def _of_reading(job: str, reading: Reading, redact: Callable[[str], str]) -> Iterator[Metric]:
    queries = [((job, query.name), query) for query in reading.queries]
    yield from _families(JOB, ("job",), [((job,), reading)])
    yield _latency("latency_seconds", f"{LATENCY}: the worst of the queries.", ("job",), [((job,), reading.latency)])
    yield from _families(QUERY, ("job", "query"), queries)
    yield _latency("query_latency_seconds", f"{LATENCY}.", ("job", "query"), [(labels, query.latency) for labels, query in queries])
    yield _states(queries)
    yield _batch_parts(queries)
    partitions = [((*labels, name), each) for labels, query in queries for name, each in _masked_partitions(query, redact)]
    yield from _families(PARTITION, ("job", "query", "partition"), partitions)
    yield from _families(STAGE, ("job", "query", "stage"), [((*labels, str(stage.position)), stage) for labels, query in queries for stage in query.stages])
    yield from _families(EXECUTOR, ("job", "executor"), [((job, each.executor_id), each) for each in reading.executors])


def _masked_partitions(query: QueryReading, redact: Callable[[str], str]) -> Iterator[tuple[str, PartitionReading]]:
    """Yield partitions by name, secrets masked; names that masking makes equal are numbered."""
    met: Counter[str] = Counter()
    for partition in query.source_partitions:
        name = redact(partition.name)
        met[name] += 1
        yield name if met[name] == 1 else f"{name} ({met[name]})", partition


def _families(measures: Iterable[Measure[T]], names: tuple[str, ...], things: Iterable[tuple[tuple[str, ...], T]]) -> Iterator[Metric]:
    """Yield one family for each measure, with a sample for each thing whose value is known."""
    things = list(things)
    for measure in measures:
        family = (CounterMetricFamily if measure.counts else GaugeMetricFamily)(f"penstock_{measure.name}", measure.meaning, labels=names)
        for labels, thing in things:
            value = measure.value(thing)
            if value is not None:
                family.add_metric(labels, value)
        yield family


def _latency(name: str, meaning: str, names: tuple[str, ...], latencies: Iterable[tuple[tuple[str, ...], Quantiles | None]]) -> Metric:
    family = GaugeMetricFamily(f"penstock_{name}", meaning, labels=(*names, "quantile"))
    for labels, latency in latencies:
        if latency is not None:
            for quantile, seconds in (("0.5", latency.p50_s), ("0.95", latency.p95_s), ("0.99", latency.p99_s)):
                family.add_metric((*labels, quantile), seconds)
    return family


def _states(queries: Iterable[tuple[tuple[str, str], QueryReading]]) -> Metric:
    family = GaugeMetricFamily("penstock_query_state", "1 for the state the query is in.", labels=("job", "query", "state"))
    for labels, query in queries:
        family.add_metric((*labels, query.state), 1)
    return family


def _batch_parts(queries: Iterable[tuple[tuple[str, str], QueryReading]]) -> Metric:
    family = GaugeMetricFamily("penstock_query_batch_part_seconds", "Where the time of an average batch went.", labels=("job", "query", "part"))
    for labels, query in queries:
        for part, seconds in sorted(query.batch.parts_s.items()) if query.batch else ():
            family.add_metric((*labels, part), seconds)
    return family
