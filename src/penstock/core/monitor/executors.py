"""What each executor did, over all queries of the job."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from penstock.core.domain.reading import ExecutorReading, total
from penstock.core.monitor.facts import Observation
from penstock.core.monitor.stages import executor_shares
from penstock.core.monitor.window import Window

Rates = Mapping[str, float | None]
"""Something per second by executor; one that is not named has none of it."""


def read_executors(seen: Observation, windows: Iterable[Window | None], continuous_rows: Iterable[Rates], cpu_cores: Rates) -> tuple[ExecutorReading, ...]:
    """Every executor; `windows` are those of micro-batch queries, `continuous_rows` the rows per second that each real-time query tells.

    One real-time query keeps its slots full at any load, so while there is one, nobody's busyness is known.
    """
    batched = [window for window in windows if window is not None and window.length_s > 0]
    busy_s_per_s, batched_rows = batched_rates(batched)
    told: list[Rates] = [batched_rows] if batched else []
    told += [rows for rows in continuous_rows if rows]
    has_busyness = bool(batched) and not any(query.is_real_time for query in seen.queries)
    return tuple(
        ExecutorReading(
            executor_id=executor.executor_id,
            host=executor.host,
            slots=executor.slots,
            uptime_s=seen.at_s - executor.added_s,
            throughput_rows_per_s=total(rows.get(executor.executor_id, 0.0) for rows in told),
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
