from dataclasses import replace

from penstock.core.models.capacity.worker_readings import WorkerReading, WorkersReading


def moment(at_s: float, *seen: tuple[float, float], prefix: str = "") -> WorkersReading:
    """One worker for each utilisation and throughput."""
    workers = (WorkerReading(worker=f"{prefix}{number}", utilization=busy, throughput_rows_per_s=rate) for number, (busy, rate) in enumerate(seen))
    return WorkersReading(at_s=at_s, executors=len(seen), since_change_s=None, workers=tuple(workers))


def moved(readings: list[WorkersReading], *, later_s: float, prefix: str) -> list[WorkersReading]:
    """The same at a later time, by other executors."""
    named = [tuple(replace(worker, worker=prefix + worker.worker) for worker in reading.workers) for reading in readings]
    return [replace(reading, at_s=reading.at_s + later_s, workers=workers) for reading, workers in zip(readings, named, strict=True)]
