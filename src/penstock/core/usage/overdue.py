"""How busy executors must be during a batch whose commit is overdue: task time is told only when a batch commits."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.domain.rate_limit import rows_per_batch
from penstock.core.domain.reading import QueryReading, Reading

ROW_S = "task seconds of a row, query "
"""Prefix of a key of the memo, before the name of a query."""


def row_costs(reading: Reading, memo: Mapping[str, float]) -> dict[str, float]:
    """Task seconds of one row of each query in micro-batches, for the memo: by the batches that the reading looks back on, or else as remembered."""
    slots, found = sum(executor.slots for executor in reading.executors), dict[str, float]()
    for query in reading.queries:
        key = f"{ROW_S}{query.name}"
        if query.batch and query.busyness and query.throughput_rows_per_s:
            found[key] = query.busyness * slots / query.throughput_rows_per_s
        elif key in memo:
            found[key] = memo[key]
    return found


def without_row_costs(memo: Mapping[str, float]) -> dict[str, float]:
    return {key: value for key, value in memo.items() if not key.startswith(ROW_S)}


def overdue_s(query: QueryReading) -> float | None:
    """How long a batch must have been running, in seconds: excess rows wait, and no commit has come for longer than a trigger interval. None otherwise.

    >>> from penstock.core.domain.trigger import Trigger
    >>> late = dict(name="q", state="running", trigger=Trigger(interval_s=5.0), rate_limit_rows_per_s=None, excess_lag_rows=9000.0)
    >>> overdue_s(QueryReading(**late, since_commit_s=60.0, lag_s=62.0)), overdue_s(QueryReading(**late, since_commit_s=60.0, lag_s=3.0))
    (60.0, None)
    """
    if query.trigger.kind == "real_time" or not query.excess_lag_rows or query.since_commit_s is None:
        return None
    waits_s = min(each for each in (query.since_commit_s, query.lag_s, query.uptime_s or None) if each is not None)
    return waits_s if waits_s > query.trigger.interval_s else None


def overdue_busyness(reading: Reading, costs: Mapping[str, float]) -> float | None:
    """From 0 to 1, while a commit is overdue: the work of the rows in excess over the time since, as far as slots can be busy with it; else None.

    In an overload that is 1, as on the machine. Where a batch hangs it is what the arrivals ask for, where it waits for a slow sink no more than its rows
    do: nobody is to add executors to a job that has enough of them. Other queries count as they are read.
    """
    slots, waits_s = sum(executor.slots for executor in reading.executors), {query.name: overdue_s(query) for query in reading.queries}
    if not slots or all(each is None for each in waits_s.values()):
        return None
    busy = 0.0
    for query in reading.queries:
        since_s, row_s = waits_s[query.name], costs.get(f"{ROW_S}{query.name}")
        if since_s is None:
            busy += query.busyness or 0.0
        elif row_s is None:
            return None
        else:
            busy += most_rows(query) * row_s / (slots * since_s)
    return min(1.0, busy)


def most_rows(query: QueryReading) -> float:
    """Excess rows that one batch will take: all of them, or as many as the rate limit allows."""
    excess, limit = query.excess_lag_rows or 0.0, query.rate_limit_rows_per_s
    return excess if limit is None else min(excess, rows_per_batch(query.trigger, limit))
