"""The dynamic allocation by trigger interval that was proposed for Spark (SPARK-24815) and not merged."""

from dataclasses import dataclass, replace
from math import ceil, floor

from penstock.core.domain.decision import Comparison, Decision
from penstock.core.domain.policy_memory import TriggerDraMemory
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.policy import Need
from penstock.core.policies.choosing import decided, keep
from penstock.core.policies.spark_dra import MOST_ROUNDS, batch_takes_s, waiting_s
from penstock.core.settings import setting, timer


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerDra:
    """Spark's dynamic allocation with the tasks of a whole batch in the place of those of a stage, and with timeouts in proportion to the trigger interval.

    Executors join in rounds of 1, 2, 4, ... while tasks of the running batch still wait late in the interval. They leave where all have been idle for a part
    of the interval before the next batch: `deallocation_ratio` of them at once, and no sooner again than `deallocation_share` of the interval.

    Source: apache/spark, pull request 42352 and the proposal in SPARK-24815: streaming.enabled, executorDeallocationRatio and executorDeallocationTimeout
    are its settings. It leaves their values and those of the timeouts to the owner; the shares of the interval here are ours.
    """

    name: str = "trigger_dra"
    period_s: float = timer(1.0, "time between two decisions, at least a reading interval (Spark: 100 ms)", lowest=0.1)
    backlog_share: float = setting(0.7, "add executors when tasks wait for this share of the interval (schedulerBacklogTimeout)", lowest=0.001, highest=1000)
    sustained_share: float = setting(
        0.1, "and twice as many each time they waited for this share more (sustainedSchedulerBacklogTimeout)", lowest=0.001, highest=1000
    )
    idle_share: float = setting(0.5, "an executor idle for this share of the interval may leave (executorIdleTimeout)", lowest=0, highest=1)
    deallocation_ratio: float = setting(0.1, "share of the executors that leave at once, one at least (executorDeallocationRatio)", lowest=0, highest=1)
    deallocation_share: float = setting(1.0, "time between two such removals, in intervals (executorDeallocationTimeout)", lowest=0, highest=1000)
    ratio: float = setting(1.0, "share of tasks to run at once (executorAllocationRatio)", lowest=0.001, highest=1)
    needs: frozenset[Need] = frozenset()
    faithful: bool = True

    def decide(self, seen: Assessment) -> Decision:
        if seen.plant == "continuous":
            return keep(seen, self.name, "tasks_run_always")
        memory = seen.memory if isinstance(seen.memory, TriggerDraMemory) else TriggerDraMemory()
        interval_s, batch_s, tasks = seen.cadence.interval_s, batch_takes_s(seen), tasks_of_batches(seen)
        if interval_s <= 0.0:
            return keep(seen, self.name, "no_trigger_interval", memory=memory)
        waits_s = None if tasks is None else waiting_s(tasks, seen.executors * seen.slots_each, batch_s)
        if tasks is None or batch_s is None or waits_s is None:
            return keep(seen, self.name, "not_ready", memory=memory)
        if waits_s >= self.backlog_share * interval_s:
            return self._grown(seen, tasks, waits_s, interval_s, memory)
        idle_s = interval_s - batch_s
        if idle_s >= self.idle_share * interval_s and seen.reading.executors_running == seen.reading.executors_requested:
            return self._shrunk(seen, idle_s, interval_s, memory)
        return keep(seen, self.name, "no_backlog", waits_s, self.backlog_share * interval_s, memory=memory)

    def _grown(self, seen: Assessment, tasks: int, waits_s: float, interval_s: float, memory: TriggerDraMemory) -> Decision:
        rounds = min(MOST_ROUNDS, 1 + floor((waits_s / interval_s - self.backlog_share) / self.sustained_share))
        most = min(ceil(round(tasks * self.ratio / seen.slots_each, 9)), seen.limits.max_executors)
        chosen = min(most, seen.executors + 2**rounds - 1)
        if chosen <= seen.executors:
            return keep(seen, self.name, "limits", seen.executors + 1, most, memory=memory)
        why = Comparison(code="backlogged_tasks", value=tasks, limit=seen.executors * seen.slots_each)
        return decided(seen, self.name, chosen, why, memory=memory)

    def _shrunk(self, seen: Assessment, idle_s: float, interval_s: float, memory: TriggerDraMemory) -> Decision:
        since_s = None if memory.removed_s is None else seen.at_s - memory.removed_s
        if since_s is not None and since_s < self.deallocation_share * interval_s:
            return keep(seen, self.name, "too_soon", since_s, self.deallocation_share * interval_s, memory=memory)
        leaving = max(1, floor(round(self.deallocation_ratio * seen.executors, 9)))
        chosen = max(seen.limits.min_executors, seen.executors - leaving)
        if chosen >= seen.executors:
            return keep(seen, self.name, "limits", seen.executors - leaving, seen.limits.min_executors, memory=memory)
        why = Comparison(code="idle_executors", value=seen.executors, limit=idle_s)
        return decided(seen, self.name, chosen, why, memory=replace(memory, removed_s=seen.at_s))


def tasks_of_batches(seen: Assessment) -> int | None:
    """Return the tasks of a batch of every query, all stages together; None where those of a query are not known."""
    queries = seen.reading.active
    if not queries or not all(query.stages for query in queries):
        return None
    return sum(ceil(stage.tasks) for query in queries for stage in query.stages)
