"""Stages and executors over a window of batches."""

from collections import defaultdict
from collections.abc import Sequence

from penstock.core.domain.reading import StageReading
from penstock.core.monitor.facts import BatchFact
from penstock.core.monitor.window import Window


def stage_readings(window: Window, slots: int | None) -> tuple[StageReading, ...]:
    """Return each stage by its position in the batch, averaged over the window; without slots to compare with, busyness is unknown."""
    by_position: dict[int, list[tuple[str, int, float, int]]] = defaultdict(list)
    for batch in window.batches:
        for stage in batch.stages:
            by_position[stage.position].append((stage.name, stage.tasks, stage.run_time_s, stage.rows))
    length_s = window.length_s
    readings = []
    for position, seen in sorted(by_position.items()):
        run_time = sum(run_time_s for _, _, run_time_s, _ in seen) / length_s
        readings.append(
            StageReading(
                position=position,
                name=seen[-1][0],
                tasks=sum(tasks for _, tasks, _, _ in seen) / len(seen),
                rows_per_s=sum(rows for *_, rows in seen) / length_s,
                run_time_s_per_s=run_time,
                busyness=run_time / slots if slots else None,
            )
        )
    return tuple(readings)


def executor_shares(batches: Sequence[BatchFact]) -> tuple[dict[str, float], dict[str, float]]:
    """Task time in seconds, and source rows, by executor.

    A source scanned twice is counted twice by Spark: shares are scaled so that together they are the rows by offsets.
    """
    task_time: dict[str, float] = defaultdict(float)
    rows: dict[str, float] = defaultdict(float)
    for batch in batches:
        read = sum(share.rows for stage in batch.stages if stage.reads_source for share in stage.shares)
        scale = batch.rows / read if read else 0.0
        for stage in batch.stages:
            for share in stage.shares:
                task_time[share.executor_id] += share.task_time_s
                if stage.reads_source:
                    rows[share.executor_id] += share.rows * scale
    return task_time, rows
