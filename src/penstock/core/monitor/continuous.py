"""The flow of a query in Real-Time Mode: rows flow between commits too, so it is read from live counts and from its output."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.core.monitor.facts import BatchFact, QueryFacts
from penstock.core.monitor.flow import Flow
from penstock.core.monitor.lag import waiting_rows
from penstock.core.monitor.outputs import Outputs, latency_of_outputs, recent_outputs
from penstock.core.monitor.rate import Samples, rate_per_s, sampled, sampled_each


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """What is kept of a real-time query between two readings: what it read, together and by executor, and what it wrote."""

    read: Samples = ()
    executors: Mapping[str, Samples] = field(default_factory=dict)
    outputs: Outputs = ()


def followed(earlier: Live, query: QueryFacts, alive: Collection[str], at_s: float, window_s: float) -> Live:
    """What is known of the query after one more look; executors that are not alive any more are dropped."""
    counts = {executor_id: rows for executor_id, rows in query.executor_rows.items() if executor_id in alive}
    return Live(
        read=sampled(earlier.read, at_s, query.read_rows, window_s),
        executors=sampled_each(earlier.executors, at_s, counts, window_s),
        outputs=recent_outputs(earlier.outputs, at_s, query.outputs, window_s),
    )


def continuous_flow(query: QueryFacts, live: Live, recent: Sequence[BatchFact], arrival: float | None, window_s: float) -> Flow:
    """What the live counts and the output tell; of the `recent` batches only the pauses before them.

    Tasks that run all the time are busy at any load, so busyness is unknown. Rows that waited at a boundary are no excess.
    """
    throughput = rate_per_s(live.read, window_s)
    lag = waiting_rows(query.newest_rows, query.processed_rows, rate_rows_per_s=throughput, stale_s=query.stale_s)
    longest_s = max((batch.pause_s for batch in recent if batch.pause_s is not None), default=0.0)
    latency, skew_s = latency_of_outputs([sample for _, sample in live.outputs])
    return Flow(
        throughput_rows_per_s=throughput,
        lag_rows=lag,
        excess_lag_rows=None if lag is None or arrival is None else max(0.0, lag - arrival * longest_s),
        latency=latency,
        clock_skew_s=skew_s,
        busyness=None,
    )


def executor_rates(live: Live, window_s: float) -> dict[str, float | None]:
    """Rows each executor read per second; unknown for one that was looked at only once."""
    return {executor_id: rate_per_s(samples, window_s) for executor_id, samples in live.executors.items()}
