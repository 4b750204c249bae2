"""The share of a reading's window during which an executor existed."""

from __future__ import annotations

from penstock.core.domain.reading import ExecutorReading, QueryReading, Reading


def window_s(query: QueryReading) -> float:
    """How long the batches of the window took together, with the waits for their triggers; 0 without any.

    >>> from penstock.core.domain.reading import BatchParts
    >>> from penstock.core.domain.trigger import Trigger
    >>> window_s(QueryReading(name="q", state="running", trigger=Trigger(interval_s=5.0), rate_limit_rows_per_s=None, batches=3, batch=BatchParts(total_s=2.0)))
    15.0
    """
    return query.batches * max(query.trigger.interval_s, query.batch.total_s) if query.batch else 0.0


def looked_back_s(query: QueryReading) -> float:
    """How long ago the window began: it ends at the last commit, or now where nothing waits."""
    return window_s(query) + (query.since_commit_s or 0.0 if query.lag_rows else 0.0)


def presence(executor: ExecutorReading, reading: Reading) -> float:
    """Share of the window (0 to 1) in which the executor ran, averaged over the micro-batch queries weighted by their busyness.

    It is 0 if the executor came after the last commit, and 1 if no window is known.
    """
    weighed = [(query.busyness, window_s(query), looked_back_s(query)) for query in reading.queries if query.batch and query.busyness]
    total = sum(busy for busy, _, _ in weighed)
    if total <= 0.0:
        return 1.0
    there = sum(busy * min(1.0, max(0.0, executor.uptime_s - back_s + length_s) / length_s) for busy, length_s, back_s in weighed if length_s > 0)
    return there / total
