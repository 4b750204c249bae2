"""One Spark application under Penstock: its queries, its executors, and what watches and changes them."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from penstock.core.config import Config
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.steering_events import CannotDo
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.reading import Reading
from penstock.core.errors import Refused
from penstock.ports import Clock
from penstock.spark.actuator import SparkActuator
from penstock.spark.checkpoint import Checkpoint
from penstock.spark.cpu import ExecutorProcesses, MeasuredCpu
from penstock.spark.executors import ExecutorPool
from penstock.spark.files import Files
from penstock.spark.graphite import GraphiteCpu
from penstock.spark.jvm import StatusStore
from penstock.spark.live_rows import LiveRows
from penstock.spark.monitor import SparkMonitor
from penstock.spark.progress import CommitListener
from penstock.spark.prometheus_cpu import PrometheusCpu
from penstock.spark.query import ManagedQuery
from penstock.spark.query_settings import QuerySettings
from penstock.spark.recipe import Recipe
from penstock.spark.supervisor import Supervisor

LIVING = ("starting", "running", "restarting", "failed")


class SparkEngine:
    """Source and Actuator of one application, and owner of its queries; `executors` is the number it starts with, None if unknown."""

    def __init__(
        self, session: SparkSession, *, executors: int | None, config: Config, clock: Clock,
        emit: Callable[[Sequence[Event]], None], redact: Callable[[str], str] = str,
        reported_cpu: GraphiteCpu | None = None, asked_cpu: PrometheusCpu | None = None, promises: Promises = Promises(),
    ) -> None:  # fmt: skip
        self.session = session
        self.queries: list[ManagedQuery] = []
        self.files = Files(session)
        self._config = config
        self._clock = clock
        self._emit = emit
        self._store = store = StatusStore(session)
        self.pool = ExecutorPool(session, store, executors)
        self.processes = ExecutorProcesses(session.sparkContext.applicationId)
        self._listener = CommitListener(clock)
        session.streams.addListener(self._listener)
        self._supervisor = Supervisor(config, clock, emit, redact, self._listener.ended)
        self.monitor = SparkMonitor(
            store=store, pool=self.pool, queries=self.queries, config=config, promises=promises, clock=clock,
            cpu=MeasuredCpu(self.processes, reported_cpu, asked_cpu), emit=emit,
            default_partitions=lambda: int(session.conf.get("spark.sql.shuffle.partitions") or 200),
            disturbed_s=lambda: self._supervisor.disturbed_s, redact=redact, heartbeat_s=heartbeat_s(session),
        )  # fmt: skip
        self._actuator = SparkActuator(
            session=session, pool=self.pool, queries=self.queries, config=config, redact=redact, last_reading=lambda: self.monitor.last
        )

    def read(self) -> Reading:
        return self.monitor.read()

    def perform(self, instruction: Instruction, report: Callable[[Outcome], None]) -> None:
        self._actuator.perform(instruction, report)

    def add(self, name: str, recipe: Recipe, settings: QuerySettings) -> ManagedQuery:
        """Start a query, in place of one of that name that has ended, observe it and keep it alive; report the knobs that it does not have."""
        checkpoint = Checkpoint(self.files, recipe.checkpoint) if recipe.checkpoint else None
        query = ManagedQuery(name, recipe, settings, self._listener, self._clock, checkpoint, LiveRows(self._store, heartbeat_s(self.session)))
        self.queries[:] = [*(each for each in self.queries if each.name != name), query]
        now_s = self._clock.now_s()
        self._emit([CannotDo(at_s=now_s, query=name, what=what, remedy=remedy) for what, remedy in recipe.unable.items()])
        try:
            self._supervisor.add(query)
        except BaseException:
            self.queries.remove(query)
            raise
        return query

    def living(self) -> list[ManagedQuery]:
        return [query for query in self.queries if query.state in LIVING]

    def stop_queries(self, grace_s: float, stop_now: Callable[[], bool]) -> bool:
        """Stop all queries for good, each right after a commit; return whether all were between batches."""
        for query in self.queries:
            query.close(grace_s, stop_now)
        self._supervisor.close()
        with ThreadPoolExecutor(max_workers=max(1, len(self.queries))) as pool:
            return all(list(pool.map(lambda query: stop_one(query, grace_s, stop_now), self.queries)))

    def lives(self) -> bool:
        """Return whether Spark's driver still runs: its owner may have stopped it, or its JVM may have died."""
        context = self.session.sparkContext._jsc
        try:
            return context is not None and not context.sc().isStopped()
        except (Py4JError, OSError):  # a gateway that is gone refuses connections with a bare error of the socket
            return False

    def close(self) -> None:
        """Stop watching; the session, which may be the user's own, stays open."""
        self._supervisor.close()
        self.monitor.close()
        if self.lives():
            self.session.streams.removeListener(self._listener)


def heartbeat_s(session: SparkSession) -> float:
    """Return how often executors report what their tasks have read."""
    jvm: Any = session._jvm
    interval = session.sparkContext.getConf().get("spark.executor.heartbeatInterval", "10s")
    return float(jvm.org.apache.spark.network.util.JavaUtils.timeStringAsMs(interval)) / 1000


def stop_one(query: ManagedQuery, grace_s: float, stop_now: Callable[[], bool]) -> bool:
    """Stop a query for good; return whether no batch was interrupted. One that cannot be stopped ends with Spark."""
    with query.lock:
        clean = query.last_stop is None or query.last_stop.between_batches
        try:
            if not query.is_over:
                clean = query.stop_after_commit(grace_s, stop_now).between_batches
                query.state = "stopped"
        except (Refused, Py4JError):
            clean, query.state = False, "stopped"
        query.settled.set()
        return clean
