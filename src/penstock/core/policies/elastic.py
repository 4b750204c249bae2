"""Elastic Scaling, a library of Amadeus: the executors follow the share of the trigger interval that batches take."""

from dataclasses import dataclass
from math import ceil

from penstock.core.domain.decision import Comparison, Decision
from penstock.core.domain.policy_memory import ElasticMemory
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.policy import Need
from penstock.core.policies.choosing import decided, keep
from penstock.core.settings import setting, timer


@dataclass(frozen=True, slots=True, kw_only=True)
class Elastic:
    """Executors = ceil(executors * mean occupation), where the occupation of a batch is its duration over its trigger interval.

    The mean weighs each earlier batch with `factor` once more, and begins at 1. Within `low` and `high` nothing changes, nor while a change is under way.

    Source: github.com/AmadeusITGroup/Elastic-Scaling, ElasticScaling.scala and config/ElasticConfig.scala.
    """

    name: str = "elastic"
    period_s: float = timer(1.0, "time between two decisions, at least a reading interval (the library: every batch)", lowest=0.1)
    factor: float = setting(0.6, "weight of a batch relative to the one after it (executors.smoothing_factor)", lowest=0, highest=1)
    low: float = setting(0.75, "mean occupation below which executors leave (threshold.low)", lowest=0, highest=1000)
    high: float = setting(1.0, "mean occupation above which executors join (threshold.high)", lowest=0, highest=1000)
    needs: frozenset[Need] = frozenset()
    faithful: bool = True

    def decide(self, seen: Assessment) -> Decision:
        if seen.plant == "continuous":
            return keep(seen, self.name, "tasks_run_always")
        before = seen.memory if isinstance(seen.memory, ElasticMemory) else ElasticMemory()
        memory = self._with_batches(seen, before)
        if memory.newest_s == before.newest_s:
            return keep(seen, self.name, "no_new_batch", memory=memory)
        running, asked = seen.reading.executors_running, seen.reading.executors_requested
        if running != asked:
            return keep(seen, self.name, "change_under_way", running, asked, memory=memory)
        mean = memory.occupation
        wanted = seen.executors if self.low <= mean <= self.high else ceil(round(seen.executors * mean, 9))
        if wanted == seen.executors:
            return keep(seen, self.name, "occupation_suits", mean, self.high, memory=memory)
        chosen = seen.limits.nearest(wanted)
        if chosen == seen.executors:
            return keep(seen, self.name, "limits", wanted, chosen, memory=memory)
        code, limit = ("occupation_high", self.high) if mean > self.high else ("occupation_low", self.low)
        return decided(seen, self.name, chosen, Comparison(code=code, value=mean, limit=limit), memory=memory)

    def _with_batches(self, seen: Assessment, memory: ElasticMemory) -> ElasticMemory:
        """Return the memory with the batches that were committed since; one of a query without trigger interval has no occupation."""
        committed = sorted(
            (seen.at_s - batch.since_s, batch.took_s / query.trigger.interval_s)
            for query in seen.reading.active
            if query.batch is not None and query.trigger.interval_s > 0
            for batch in query.batch.each
        )
        for at_s, occupation in committed:
            if memory.newest_s is None or at_s > memory.newest_s + SAME_S:
                memory = memory.with_batch(at_s, occupation, self.factor)
        return memory


SAME_S = 1e-3
"""Commits that differ by less, by the rounding of two readings, are the same batch."""
