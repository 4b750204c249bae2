"""Utilisation and throughput of all executors, as the models of capacity learn them."""

from __future__ import annotations

from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.reading import Reading
from penstock.core.models.capacity.worker_readings import WorkerReading, WorkersReading
from penstock.core.usage.utilization import is_stalled, plant_of, utilization


def workers_reading(reading: Reading, autopilot: Autopilot) -> WorkersReading | None:
    """All executors at one moment; None where anything about any of them is unknown: a sum over less is not the job."""
    if is_stalled(reading):
        return None
    plant, workers = plant_of(reading), []
    for executor in reading.executors:
        busy = utilization(executor, plant, autopilot.executor_cpu_cores)
        if busy is None or executor.throughput_rows_per_s is None:
            return None
        workers.append(WorkerReading(worker=executor.executor_id, utilization=busy, throughput_rows_per_s=executor.throughput_rows_per_s))
    if not workers:
        return None
    return WorkersReading(at_s=reading.at_s, scaleout=len(workers), since_change_s=reading.since_disturbance_s, workers=tuple(workers))
