"""Executors of the running application: requested, removed between batches, and replaced when they crash."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from penstock.core.domain.instruction import MISSING
from penstock.spark.jvm import StatusStore, singleton

POLL_S = 0.2
UNKNOWN_NUMBER = "the application does not say how many executors it has: give penstock.start (or attach) max_executors=..."


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaled:
    """Whether the requested executors run, and how long that took."""

    done: bool
    took_s: float
    reason: str = ""


class ExecutorPool:
    """Spark's own allocation client, which is the same on standalone clusters, YARN and Kubernetes.

    With `requested` None, the wanted number is unknown, and it cannot be changed.
    """

    def __init__(self, session: SparkSession, store: StatusStore, requested: int | None) -> None:
        jvm: Any = session._jvm
        self._store = store
        self._context = session.sparkContext._jsc.sc()
        self._master = session.sparkContext.master or ""
        self._no_localities = singleton(jvm.scala.collection.immutable, "Map").empty()
        self._farewell = jvm.org.apache.spark.scheduler.ExecutorDecommissionInfo("no longer needed", singleton(jvm.scala, "None"))
        self._decommission = session.sparkContext.getConf().get("spark.decommission.enabled", "false") == "true"
        self.slots_each = int(session.sparkContext.getConf().get("spark.executor.cores", "1") or 1)
        self._is_local = self._master.startswith("local") and not self._master.startswith("local-cluster")
        self._local_slots = session.sparkContext.defaultParallelism if self._is_local else None
        self._requested = requested
        self.dismissed: set[str] = set()

    @property
    def unable(self) -> dict[str, str]:
        if self._is_local:
            return {"executors": f'master {self._master} has no executors to scale; use master = "embedded" or a cluster'}
        return {"executors": UNKNOWN_NUMBER} if self._requested is None else {}

    @property
    def requested(self) -> int:
        """The number requested; the number that runs if none was."""
        return len(self.running()) if self._requested is None else self._requested

    def running(self) -> list[str]:
        """Return the ids of the living executors, oldest first, without those that were dismissed."""
        alive = sorted(self._store.executors(), key=lambda each: (each["addTime"], each["id"]))
        return [each["id"] for each in alive if each["id"] not in self.dismissed]

    @property
    def capacity(self) -> tuple[int, int]:
        """(Executors requested, slots of each); a local master counts as one executor with the slots of the driver."""
        return (1, self._local_slots) if self._local_slots else (self.requested, self.slots_each)

    def request(self, executors: int) -> bool:
        """Set Spark's target: it starts what is missing and replaces what crashes from then on. Return False if the cluster manager refuses."""
        taken = bool(self._context.requestTotalExecutors(executors, 0, self._no_localities))
        self._requested = executors if taken else self._requested
        return taken

    def scale(self, executors: int, timeout_s: float, wait_for_gap: Callable[[], object], *, until_gone: bool = True) -> Scaled:
        """Grow or shrink to a number of executors. Surplus ones leave between batches; the reason is `MISSING` if some do not come in time."""
        began = time.monotonic()
        if not self.request(executors):
            return Scaled(done=False, took_s=time.monotonic() - began, reason="the cluster manager refused the request")
        if len(self.running()) > executors:
            wait_for_gap()
            self._dismiss(self.running()[executors:])
            # Each executor killed lowers Spark's own target by one: without asking again, a crashed one would never be replaced.
            self.request(executors)
        arrived = self._await(executors, began + timeout_s, until_gone)
        return Scaled(done=arrived, took_s=time.monotonic() - began, reason="" if arrived else MISSING)

    def _dismiss(self, surplus: list[str]) -> None:
        backend = self._context.schedulerBackend()
        for executor_id in surplus:
            self.dismissed.add(executor_id)
            if not (self._decommission and backend.decommissionExecutor(executor_id, self._farewell, False, False)):
                self._context.killExecutor(executor_id)

    def _await(self, executors: int, deadline: float, until_gone: bool) -> bool:
        """Wait until this number runs and, if `until_gone`, the dismissed ones are gone."""
        while True:
            alive = {each["id"] for each in self._store.executors()}
            if len(alive - self.dismissed) >= executors and not (until_gone and alive & self.dismissed):
                return True
            if time.monotonic() > deadline:
                return len(alive - self.dismissed) >= executors
            time.sleep(POLL_S)
