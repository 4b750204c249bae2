"""From an observation, and the memory of earlier ones, to a Reading."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from penstock.core.config import Config
from penstock.core.domain.cadence import cadence_of
from penstock.core.domain.configuration import knobs_of
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.knobs import NOT_YET
from penstock.core.domain.reading import IN_TASKS, OVER, BatchParts, BatchReading, ExecutorReading, PartitionReading, QueryReading, Reading, total
from penstock.core.domain.trigger import interval_of
from penstock.core.monitor.facts import BatchFact, Observation, PartitionFact, QueryFacts
from penstock.core.monitor.flow import Live, batched_flow, continuous_flow, executor_rates, followed, lag_seconds, waiting_rows
from penstock.core.monitor.stages import executor_shares, stage_readings
from penstock.core.monitor.window import Samples, Window, counted, grown, rate_per_s, sampled, sampled_each, window_of

Rates = Mapping[str, float | None]
"""Something per second by executor; one that is not named has none of it."""


def read_executors(seen: Observation, windows: Iterable[Window | None], continuous_rows: Iterable[Rates], cpu_cores: Rates) -> tuple[ExecutorReading, ...]:
    """Return every executor; `windows` are those of micro-batch queries, `continuous_rows` the rows per second of each real-time query.

    One real-time query keeps its slots full at any load, so while there is one, busyness is unknown.
    """
    batched = [window for window in windows if window is not None and window.length_s > 0]
    busy_s_per_s, batched_rows = batched_rates(batched)
    known: list[Rates] = [batched_rows] if batched else []
    known += [rows for rows in continuous_rows if rows]
    has_busyness = bool(batched) and not any(query.is_real_time for query in seen.queries)
    return tuple(
        ExecutorReading(
            executor_id=executor.executor_id,
            host=executor.host,
            slots=executor.slots,
            uptime_s=seen.at_s - executor.added_s,
            throughput_rows_per_s=total(rows.get(executor.executor_id, 0.0) for rows in known),
            busyness=min(1.0, busy_s_per_s.get(executor.executor_id, 0.0) / executor.slots) if has_busyness else None,
            cpu_cores=cpu_cores.get(executor.executor_id) if executor.cpu_cores is None else executor.cpu_cores,
        )
        for executor in seen.executors
    )


def batched_rates(windows: Sequence[Window]) -> tuple[dict[str, float], dict[str, float]]:
    """Task time and source rows per second by executor, summed over the windows of several queries."""
    busy_s_per_s: dict[str, float] = defaultdict(float)
    rows_per_s: dict[str, float] = defaultdict(float)
    for window in windows:
        task_time, rows = executor_shares(window.batches)
        for executor_id, seconds in task_time.items():
            busy_s_per_s[executor_id] += seconds / window.length_s
        for executor_id, count in rows.items():
            rows_per_s[executor_id] += count / window.length_s
    return busy_s_per_s, rows_per_s


def mean_busyness(executors: Iterable[ExecutorReading]) -> float | None:
    known = [executor.busyness for executor in executors if executor.busyness is not None]
    return sum(known) / len(known) if known else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What the monitor keeps between two readings, by query or by executor; `live` has real-time queries only.

    `run` is when a query was started, and how many batches it has run since.
    """

    batches: Mapping[str, tuple[BatchFact, ...]] = field(default_factory=dict)
    run: Mapping[str, tuple[float | None, int]] = field(default_factory=dict)
    newest: Mapping[str, Samples] = field(default_factory=dict)
    cpu: Mapping[str, Samples] = field(default_factory=dict)
    partitions: Mapping[str, Mapping[str, Samples]] = field(default_factory=dict)
    live: Mapping[str, Live] = field(default_factory=dict)
    wanted: Samples = ()
    taken: Samples = ()


def observe(memory: Memory, seen: Observation, config: Config, promises: Promises = Promises()) -> tuple[Memory, Reading]:
    """Return one Reading of the whole job; by its promises a lag is a healthy one or in excess."""
    at_s, slots = seen.at_s, sum(executor.slots for executor in seen.executors)
    memory = remembered(memory, seen, config)
    intervals_s = {query.name: interval_of(query.trigger, query.rate_limit_rows_per_s) for query in seen.queries}
    windows = {
        query.name: window_of(memory.batches[query.name], query.idle_s, at_s, intervals_s[query.name], config.reading_window_s) for query in seen.queries
    }
    queries = tuple(read_query(query, memory, windows[query.name], config, promises, at_s, slots) for query in seen.queries)
    executors = read_executors(
        seen,
        [windows[query.name] for query in seen.queries if not query.is_real_time],
        [executor_rates(live, config.reading_window_s) for live in memory.live.values()],
        {executor_id: rate_per_s(samples, least_s(config)) for executor_id, samples in memory.cpu.items()},
    )
    active = [query for query in queries if query.state not in OVER]
    reading = Reading(
        at_s=at_s,
        uptime_s=at_s - seen.started_s,
        since_disturbance_s=None if seen.disturbed_s is None else at_s - seen.disturbed_s,
        executors_running=len(seen.executors),
        executors_requested=seen.executors_requested,
        arrival_rows_per_s=total(query.arrival_rows_per_s for query in active),
        throughput_rows_per_s=total(query.throughput_rows_per_s for query in active),
        lag_rows=total(query.lag_rows for query in active),
        lag_s=worst((query.lag_s for query in active), float),
        excess_lag_rows=total(query.excess_lag_rows for query in active),
        latency=worst((query.latency for query in active), lambda latency: latency.p95_s),
        busyness=mean_busyness(executors),
        failures=sum(query.failures for query in queries) + seen.executors_lost,
        executors=executors,
        queries=queries,
        unable=dict(seen.unable),
    )
    return memory, reading


MOST_EACH = 10
"""Most batches of a window that a reading lists."""
MOST_TAKEN = 0.95
"""Others never take all."""


def least_s(config: Config) -> float:
    """Return the shortest time in seconds over which a rate of arrivals or of CPU is measured: half a reading interval."""
    return config.reading_interval_s / 2


def remembered(memory: Memory, seen: Observation, config: Config) -> Memory:
    """Return the memory after one more look; what is gone is dropped from it."""
    at_s, window_s, queries = seen.at_s, config.reading_window_s, seen.queries
    alive = {executor.executor_id for executor in seen.executors}
    counted_s = {query.name: at_s if query.counted_s is None else query.counted_s for query in queries}
    batches = {query.name: kept_batches(memory.batches.get(query.name, ()), query, config) for query in queries}
    since_s = min((each[0].started_s for each in batches.values() if each), default=at_s) - config.reading_interval_s
    wanted, taken = (None, None) if seen.cpu is None else (seen.cpu.wanted_s, seen.cpu.taken_s)
    return Memory(
        wanted=counted(memory.wanted, at_s, wanted, since_s),
        taken=counted(memory.taken, at_s, taken, since_s),
        batches=batches,
        run={query.name: batches_run(memory.run.get(query.name, (None, 0)), query) for query in queries},
        newest={query.name: sampled(memory.newest.get(query.name, ()), counted_s[query.name], query.newest_rows, least_s(config)) for query in queries},
        cpu=sampled_each(memory.cpu, at_s, {executor.executor_id: executor.cpu_s for executor in seen.executors}, least_s(config)),
        partitions={query.name: partition_samples(memory.partitions.get(query.name, {}), query, counted_s[query.name], window_s) for query in queries},
        live={
            query.name: followed(memory.live.get(query.name, Live()), query, alive, counted_s[query.name], window_s) for query in queries if query.is_real_time
        },
    )


def partition_samples(earlier: Mapping[str, Samples], query: QueryFacts, at_s: float, window_s: float) -> dict[str, Samples]:
    return sampled_each(earlier, at_s, {each.name: each.newest_rows for each in query.source_partitions}, window_s)


def batches_run(known: tuple[float | None, int], query: QueryFacts) -> tuple[float | None, int]:
    """Return when a query was started, and how many batches it has run since then; one that is started again and again for what is available goes on."""
    started_s, count = known
    goes_on = query.started_s == started_s or query.trigger.kind == "available_now"
    return query.started_s, len(query.batches) + (count if goes_on else 0)


def kept_batches(known: tuple[BatchFact, ...], query: QueryFacts, config: Config) -> tuple[BatchFact, ...]:
    """Return the batches worth remembering: those of the last two windows, and one before them to begin at."""
    together = (*known, *query.batches)
    if not together:
        return ()
    horizon_s = together[-1].committed_s - 2 * config.reading_window_s
    first = next(i for i, batch in enumerate(together) if batch.committed_s >= horizon_s)
    return together[max(0, first - 1) :]


def read_query(query: QueryFacts, memory: Memory, window: Window | None, config: Config, promises: Promises, at_s: float, slots: int) -> QueryReading:
    """Return the reading of one query; its last batch counts even where it lies before the window, as in a stall and when the query is idle."""
    batches, window_s = memory.batches[query.name], config.reading_window_s
    arrival = rate_per_s(memory.newest[query.name], least_s(config))
    last = batches[-1] if batches else None
    recent = (*(window.batches if window else ()), *batches[-1:])
    limit, longest_s = query.rate_limit_rows_per_s, config.longest_batch_s
    cadence = cadence_of(query.trigger, promises, rate_limit_rows_per_s=limit, longest_batch_s=longest_s)
    if query.is_real_time:
        flow = continuous_flow(query, memory.live[query.name], recent, arrival, window_s)
    else:
        flow = batched_flow(query, window, recent, arrival, slots, cadence)
    return QueryReading(
        name=query.name, state=query.state, **knobs_of(query), batch_id=last.batch_id if last else None, batches=len(window.batches) if window else 0,
        batches_run=memory.run[query.name][1], since_commit_s=at_s - last.committed_s if last else None,
        uptime_s=0.0 if query.started_s is None else at_s - query.started_s,
        arrival_rows_per_s=arrival, throughput_rows_per_s=flow.throughput_rows_per_s, lag_rows=flow.lag_rows,
        lag_s=lag_seconds(flow.lag_rows, arrival, query.oldest_waiting_s), excess_lag_rows=flow.excess_lag_rows, latency=flow.latency,
        clock_skew_s=flow.clock_skew_s, batch=batch_parts(window, memory, batches, memory.run[query.name][1], at_s), busyness=flow.busyness,
        stages=stage_readings(window, None if query.is_real_time else slots) if window and window.length_s > 0 else (),
        state_rows=last.state_rows if last else None, state_memory_bytes=last.state_memory_bytes if last else None, failures=query.failures,
        unable={**NOT_YET, **query.unable}, in_batch_rows=query.in_batch_rows,
        boundary_pause_s=next((batch.pause_s for batch in reversed(batches) if batch.pause_s is not None), None), replayed_rows=query.replayed_rows,
        source_partitions=partition_readings(query.source_partitions, memory.partitions[query.name], window_s), slots_held=query.slots_held,
    )  # fmt: skip


def batch_parts(window: Window | None, memory: Memory, known: Sequence[BatchFact], run: int, at_s: float) -> BatchParts | None:
    """Return the average batch of the window; the newest batch known is the last of those run."""
    if window is None or not window.batches:
        return None
    parts: dict[str, float] = defaultdict(float)
    for batch in window.batches:
        for name, seconds in batch.parts_s.items():
            parts[name] += seconds / len(window.batches)
    count = len(window.batches)
    shares = [taken_share(memory.wanted, memory.taken, batch.started_s, batch.committed_s, spent_s(batch)) for batch in window.batches]
    took_s = sum(batch.duration_s for batch in window.batches)
    lost_s = total(share and batch.duration_s * share for batch, share in zip(window.batches, shares, strict=True) if share is not None)
    newer = sum(batch.committed_s > window.batches[-1].committed_s for batch in known)
    newest = list(zip(window.batches, shares, strict=True))[-MOST_EACH:]
    each = tuple(batch_reading(batch, run - newer - place, share or 0.0, at_s) for place, (batch, share) in enumerate(reversed(newest)))
    taken = None if lost_s is None or took_s <= 0 else lost_s / took_s
    return BatchParts(total_s=took_s / count, rows=window.rows / count, taken=taken, each=each[::-1], parts_s=dict(parts))


def batch_reading(batch: BatchFact, number: int, taken: float, at_s: float) -> BatchReading:
    return BatchReading(
        number=number, rows=batch.rows, took_s=batch.duration_s, since_s=at_s - batch.committed_s, taken=taken,
        outside_s=outside_s(batch), run_s=total(stage.run_time_s for stage in batch.stages), cpu_s=total(stage.cpu_s for stage in batch.stages),
    )  # fmt: skip


def outside_s(batch: BatchFact) -> float | None:
    """Return the time outside of tasks; None where the parts of the batch are not known."""
    return batch.duration_s - batch.parts_s[IN_TASKS] if IN_TASKS in batch.parts_s else None


def spent_s(batch: BatchFact) -> float:
    """Return the time that the batch spent in its tasks, all together, and outside of them: more than the CPU time wanted if tasks wait for something else."""
    return (total(stage.run_time_s for stage in batch.stages) or 0.0) + (outside_s(batch) or 0.0)


def taken_share(wanted: Samples, taken: Samples, from_s: float, end_s: float, spent_s: float = 0.0) -> float | None:
    """Return the share of the time spent in a span that others took of the CPU time wanted; None where that is not known.

    >>> wanted, taken = ((0.0, 0.0), (10.0, 10.0), (20.0, 20.0)), ((0.0, 0.0), (10.0, 0.0), (20.0, 8.0))
    >>> taken_share(wanted, taken, 10.0, 20.0), taken_share(wanted, taken, 5.0, 15.0), taken_share((), (), 0.0, 5.0)
    (0.8, 0.4, None)
    >>> taken_share(wanted, taken, 10.0, 20.0, spent_s=40.0)
    0.2
    """
    of_all = grown(wanted, from_s, end_s)
    return None if of_all <= 0 else min(MOST_TAKEN, grown(taken, from_s, end_s) / max(of_all, spent_s))


def partition_readings(partitions: Iterable[PartitionFact], newest: Mapping[str, Samples], window_s: float) -> tuple[PartitionReading, ...]:
    """Return each partition with its arrival rate over the window and its lag now."""
    return tuple(
        PartitionReading(
            name=partition.name,
            arrival_rows_per_s=rate_per_s(newest.get(partition.name, ()), window_s),
            lag_rows=waiting_rows(partition.newest_rows, partition.processed_rows),
        )
        for partition in partitions
    )


T = TypeVar("T")


def worst(values: Iterable[T | None], badness: Callable[[T], float]) -> T | None:
    """Return the worst of what is known."""
    known = [value for value in values if value is not None]
    return max(known, key=badness) if known else None
