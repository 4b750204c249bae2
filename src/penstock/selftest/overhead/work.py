"""What the batches of a query take of the machine by Spark's own book-keeping, whatever else disturbs it meanwhile."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from penstock.spark.jvm import StatusStore

BOOKED_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """CPU and garbage collection of tasks, in seconds of one core; and for how long the jobs of the query ran."""

    task_s: float
    jobs_s: float

    def alone_s(self, took_s: float, cores: int) -> float:
        """Seconds that the batches would take alone on the machine: their task time over all cores, plus the time that the driver spent outside of its jobs.

        >>> Work(task_s=5.0, jobs_s=3.0).alone_s(took_s=3.5, cores=2)
        3.0
        """
        return self.task_s / cores + took_s - self.jobs_s


class WorkReader:
    """Reads the Spark jobs of each query, every one of them once."""

    def __init__(self, store: StatusStore) -> None:
        self._store = store
        self._seen: dict[str, int] = {}

    def since_last(self, query: Any) -> Work:
        """What the query has done since it was asked about last."""
        run_id = str(query.runId)
        fresh = [job_id for job_id in self._store.job_ids(run_id) if job_id > self._seen.get(run_id, -1)]
        self._seen[run_id] = max(fresh, default=self._seen.get(run_id, -1))
        jobs = [self._ended(job_id) for job_id in fresh]
        stages = [self._store.stage(stage_id) for job in jobs for stage_id in job["stageIds"]]
        return Work(
            task_s=sum(task_s(stage) for stage in stages if stage is not None),
            jobs_s=sum(job["completionTime"] - job["submissionTime"] for job in jobs) / 1e3,
        )

    def _ended(self, job_id: int) -> dict[str, Any]:
        """A job that has ended; what Spark keeps of it comes a moment later."""
        deadline_s = time.monotonic() + BOOKED_S
        while (job := self._store.job(job_id)) is None or job["completionTime"] is None:
            if time.monotonic() > deadline_s:
                raise RuntimeError(f"Spark's job {job_id} has not ended in its books within {BOOKED_S:g} s")
            time.sleep(0.05)
        return job


def task_s(stage: dict[str, Any]) -> float:
    """What the tasks of a stage took of a core.

    >>> task_s({"executorCpuTime": 2_000_000_000, "executorDeserializeCpuTime": 0, "jvmGcTime": 500})
    2.5
    """
    return float((stage["executorCpuTime"] + stage["executorDeserializeCpuTime"]) / 1e9 + stage["jvmGcTime"] / 1e3)
