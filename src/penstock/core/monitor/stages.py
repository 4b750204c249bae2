"""Stages and executors over a window of batches."""

from collections import defaultdict
from collections.abc import Sequence

from penstock.core.domain.reading import StageReading, total
from penstock.core.monitor.facts import BatchFact, StageFact
from penstock.core.monitor.window import Window


def stage_readings(window: Window, slots: int | None) -> tuple[StageReading, ...]:
    """Return each stage by its position in the batch, averaged over the window; without slots to compare with, busyness is unknown."""
    by_position: dict[int, list[StageFact]] = defaultdict(list)
    for batch in window.batches:
        for stage in batch.stages:
            by_position[stage.position].append(stage)
    length_s = window.length_s
    readings = []
    for position, seen in sorted(by_position.items()):
        run_time, cpu_s = sum(stage.run_time_s for stage in seen) / length_s, total(stage.cpu_s for stage in seen)
        readings.append(
            StageReading(
                position=position,
                name=seen[-1].name,
                tasks=sum(stage.tasks for stage in seen) / len(seen),
                rows_per_s=sum(stage.rows for stage in seen) / length_s,
                run_time_s_per_s=run_time,
                busyness=run_time / slots if slots else None,
                cpu_s_per_s=None if cpu_s is None else cpu_s / length_s,
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
