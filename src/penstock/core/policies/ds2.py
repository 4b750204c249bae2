"""DS2 as Flink's Kubernetes operator runs it: as many slots as the true rates of the stages need for the load, with room to catch up."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf

from penstock.core.domain.decision import Comparison, Decision
from penstock.core.domain.policy_memory import Ds2Memory
from penstock.core.knowledge.assessment import Assessment, StageNeed
from penstock.core.knowledge.policy import Need
from penstock.core.policies.choosing import decided, executors_filled, keep, moved_by, stabilised, wanted_within
from penstock.core.settings import setting, timer


@dataclass(frozen=True, slots=True, kw_only=True)
class Ds2:
    """slots = sum over stages of r_i/o_i * (load/target + (lag + load*restart)/catch-up), r_i rows of a stage for one of the source, o_i of a busy slot.

    Source: Kalavri et al., OSDI 2018; apache/flink-kubernetes-operator, flink-autoscaler (JobVertexScaler, ScalingMetricEvaluator, AutoScalerUtils,
    AutoScalerOptions). There each vertex has its own parallelism; here all stages share the slots of the executors, hence the sum.
    In micro-batches a slot cannot be busy all the time: 100 % is its share when batches take the longest time allowed (PAPER-NOTES "Micro-batch capacity").
    The restart counts only where a rescale stops the job. No more executors are wanted than tasks can fill: there that is the number of partitions
    or the maximum parallelism. There rates are means over 15 minutes, which must have passed first; here the load is the mean since the last decision.
    """

    name: str = "ds2"
    period_s: float = timer(60.0, "time between two decisions (kubernetes.operator.reconcile.interval)", lowest=1)
    target: float = setting(0.7, "target utilisation (job.autoscaler.utilization.target)", lowest=0.01, highest=1)
    boundary: float = setting(0.3, "no change this near the target (job.autoscaler.target.utilization.boundary)", lowest=0, highest=1)
    catch_up_s: float = setting(1800.0, "time to work off waiting rows; 0: they do not count (job.autoscaler.catch-up.duration)", lowest=0, highest=86400)
    restart_s: float = setting(300.0, "duration of a rescale that stops the job (job.autoscaler.restart.time)", lowest=0, highest=86400)
    backlog_s: float = setting(300.0, "no scale-down while rows of this time wait (job.autoscaler.backlog-processing.lag-threshold)", lowest=0, highest=86400)
    down_factor: float = setting(0.6, "largest share taken away at once (job.autoscaler.scale-down.max-factor)", lowest=0, highest=1)
    stable_s: float = timer(300.0, "no change for this time after a rescale (job.autoscaler.stabilization.interval)")
    down_interval_s: float = timer(3600.0, "scale down after this time, to the most wanted meanwhile (job.autoscaler.scale-down.interval)")
    needs: frozenset[Need] = frozenset({"load", "stages"})
    faithful: bool = True

    def decide(self, seen: Assessment) -> Decision:
        load, busy_s, since_s = seen.load_rows_per_s, slot_s_per_row(seen.stages), seen.since_rescale_s
        if load is None or busy_s is None:
            return keep(seen, self.name, "not_ready")
        cost = busy_s / seen.utilization_at_capacity
        if since_s is not None and since_s < self.stable_s:
            return keep(seen, self.name, "too_soon", since_s, self.stable_s)
        asked, filled = self._asked(seen, load, cost), executors_filled(seen)
        wanted = self._fillable(seen, asked, filled)
        remembered = seen.memory.wanted if isinstance(seen.memory, Ds2Memory) else ()
        within = wanted_within(remembered, seen.at_s, wanted, seen.executors, self.down_interval_s)
        stable = stabilised(seen.executors, wanted, within)
        chosen = seen.limits.nearest(stable)
        if chosen != seen.executors:
            within = wanted_within((), seen.at_s, chosen, chosen, self.down_interval_s)
        utilization = self._slots(seen, load, cost) / (seen.executors * seen.slots_each)
        moved = moved_by(seen.executors, wanted=wanted, stable=stable, chosen=chosen, utilization=utilization, target=self.target)
        if moved is None and asked > wanted:
            moved = Comparison(code="tasks_too_few", value=asked, limit=filled)
        why = moved or self._why_none_is_asked(seen, load, utilization)
        return decided(seen, self.name, chosen, why, memory=Ds2Memory(wanted=within))

    def _why_none_is_asked(self, seen: Assessment, load: float, utilization: float) -> Comparison:
        if abs(utilization - self.target) <= self.boundary:
            return Comparison(code="within_boundary", value=utilization, limit=self.boundary)
        if self._in_backlog(seen, load):
            return Comparison(code="lag_above_backlog", value=seen.excess_lag_rows, limit=self.backlog_s * load)
        return Comparison(code="smallest_that_holds", value=utilization, limit=self.target)

    def _in_backlog(self, seen: Assessment, load: float) -> bool:
        return seen.excess_lag_rows > self.backlog_s * load

    def _asked(self, seen: Assessment, load: float, cost: float) -> int:
        """Return the executors for the target utilisation where that of now is beyond the boundary (ScalingMetricEvaluator.computeProcessingRateThresholds)."""
        slots = seen.executors * seen.slots_each
        highest, lowest = (1.0, 0.0) if self._in_backlog(seen, load) else (min(1.0, self.target + self.boundary), self.target - self.boundary)
        if slots < self._slots(seen, load, cost, at=highest):
            return self._executors(seen, load, cost, change="rescale_up")
        if lowest > 0.0 and slots > self._slots(seen, load, cost, at=lowest, change="rescale_down"):
            return max(self._fewest(seen), self._executors(seen, load, cost, change="rescale_down"))
        return seen.executors

    def _fillable(self, seen: Assessment, asked: int, filled: int | None) -> int:
        """Return no more executors than tasks can fill; this alone removes none, and with a lower load at most `down_factor` of them."""
        if filled is None:
            return asked
        return max(min(asked, filled), seen.executors if asked >= seen.executors else self._fewest(seen))

    def _fewest(self, seen: Assessment) -> int:
        return ceil(round(seen.executors * (1.0 - self.down_factor), 9))

    def _executors(self, seen: Assessment, load: float, cost: float, *, change: str) -> int:
        return ceil(round(self._slots(seen, load, cost, at=self.target, change=change) / seen.slots_each, 9))

    def _slots(self, seen: Assessment, load: float, cost: float, *, at: float = 1.0, change: str = "") -> float:
        """Return the busy slots that the load needs at a utilisation, including those to catch up with what waits and with what a rescale would add."""
        waiting_rows = seen.excess_lag_rows + (load * self.restart_s if change in seen.stops else 0.0)
        return cost * (load / at + (waiting_rows / self.catch_up_s if self.catch_up_s > 0.0 else 0.0))


def slot_s_per_row(stages: Sequence[StageNeed]) -> float | None:
    """Return the seconds of a slot that all stages together spend on one row of the source; None where that is not known.

    >>> parse = StageNeed(position=0, name="parse", rate_rows_per_s=1000.0, selectivity=1.0)
    >>> count = StageNeed(position=1, name="count", rate_rows_per_s=250.0, selectivity=0.5)
    >>> slot_s_per_row([parse, count])
    0.003
    """
    cost = sum(inf if stage.rate_rows_per_s <= 0.0 else stage.selectivity / stage.rate_rows_per_s for stage in stages)
    return cost if 0.0 < cost < inf else None
