"""From an observation, and the memory of earlier ones, to a Reading."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from penstock.core.config import Config
from penstock.core.domain.reading import BatchParts, ExecutorReading, QueryReading, Reading
from penstock.core.monitor.facts import BatchFact, Observation, QueryFacts
from penstock.core.monitor.lag import healthy_lag_rows
from penstock.core.monitor.latency import latency_of
from penstock.core.monitor.rate import Samples, rate_per_s, sampled
from penstock.core.monitor.stages import executor_shares, stage_readings
from penstock.core.monitor.window import Window, window_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What the monitor keeps between two readings."""

    batches: Mapping[str, tuple[BatchFact, ...]] = field(default_factory=dict)
    newest: Mapping[str, Samples] = field(default_factory=dict)
    cpu: Mapping[str, Samples] = field(default_factory=dict)


def observe(memory: Memory, seen: Observation, config: Config) -> tuple[Memory, Reading]:
    """One Reading of the whole job."""
    at_s, slots, least_s = seen.at_s, sum(executor.slots for executor in seen.executors), config.reading_interval_s / 2
    batches = {query.name: kept_batches(memory.batches.get(query.name, ()), query, config) for query in seen.queries}
    windows = {query.name: window_of(batches[query.name], query.idle_s, at_s, query.trigger.interval_s, config.reading_window_s) for query in seen.queries}
    newest = {query.name: sampled(memory.newest.get(query.name, ()), at_s, query.newest_rows, least_s) for query in seen.queries}
    cpu = {each.executor_id: sampled(memory.cpu.get(each.executor_id, ()), at_s, each.cpu_s, least_s) for each in seen.executors}
    queries = tuple(
        read_query(query, windows[query.name], batches[query.name][-1:], rate_per_s(newest[query.name], least_s), at_s, slots) for query in seen.queries
    )
    executors = read_executors(seen, windows.values(), {name: rate_per_s(samples, least_s) for name, samples in cpu.items()})
    reading = Reading(
        at_s=at_s,
        uptime_s=at_s - seen.started_s,
        since_disturbance_s=None if seen.disturbed_s is None else at_s - seen.disturbed_s,
        executors_running=len(seen.executors),
        executors_requested=seen.executors_requested,
        arrival_rows_per_s=total(query.arrival_rows_per_s for query in queries),
        throughput_rows_per_s=total(query.throughput_rows_per_s for query in queries),
        lag_rows=total(query.lag_rows for query in queries),
        lag_s=worst((query.lag_s for query in queries), float),
        excess_lag_rows=total(query.excess_lag_rows for query in queries),
        latency=worst((query.latency for query in queries), lambda latency: latency.p95_s),
        busyness=mean_busyness(executors),
        failures=sum(query.failures for query in queries) + seen.executors_lost,
        executors=executors,
        queries=queries,
        unable=dict(seen.unable),
    )
    return Memory(batches=batches, newest=newest, cpu=cpu), reading


def kept_batches(known: tuple[BatchFact, ...], query: QueryFacts, config: Config) -> tuple[BatchFact, ...]:
    """The batches worth remembering: those of the last two windows, and one before them to begin at."""
    together = (*known, *query.batches)
    if not together:
        return ()
    horizon_s = together[-1].committed_s - 2 * config.reading_window_s
    first = next(i for i, batch in enumerate(together) if batch.committed_s >= horizon_s)
    return together[max(0, first - 1) :]


def read_query(query: QueryFacts, window: Window | None, newest: tuple[BatchFact, ...], arrival: float | None, at_s: float, slots: int) -> QueryReading:
    """One query; `newest` is its last batch, if it has one: in a stall, and when the query is idle, that lies before the window."""
    lag = None if query.newest_rows is None or query.processed_rows is None else max(0.0, query.newest_rows - query.processed_rows)
    excess = None
    if lag is not None and arrival is not None and window is not None:
        longest_s = max(batch.duration_s for batch in (*window.batches, *newest))
        excess = max(0.0, lag - healthy_lag_rows(arrival, query.trigger.interval_s, longest_s))
    latency, skew_s = latency_of(window.batches) if window else (None, None)
    last = newest[0] if newest else None
    task_time = sum(executor_shares(window.batches)[0].values()) if window else 0.0
    measured = window is not None and window.length_s > 0
    return QueryReading(
        name=query.name,
        state=query.state,
        trigger=query.trigger,
        rate_limit_rows_per_s=query.rate_limit_rows_per_s,
        batch_id=last.batch_id if last else None,
        batches=len(window.batches) if window else 0,
        since_commit_s=at_s - last.committed_s if last else None,
        uptime_s=0.0 if query.started_s is None else at_s - query.started_s,
        arrival_rows_per_s=arrival,
        throughput_rows_per_s=window.rows / window.length_s if window and measured else None,
        lag_rows=lag,
        lag_s=lag_seconds(query, lag, arrival),
        excess_lag_rows=excess,
        latency=latency,
        clock_skew_s=skew_s,
        batch=batch_parts(window),
        busyness=task_time / (slots * window.length_s) if window and measured and slots else None,
        stages=stage_readings(window, slots) if window and measured else (),
        state_rows=last.state_rows if last else None,
        state_memory_bytes=last.state_memory_bytes if last else None,
        partitions=query.partitions,
        failures=query.failures,
        unable=dict(query.unable),
    )


def lag_seconds(query: QueryFacts, lag: float | None, arrival: float | None) -> float | None:
    """How long the oldest waiting row has waited, where the source tells; else lag over arrival rate."""
    if query.oldest_waiting_s is not None:
        return query.oldest_waiting_s
    if lag is None or arrival is None:
        return None
    return lag / arrival if arrival > 0 else (0.0 if lag == 0 else None)


def batch_parts(window: Window | None) -> BatchParts | None:
    """Durations of the window's average batch."""
    if window is None or not window.batches:
        return None
    parts: dict[str, float] = defaultdict(float)
    for batch in window.batches:
        for name, seconds in batch.parts_s.items():
            parts[name] += seconds / len(window.batches)
    return BatchParts(total_s=sum(batch.duration_s for batch in window.batches) / len(window.batches), parts_s=dict(parts))


def read_executors(seen: Observation, windows: Iterable[Window | None], cpu_cores: Mapping[str, float | None]) -> tuple[ExecutorReading, ...]:
    busy_s_per_s: dict[str, float] = defaultdict(float)
    rows_per_s: dict[str, float] = defaultdict(float)
    measured = False
    for window in windows:
        if window is None or window.length_s <= 0:
            continue
        measured = True
        task_time, rows = executor_shares(window.batches)
        for executor_id, seconds in task_time.items():
            busy_s_per_s[executor_id] += seconds / window.length_s
        for executor_id, count in rows.items():
            rows_per_s[executor_id] += count / window.length_s
    return tuple(
        ExecutorReading(
            executor_id=executor.executor_id,
            host=executor.host,
            slots=executor.slots,
            uptime_s=seen.at_s - executor.added_s,
            throughput_rows_per_s=rows_per_s[executor.executor_id] if measured else None,
            busyness=min(1.0, busy_s_per_s[executor.executor_id] / executor.slots) if measured else None,
            cpu_cores=cpu_cores.get(executor.executor_id),
        )
        for executor in seen.executors
    )


def mean_busyness(executors: tuple[ExecutorReading, ...]) -> float | None:
    known = [executor.busyness for executor in executors if executor.busyness is not None]
    return sum(known) / len(known) if known else None


def total(values: Iterable[float | None]) -> float | None:
    """The sum, unknown if any part is."""
    known = list(values)
    return None if not known or any(value is None for value in known) else sum(value for value in known if value is not None)


def worst(values: Iterable[T | None], badness: Callable[[T], float]) -> T | None:
    """The worst of what is known."""
    known = [value for value in values if value is not None]
    return max(known, key=badness) if known else None
