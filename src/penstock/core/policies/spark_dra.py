"""Spark's dynamic allocation: executors for tasks that wait, until none does; those that are idle for long leave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, floor

from penstock.core.assessment import Assessment
from penstock.core.domain.decision import Comparison, Decision
from penstock.core.domain.reading import QueryReading
from penstock.core.policies.choosing import keep
from penstock.core.policies.policy import Need
from penstock.core.policies.tasks import tasks_at_once
from penstock.core.settings import setting, timer
from penstock.core.usage.overdue import overdue_s
from penstock.core.usage.utilization import is_stalled

IDLE_SINCE = "idle since, executor "
"""In a memo, before the id of an executor that is idle."""
TASKS_OF = "tasks at once, query "
"""In a memo, before the name of a query: as many tasks as its last batches had."""
MOST_ROUNDS = 30
"""By then a size that doubles has passed every limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkDra:
    """The rule of Spark's ExecutorAllocationManager, seen through readings: it asks for executors in rounds of 1, 2, 4, ... while tasks wait in a batch.

    Spark looks every 100 ms; of a batch it is known here how long it takes and in how many waves its tasks run, which is how long some of them wait.
    When all tasks have begun the next round is one of 1 again, so each batch begins anew. An executor that worked in the last batches is not idle: where
    more than `idle_s` lies between two batches, Spark lets it go and asks for it again in each batch; decisions at readings would come too late for that.

    Source: apache/spark, core/src/main/scala/org/apache/spark/ExecutorAllocationManager.scala, and "Dynamic Allocation" in its configuration page.
    """

    name: str = "spark_dra"
    period_s: float = timer(1.0, "time between two decisions, at least that between two readings (Spark: every 100 ms)", lowest=0.1)
    backlog_s: float = timer(1.0, "when tasks wait so long executors are added (spark.dynamicAllocation.schedulerBacklogTimeout)", lowest=0.001)
    sustained_s: float = timer(
        1.0, "and twice as many again each time they have waited so much longer (spark.dynamicAllocation.sustainedSchedulerBacklogTimeout)", lowest=0.001
    )
    idle_s: float = timer(60.0, "an executor without a task for so long leaves (spark.dynamicAllocation.executorIdleTimeout)")
    ratio: float = setting(1.0, "share of the tasks that shall run at once (spark.dynamicAllocation.executorAllocationRatio)", lowest=0.001, highest=1)
    needs: frozenset[Need] = frozenset()
    faithful: bool = True

    def decide(self, seen: Assessment) -> Decision:
        if seen.plant == "continuous":
            return keep(seen, self.name, "tasks_run_always")
        known, idle_since_s = tasks_known(seen), idle(seen)
        memo, tasks = known | idle_since_s, tasks_now(seen, known)
        waits_s = None if tasks is None else waiting_s(tasks, seen.current * seen.slots_each, batch_takes_s(seen))
        if tasks is None or waits_s is None or not seen.reading.executors:
            return keep(seen, self.name, "not_ready", memo=memo)
        needed = ceil(round(tasks * self.ratio / seen.slots_each, 9))
        if waits_s >= self.backlog_s:
            return self._grown(seen, tasks, needed, waits_s, memo)
        leaving = max(0, len(seen.reading.executors) - seen.current)
        expired = sum(seen.at_s - since_s >= self.idle_s for since_s in idle_since_s.values()) - leaving
        if expired > 0:
            return self._shrunk(seen, expired, needed, memo)
        return keep(seen, self.name, "no_backlog", waits_s, self.backlog_s, memo=memo)

    def _grown(self, seen: Assessment, tasks: int, needed: int, waits_s: float, memo: dict[str, float]) -> Decision:
        rounds = min(MOST_ROUNDS, 1 + floor((waits_s - self.backlog_s) / self.sustained_s))
        most = min(needed, seen.limits.max_executors)
        size = min(most, seen.current + 2**rounds - 1)
        if size <= seen.current:
            return keep(seen, self.name, "limits", seen.current + 1, most, memo=memo)
        why = Comparison(code="backlogged_tasks", value=tasks, limit=seen.current * seen.slots_each)
        return Decision(policy=self.name, executors=size, current=seen.current, why=why, memo=memo)

    def _shrunk(self, seen: Assessment, expired: int, needed: int, memo: dict[str, float]) -> Decision:
        """Never below what the tasks of a batch could fill."""
        fewest = max(seen.limits.min_executors, min(needed, seen.limits.max_executors))
        size = max(fewest, seen.current - expired)
        if size >= seen.current:
            return keep(seen, self.name, "limits", seen.current - expired, fewest, memo=memo)
        why = Comparison(code="idle_executors", value=expired, limit=self.idle_s)
        return Decision(policy=self.name, executors=size, current=seen.current, why=why, memo=memo)


def tasks_known(seen: Assessment) -> dict[str, float]:
    """Tasks of each query at once, for the memo: as the reading shows them, or as they were when one last did."""
    keys = {query.name: f"{TASKS_OF}{query.name}" for query in seen.reading.queries}
    shown = {keys[name]: float(tasks) for name, tasks in tasks_at_once(seen.reading).items()}
    return {key: seen.memo[key] for key in keys.values() if key in seen.memo} | shown


def tasks_now(seen: Assessment, known: Mapping[str, float]) -> int | None:
    """Tasks that are there now: a query has some while a reading shows its batches, or it runs and rows wait; None where it is not known how many."""
    at_work = [f"{TASKS_OF}{query.name}" for query in seen.reading.queries if query.stages or (query.lag_rows and query.state == "running")]
    return sum(int(known[key]) for key in at_work) if all(key in known for key in at_work) else None


def batch_takes_s(seen: Assessment) -> float | None:
    """How long a batch takes: as read, and at least as long as one has run already that does not end."""
    known = (seen.batch_s, *map(running_s, seen.reading.queries))
    return max((each for each in known if each is not None), default=None)


def running_s(query: QueryReading) -> float | None:
    """How long a batch whose commit is overdue has run at least: it began one interval after the last commit, or after its first row came, at the latest.

    >>> from penstock.core.domain.trigger import Trigger
    >>> late = dict(name="q", trigger=Trigger(interval_s=10.0), rate_limit_rows_per_s=None, since_commit_s=120.0, lag_s=125.0, excess_lag_rows=9000.0)
    >>> running_s(QueryReading(**late, state="running")), running_s(QueryReading(**late, state="restarting"))
    (110.0, None)
    """
    waits_s = overdue_s(query) if query.state == "running" else None
    return None if waits_s is None else waits_s - query.trigger.interval_s


def waiting_s(tasks: int, slots: int, batch_s: float | None) -> float | None:
    """How long the last task of a batch waits for its slot: all waves but the last one; None where the time of a batch is not known.

    >>> waiting_s(12, 4, 3.0), waiting_s(4, 4, 3.0), waiting_s(12, 4, None)
    (2.0, 0.0, None)
    """
    waves = ceil(tasks / slots)
    if waves <= 1:
        return 0.0
    return None if batch_s is None else batch_s * (waves - 1) / waves


def idle(seen: Assessment) -> dict[str, float]:
    """Since when each executor that ran no task in the window is known to be idle, for the memo."""
    if is_stalled(seen.reading):
        return {}
    keys = [f"{IDLE_SINCE}{executor.executor_id}" for executor in seen.reading.executors if executor.busyness == 0.0]
    return {key: seen.memo.get(key, seen.at_s) for key in keys}
