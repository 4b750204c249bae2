"""The flow of a query in micro-batches: rows count when their batch commits."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.core.monitor.facts import BatchFact, QueryFacts
from penstock.core.monitor.flow import Flow
from penstock.core.monitor.lag import healthy_lag_rows, waiting_rows
from penstock.core.monitor.latency import latency_of
from penstock.core.monitor.stages import executor_shares
from penstock.core.monitor.window import Window


def batched_flow(query: QueryFacts, window: Window | None, recent: Sequence[BatchFact], arrival: float | None, slots: int) -> Flow:
    """What the window of commits tells; `recent` are its batches and the last one, which in a stall lies before it.

    A query that has said it is idle before any batch has processed nothing, and one for which nothing waits does not lag: both are known.
    """
    lag = waiting_rows(query.newest_rows, query.processed_rows)
    excess = 0.0 if lag == 0 else None
    if lag is not None and arrival is not None and recent:
        longest_s = max(batch.duration_s for batch in recent)
        excess = max(0.0, lag - healthy_lag_rows(arrival, query.trigger.interval_s, longest_s))
    latency, skew_s = latency_of(window.batches) if window else (None, None)
    measured = window if window and window.length_s > 0 else None
    untouched = 0.0 if query.idle_s is not None and not recent else None
    task_time = sum(executor_shares(measured.batches)[0].values()) if measured else 0.0
    return Flow(
        throughput_rows_per_s=measured.rows / measured.length_s if measured else untouched,
        lag_rows=lag,
        excess_lag_rows=excess,
        latency=latency,
        clock_skew_s=skew_s,
        busyness=task_time / (slots * measured.length_s) if measured and slots else None,
    )
