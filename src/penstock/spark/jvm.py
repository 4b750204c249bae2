"""What Penstock asks of Spark's JVM beyond PySpark's own interface."""

import json
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

MOST_TASKS = 10_000
NANOSECONDS = 1e9


class StatusStore:
    """Spark's status store: executors, jobs, stages and tasks, each answer one call, as JSON; the web UI is not needed."""

    def __init__(self, session: SparkSession) -> None:
        jvm: Any = session._jvm
        self._context = session.sparkContext._jsc.sc()
        self._store = self._context.statusStore()
        self._tracker = self._context.statusTracker()
        self._mapper = jvm.com.fasterxml.jackson.databind.ObjectMapper()
        self._mapper.registerModule(singleton(jvm.com.fasterxml.jackson.module.scala, "DefaultScalaModule"))

    def _json(self, value: Any) -> Any:
        return json.loads(self._mapper.writeValueAsString(value))

    def executors(self) -> list[dict[str, Any]]:
        """Return the living executors, without the driver."""
        return [each for each in self._json(self._store.executorList(True)) if each["id"] != "driver"]

    def removed_executors(self) -> list[dict[str, Any]]:
        """Return executors that are gone, with the reason Spark gives."""
        return [each for each in self._json(self._store.executorList(False)) if not each["isActive"]]

    def job_ids(self, group: str) -> list[int]:
        return sorted(self._json(self._tracker.getJobIdsForGroup(group)))

    def job(self, job_id: int) -> dict[str, Any] | None:
        """Return a Spark job; None if Spark no longer keeps it."""
        try:
            return dict(self._json(self._store.job(job_id)))
        except Py4JJavaError:
            return None

    def stage_shares(self, stage_id: int) -> tuple[dict[str, dict[str, Any]], float] | None:
        """Return what each executor did for a stage, over all attempts, and the CPU seconds of the last; None for one that never ran, or is no longer kept."""
        shares: dict[str, dict[str, Any]] = {}
        try:
            last = self._store.lastStageAttempt(stage_id)
            for attempt in range(last.attemptId() + 1):
                for executor_id, share in self._json(self._store.executorSummary(stage_id, attempt)).items():
                    known = shares.setdefault(executor_id, dict.fromkeys(("taskTime", "succeededTasks", "inputRecords", "shuffleReadRecords"), 0))
                    for key in known:
                        known[key] += share[key]
            return shares, last.executorCpuTime() / NANOSECONDS
        except Py4JJavaError:
            return None

    def stage(self, stage_id: int) -> dict[str, Any] | None:
        """Return a stage's last attempt; None for a stage that never ran, or is no longer kept."""
        try:
            return dict(self._json(self._store.lastStageAttempt(stage_id)))
        except Py4JJavaError:
            return None

    def tasks(self, stage_id: int) -> list[dict[str, Any]]:
        """Return the tasks of a stage's last attempt, with what they have read so far; none for a stage that never ran, or is no longer kept."""
        try:
            attempt = self._store.lastStageAttempt(stage_id).attemptId()
            return list(self._json(self._store.taskList(stage_id, attempt, MOST_TASKS)))
        except Py4JJavaError:
            return []


def activate(session: SparkSession) -> None:
    """Make this the active session of the calling thread: Spark finds registered formats through it, and only the first thread has it."""
    jvm: Any = session._jvm
    jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(session._jsparkSession)


def singleton(package: Any, name: str) -> Any:
    """Return a Scala object."""
    return getattr(getattr(package, f"{name}$"), "MODULE$")


def field_of(instance: Any, name: str) -> Any:
    """Return a private field of a JVM object, as a `java.lang.reflect.Field` that can be read and set."""
    found = instance.getClass().getDeclaredField(name)
    found.setAccessible(True)
    return found
