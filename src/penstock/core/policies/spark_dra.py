"""Spark's dynamic allocation: add executors while tasks wait, and remove those that are idle for long."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, floor

from penstock.core.domain.decision import Comparison, Decision
from penstock.core.domain.policy_memory import DraMemory
from penstock.core.domain.reading import QueryReading
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.policy import Need
from penstock.core.models.usage import is_stalled, overdue_s
from penstock.core.policies.choosing import decided, keep, tasks_at_once
from penstock.core.settings import setting, timer

MOST_ROUNDS = 30
"""By then executors that double have passed every limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkDra:
    """The rule of Spark's ExecutorAllocationManager, seen through readings: it asks for executors in rounds of 1, 2, 4, ... while tasks wait in a batch.

    Spark looks every 100 ms; of a batch it is known here how long it takes and in how many waves its tasks run, which is how long some of them wait.
    When all tasks have begun the next round is one of 1 again, so each batch begins anew. An executor that worked in the last batches is not idle: where
    more than `idle_s` lies between two batches, Spark lets it go and asks for it again in each batch; decisions at readings would come too late for that.

    Source: apache/spark, core/src/main/scala/org/apache/spark/ExecutorAllocationManager.scala, and "Dynamic Allocation" in its configuration page.
    """

    name: str = "spark_dra"
    period_s: float = timer(1.0, "time between two decisions, at least a reading interval (Spark: 100 ms)", lowest=0.1)
    backlog_s: float = timer(1.0, "add executors when tasks wait this long (spark.dynamicAllocation.schedulerBacklogTimeout)", lowest=0.001)
    sustained_s: float = timer(
        1.0, "and twice as many each time they waited this much longer (spark.dynamicAllocation.sustainedSchedulerBacklogTimeout)", lowest=0.001
    )
    idle_s: float = timer(60.0, "remove an executor without a task for this time (spark.dynamicAllocation.executorIdleTimeout)")
    ratio: float = setting(1.0, "share of tasks to run at once (spark.dynamicAllocation.executorAllocationRatio)", lowest=0.001, highest=1)
    needs: frozenset[Need] = frozenset()
    faithful: bool = True

    def decide(self, seen: Assessment) -> Decision:
        if seen.plant == "continuous":
            return keep(seen, self.name, "tasks_run_always")
        before = seen.memory if isinstance(seen.memory, DraMemory) else DraMemory()
        memory = DraMemory(idle_since_s=idle(seen, before), tasks=tasks_known(seen, before))
        tasks = tasks_now(seen, memory.tasks)
        waits_s = None if tasks is None else waiting_s(tasks, seen.executors * seen.slots_each, batch_takes_s(seen))
        if tasks is None or waits_s is None or not seen.reading.executors:
            return keep(seen, self.name, "not_ready", memory=memory)
        needed = ceil(round(tasks * self.ratio / seen.slots_each, 9))
        if waits_s >= self.backlog_s:
            return self._grown(seen, tasks, needed, waits_s, memory)
        leaving = max(0, len(seen.reading.executors) - seen.executors)
        expired = sum(seen.at_s - since_s >= self.idle_s for since_s in memory.idle_since_s.values()) - leaving
        if expired > 0:
            return self._shrunk(seen, expired, needed, memory)
        return keep(seen, self.name, "no_backlog", waits_s, self.backlog_s, memory=memory)

    def _grown(self, seen: Assessment, tasks: int, needed: int, waits_s: float, memory: DraMemory) -> Decision:
        rounds = min(MOST_ROUNDS, 1 + floor((waits_s - self.backlog_s) / self.sustained_s))
        most = min(needed, seen.limits.max_executors)
        chosen = min(most, seen.executors + 2**rounds - 1)
        if chosen <= seen.executors:
            return keep(seen, self.name, "limits", seen.executors + 1, most, memory=memory)
        why = Comparison(code="backlogged_tasks", value=tasks, limit=seen.executors * seen.slots_each)
        return decided(seen, self.name, chosen, why, memory=memory)

    def _shrunk(self, seen: Assessment, expired: int, needed: int, memory: DraMemory) -> Decision:
        """Return fewer executors, never below what the tasks of a batch could fill."""
        fewest = max(seen.limits.min_executors, min(needed, seen.limits.max_executors))
        chosen = max(fewest, seen.executors - expired)
        if chosen >= seen.executors:
            return keep(seen, self.name, "limits", seen.executors - expired, fewest, memory=memory)
        return decided(seen, self.name, chosen, Comparison(code="idle_executors", value=expired, limit=self.idle_s), memory=memory)


def tasks_known(seen: Assessment, before: DraMemory) -> dict[str, int]:
    """Return the concurrent tasks of each query: as this reading shows them, else as the last one that did."""
    there = {query.name for query in seen.reading.active}
    return {name: tasks for name, tasks in before.tasks.items() if name in there} | tasks_at_once(seen.reading)


def tasks_now(seen: Assessment, known: Mapping[str, int]) -> int | None:
    """Return the tasks that are there now: a query has some while a reading shows its batches, or it runs and rows wait. None where that is not known."""
    at_work = [query.name for query in seen.reading.active if query.stages or (query.lag_rows and query.state == "running")]
    return sum(known[name] for name in at_work) if all(name in known for name in at_work) else None


def batch_takes_s(seen: Assessment) -> float | None:
    """Return how long a batch takes: as read, and at least as long as an overdue batch has run already."""
    known = (seen.batch_s, *map(running_s, seen.reading.active))
    return max((each for each in known if each is not None), default=None)


def running_s(query: QueryReading) -> float | None:
    """Return how long a batch whose commit is overdue has run at least: it began an interval after the last commit, or after its first row, at the latest.

    >>> from penstock.core.domain.trigger import Trigger
    >>> late = dict(name="q", trigger=Trigger(interval_s=10.0), since_commit_s=120.0, lag_s=125.0, excess_lag_rows=9000.0)
    >>> running_s(QueryReading(**late, state="running")), running_s(QueryReading(**late, state="restarting"))
    (110.0, None)
    """
    waits_s = overdue_s(query) if query.state == "running" else None
    return None if waits_s is None else waits_s - query.trigger.interval_s


def waiting_s(tasks: int, slots: int, batch_s: float | None) -> float | None:
    """Return how long the last task of a batch waits for its slot: all waves but the last one; None where the time of a batch is not known.

    >>> waiting_s(12, 4, 3.0), waiting_s(4, 4, 3.0), waiting_s(12, 4, None)
    (2.0, 0.0, None)
    """
    waves = ceil(tasks / slots)
    if waves <= 1:
        return 0.0
    return None if batch_s is None else batch_s * (waves - 1) / waves


def idle(seen: Assessment, before: DraMemory) -> dict[str, float]:
    """Return since when each executor that ran no task in the window is known to be idle."""
    if is_stalled(seen.reading):
        return {}
    ids = [executor.executor_id for executor in seen.reading.executors if executor.busyness == 0.0]
    return {each: before.idle_since_s.get(each, seen.at_s) for each in ids}
