"""How busy an executor is, by what can be known of it."""

from __future__ import annotations

from typing import Literal

from penstock.core.domain.reading import ExecutorReading, Reading

Plant = Literal["micro_batch", "continuous"]
"""How the job works: batch by batch, or with tasks that run all the time (Real-Time Mode, the papers' engines)."""


def plant_of(reading: Reading) -> Plant:
    return "continuous" if any(query.trigger.kind == "real_time" for query in reading.queries) else "micro_batch"


def is_stalled(reading: Reading) -> bool:
    """Whether a micro-batch has run for longer than the reading looks back: it seems that nobody works, as task time counts when a batch commits."""
    batched = (query for query in reading.queries if query.trigger.kind != "real_time")
    return any(query.batch is None and query.batch_id is not None and bool(query.lag_rows) for query in batched)


def utilization(executor: ExecutorReading, plant: Plant, cpu_cores_each: float | None = None) -> float | None:
    """From 0 to 1: task time over slots in micro-batches; CPU over what counts as a whole executor (its slots, unless told) where tasks never end.

    >>> one = ExecutorReading(executor_id="1", host="a", slots=2, uptime_s=60.0, busyness=0.3, cpu_cores=1.5)
    >>> utilization(one, "micro_batch"), utilization(one, "continuous")
    (0.3, 0.75)
    """
    if plant == "micro_batch":
        return executor.busyness
    return None if executor.cpu_cores is None else min(1.0, executor.cpu_cores / (cpu_cores_each or executor.slots))
