"""The share of a reading's window during which an executor existed."""

from __future__ import annotations

from penstock.core.domain.reading import ExecutorReading, QueryReading, Reading


def looked_back_s(query: QueryReading) -> float:
    """How long ago the window began: it ends at the last commit, or now where nothing waits."""
    return query.window_s + (query.since_commit_s or 0.0 if query.lag_rows else 0.0)


def presence(executor: ExecutorReading, reading: Reading) -> float:
    """Share of the window (0 to 1) in which the executor ran, averaged over the micro-batch queries weighted by their busyness.

    It is 0 if the executor came after the last commit, and 1 if no window is known.
    """
    weighed = [(query.busyness, query.window_s, looked_back_s(query)) for query in reading.queries if query.batch and query.busyness]
    total = sum(busy for busy, _, _ in weighed)
    if total <= 0.0:
        return 1.0
    there = sum(busy * min(1.0, max(0.0, executor.uptime_s - back_s + length_s) / length_s) for busy, length_s, back_s in weighed if length_s > 0)
    return there / total
