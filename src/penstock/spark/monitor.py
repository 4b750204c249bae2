"""The Source port on Spark: gathers the facts from which the pure monitor makes a Reading."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from penstock.core.config import Config
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.executor_events import CpuKnown, CpuUnknown, ExecutorLost
from penstock.core.domain.events.query_events import ClockSkewed
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.reading import Reading
from penstock.core.monitor.facts import ExecutorFact, Observation, QueryFacts
from penstock.core.monitor.observe import Memory, observe
from penstock.ports import Clock
from penstock.spark.cpu import MeasuredCpu
from penstock.spark.executors import ExecutorPool
from penstock.spark.jvm import StatusStore
from penstock.spark.positions import KafkaPositions
from penstock.spark.query import ManagedQuery
from penstock.spark.query_reader import QueryReader


@dataclass
class _Seen:
    """What was seen and reported last."""

    executors: set[str]
    skewed: set[str]
    lost: int = 0
    cpu_problem: str | None = None


class SparkMonitor:
    """Reads a Spark application; called only from the controller's thread."""

    def __init__(
        self, *, store: StatusStore, pool: ExecutorPool, queries: Sequence[ManagedQuery], config: Config, promises: Promises, clock: Clock,
        cpu: MeasuredCpu, default_partitions: Callable[[], int],
        emit: Callable[[Sequence[Event]], None], disturbed_s: Callable[[], float | None], redact: Callable[[str], str],
        heartbeat_s: float,
    ) -> None:  # fmt: skip
        self._store = store
        self._pool = pool
        self._queries = queries
        self._config = config
        self._promises = promises
        self._clock = clock
        self._cpu = cpu
        self._default_partitions = default_partitions
        self._emit = emit
        self._query_disturbed_s = disturbed_s
        self._redact = redact
        self._heartbeat_s = heartbeat_s
        self._readers: dict[str, QueryReader] = {}
        self._memory = Memory()
        self._added_s: dict[str, float] = {}
        self._seen = _Seen(executors=set(), skewed=set())
        self._executors_changed_s: float | None = None
        self._started_s = clock.now_s()
        self.last: Reading | None = None

    def read(self) -> Reading:
        now_s = self._clock.now_s()
        executors = self._executors(now_s)
        moments = (self._query_disturbed_s(), self._executors_changed_s, *(query.started_s for query in self._queries))
        queries = tuple(self._query(query) for query in self._queries)
        seen = Observation(
            at_s=max((facts.counted_s for facts in queries if facts.counted_s is not None), default=now_s),
            started_s=self._started_s,
            disturbed_s=max((moment for moment in moments if moment is not None), default=None),
            executors_requested=self._pool.requested,
            executors=executors,
            queries=queries,
            executors_lost=self._seen.lost,
            cpu=self._cpu.wanted({each.executor_id: each.host for each in executors}),
            unable=self._pool.unable,
        )
        self._memory, reading = observe(self._memory, seen, self._config, self._promises)
        self._report_skew(reading)
        self._report_cpu(reading.at_s)
        self.last = reading
        return reading

    def _executors(self, now_s: float) -> tuple[ExecutorFact, ...]:
        steady_minus_wall_s = now_s - time.time()
        alive = [each for each in self._store.executors() if each["id"] not in self._pool.dismissed]
        ids = {each["id"] for each in alive}
        if ids != self._seen.executors:
            self._report_losses(self._seen.executors - ids - self._pool.dismissed, now_s)
            self._executors_changed_s = now_s
            self._seen.executors = ids
        # Kept from when they were first seen, so that a change of the system's time moves nothing.
        self._added_s = {each["id"]: self._added_s.get(each["id"], each["addTime"] / 1000 + steady_minus_wall_s) for each in alive}
        hosts = {each["id"]: each["hostPort"].rpartition(":")[0] or each["hostPort"] for each in alive}
        return tuple(
            ExecutorFact(
                executor_id=each["id"],
                host=hosts[each["id"]],
                slots=each["maxTasks"] or each["totalCores"],
                added_s=self._added_s[each["id"]],
                cpu_s=self._cpu.cpu_s(each["id"], hosts[each["id"]]),
                cpu_cores=self._cpu.cores(each["id"], hosts[each["id"]]),
            )
            for each in alive
        )

    def _report_losses(self, lost: set[str], now_s: float) -> None:
        if lost:
            self._seen.lost += len(lost)
            reasons = {each["id"]: self._redact(each.get("removeReason") or "no reason given") for each in self._store.removed_executors()}
            self._emit([ExecutorLost(at_s=now_s, executor_id=each, reason=" ".join(reasons.get(each, "unknown").split())[:300]) for each in sorted(lost)])

    def _query(self, query: ManagedQuery) -> QueryFacts:
        known = self._readers.get(query.name)
        if known is None or known.query is not query:
            if known is not None:
                known.close()
                close_positions(set(known.query.recipe.positions) - {each for other in self._queries for each in other.recipe.positions})
            self._readers[query.name] = QueryReader(
                query, self._store, self._clock, heartbeat_s=self._heartbeat_s, default_partitions=self._default_partitions,
                say=lambda event: self._emit([event]),
            )  # fmt: skip
        return self._readers[query.name].facts()

    def close(self) -> None:
        for reader in self._readers.values():
            reader.close()
        close_positions({each for query in self._queries for each in query.recipe.positions})

    def _report_skew(self, reading: Reading) -> None:
        skewed = {query.name: query.clock_skew_s for query in reading.queries if query.clock_skew_s is not None}
        self._emit([ClockSkewed(at_s=reading.at_s, query=name, skew_s=skew) for name, skew in skewed.items() if name not in self._seen.skewed])
        self._seen.skewed = set(skewed)

    def _report_cpu(self, at_s: float) -> None:
        problem = self._cpu.problem
        if problem != self._seen.cpu_problem:
            self._seen.cpu_problem = problem
            self._emit([CpuKnown(at_s=at_s) if problem is None else CpuUnknown(at_s=at_s, problem=problem)])


def close_positions(positions: Iterable[object]) -> None:
    for each in positions:
        if isinstance(each, KafkaPositions):
            each.close()
