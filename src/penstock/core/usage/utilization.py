"""How busy an executor is, by what can be known of it."""

from __future__ import annotations

from penstock.core.domain.reading import ExecutorReading, Reading
from penstock.core.domain.trigger import Plant
from penstock.core.usage.presence import looked_back_s

COMING_BACK = ("starting", "restarting", "failed")
"""States of a query that does not run and will; one that was stopped or given up leaves its executors to the others."""


def plant_of(reading: Reading) -> Plant:
    return "continuous" if any(query.trigger.kind == "real_time" for query in reading.queries) else "micro_batch"


def is_stalled(reading: Reading) -> bool:
    """Whether a micro-batch has run for longer than the reading looks back: it seems that nobody works, as task time counts when a batch commits."""
    batched = (query for query in reading.queries if query.trigger.kind != "real_time")
    return any(query.batch is None and query.batch_id is not None and bool(query.lag_rows) for query in batched)


def is_down(reading: Reading) -> bool:
    """Whether a query does not run and is to come back: its executors do nothing then, but not for want of work."""
    return any(query.state in COMING_BACK for query in reading.queries)


def looks_back_on_a_stop(reading: Reading, cpu_s: float) -> bool:
    """Whether a query has come back so lately that the reading averages over time in which it was down.

    CPU is an average of the last `cpu_s`; in micro-batches the average reaches back to where the window of commits began.
    """
    for query in reading.queries:
        up_s = query.uptime_s or reading.since_disturbance_s
        if up_s is not None and up_s < (cpu_s if query.trigger.kind == "real_time" else looked_back_s(query)):
            return True
    return False


def utilization(executor: ExecutorReading, plant: Plant, cpu_cores_each: float | None = None) -> float | None:
    """From 0 to 1: task time over slots in micro-batches; CPU over what counts as a whole executor (its slots, unless told) where tasks never end.

    >>> one = ExecutorReading(executor_id="1", host="a", slots=2, uptime_s=60.0, busyness=0.3, cpu_cores=1.5)
    >>> utilization(one, "micro_batch"), utilization(one, "continuous")
    (0.3, 0.75)
    """
    if plant == "micro_batch":
        return executor.busyness
    return None if executor.cpu_cores is None else min(1.0, executor.cpu_cores / (cpu_cores_each or executor.slots))
