"""The Horizontal Pod Autoscaler of Kubernetes with executors as its pods, and its variants that Daedalus and Phoebe were compared with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

from penstock.core.domain.decision import Comparison, Decision
from penstock.core.domain.policy_memory import HpaMemory
from penstock.core.domain.reading import ExecutorReading
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.policy import Need
from penstock.core.models.usage import is_down, is_stalled, looks_back_on_a_stop, overdue_busyness, presence, row_costs, utilization
from penstock.core.policies.choosing import decided, keep, moved_by, stabilised, unready, wanted_within
from penstock.core.settings import setting, timer


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """How busy the ready executors are, and how many more there are: ready ones of unknown utilisation (`silent`), and others that still start."""

    utilization: float
    ready: int
    silent: int = 0
    starting: int = 0

    def cautious(self, target: float) -> tuple[float, int]:
        """Return utilisation and count for a rescale: upwards unknown executors count as idle, downwards silent ones as busy.

        Executors change only where that still points the same way (kubernetes: replica_calculator.go, GetResourceReplicas).

        >>> Usage(utilization=0.9, ready=2, starting=1).cautious(0.5), Usage(utilization=0.2, ready=2, silent=2, starting=1).cautious(0.5)
        ((0.6, 3), (0.6, 4))
        """
        upwards = self.utilization > target
        counted = self.ready + self.silent + (self.starting if upwards else 0)
        busy = self.utilization * self.ready + (0.0 if upwards else self.silent)
        return (busy / counted, counted) if counted > self.ready else (self.utilization, self.ready)


def started(usage: Usage) -> Usage:
    """Return the usage without starting executors: the paper's HPA ignores them (Daedalus sec. 4.3.2), that of Kubernetes counts them as idle upwards.

    >>> started(Usage(utilization=0.9, ready=2, starting=1)).cautious(0.5)
    (0.9, 2)
    """
    return replace(usage, starting=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hpa:
    """Keeps the mean utilisation of ready executors near a target: executors = ceil(ready * utilisation / target).

    Source: kubernetes.io, "Horizontal Pod Autoscaling"; kubernetes/kubernetes, pkg/controller/podautoscaler (replica_calculator.go, horizontal.go) and
    pkg/apis/autoscaling/v2 (defaults.go). Downwards the default there is 100 % in 15 s, which is no limit.
    """

    name: str = "hpa"
    period_s: float = timer(15.0, "time between two decisions (horizontal-pod-autoscaler-sync-period)", lowest=0.1)
    target: float = setting(0.8, "target utilisation (DefaultCPUUtilization; Daedalus 4.3.2)", lowest=0.01, highest=1)
    tolerance: float = setting(0.1, "no change for a ratio to the target this near 1 (horizontal-pod-autoscaler-tolerance)", lowest=0, highest=1)
    stable_down_s: float = timer(300.0, "fewer only down to the most wanted in this time (horizontal-pod-autoscaler-downscale-stabilization)")
    ready_s: float = timer(30.0, "a younger executor is not ready (horizontal-pod-autoscaler-initial-readiness-delay)")
    most_added: int = setting(4, "most executors added at once (scaleUp Pods)", lowest=1, highest=100_000)
    most_grown: float = setting(1.0, "or for each present one, if more (scaleUp Percent)", lowest=0, highest=1000)
    between_actions_s: float = timer(0.0, "no change for this time after a rescale")
    needs: frozenset[Need] = frozenset()
    faithful: bool = True

    def decide(self, seen: Assessment) -> Decision:
        memory = seen.memory if isinstance(seen.memory, HpaMemory) else HpaMemory()
        memory = replace(memory, row_s=row_costs(seen.reading, memory.row_s))
        since_s, usage, current = seen.since_rescale_s, usage_of(seen, self.ready_s, memory.row_s), seen.executors
        if usage is None:
            return keep(seen, self.name, unready(seen), memory=memory)
        if since_s is not None and since_s < self.between_actions_s:
            return keep(seen, self.name, "too_soon", since_s, self.between_actions_s, memory=memory)
        wanted = self._wanted(current, usage)
        memory = replace(memory, wanted=wanted_within(memory.wanted, seen.at_s, wanted, current, self.stable_down_s))
        stable = stabilised(current, wanted, memory.wanted)
        most = current + max(self.most_added, ceil(round(self.most_grown * current, 9)))
        chosen = seen.limits.nearest(min(stable, most))
        moved = moved_by(current, wanted=wanted, stable=stable, chosen=chosen, utilization=usage.utilization, target=self.target)
        return decided(seen, self.name, chosen, moved or self._why_none_is_wanted(usage), memory=memory)

    def _wanted(self, current: int, usage: Usage) -> int:
        """Return the executors that would bring utilisation to the target; the present ones where that is within tolerance, or would point the other way."""
        cautious, counted = usage.cautious(self.target)
        ratio, upwards = cautious / self.target, usage.utilization > self.target
        if abs(ratio - 1.0) <= self.tolerance or (ratio > 1.0) != upwards:
            return current
        wanted = ceil(round(counted * ratio, 9))
        return max(current, wanted) if upwards else min(current, wanted)

    def _why_none_is_wanted(self, usage: Usage) -> Comparison:
        cautious, _ = usage.cautious(self.target)
        if abs(usage.utilization / self.target - 1.0) <= self.tolerance:
            return Comparison(code="within_tolerance", value=usage.utilization, limit=self.target)
        if cautious != usage.utilization:
            return Comparison(code="executors_starting", value=usage.utilization, limit=cautious)
        return Comparison(code="smallest_that_holds", value=usage.utilization, limit=self.target)


@dataclass(frozen=True, slots=True, kw_only=True)
class HpaPaper(Hpa):
    """HPA as Daedalus describes it: five minutes between any two actions in the place of a window for scaling down, and only started executors count."""

    name: str = "hpa_paper"
    stable_down_s: float = timer(0.0, "fewer only down to the most wanted in this time (Daedalus 4.3.2)")
    between_actions_s: float = timer(300.0, "no change for this time after a rescale (Daedalus 4.3.2)")

    def _wanted(self, current: int, usage: Usage) -> int:
        return Hpa._wanted(self, current, started(usage))

    def _why_none_is_wanted(self, usage: Usage) -> Comparison:
        return Hpa._why_none_is_wanted(self, started(usage))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reactive(Hpa):
    """HPA at a low target that acts during recoveries too: its margin is for the restart that every rescale costs (Phoebe sec. IV-C).

    The plant restarts, not the policy; a decision on a plant that rescales live says that this is not what was compared.
    """

    name: str = "reactive"
    target: float = setting(0.35, "target utilisation (Phoebe IV-C)", lowest=0.01, highest=1)

    def decide(self, seen: Assessment) -> Decision:
        decision = Hpa.decide(self, seen)
        if seen.plant == "continuous":
            return decision
        return replace(decision, guards=(*decision.guards, Comparison(code="plant_rescales_live")))


def usage_of(seen: Assessment, ready_s: float, row_costs: Mapping[str, float]) -> Usage | None:
    """Return the usage of the executors that are steered; in shadow the work of those that run is spread over those that would. None: nothing is known.

    An executor that came too late for the batches that a reading looks back on counts as busy as the others: Spark offers it waiting tasks at once.
    CPU is read from one reading to the next, so its average does not reach back beyond the last decision, which was made at one.
    """
    reading, listed = seen.reading, seen.reading.executors
    ready = [executor for executor in listed if executor.uptime_s >= ready_s]
    reporting = [(executor, busy) for executor in ready if (busy := utilization(executor, seen.plant, seen.cpu_cores_each)) is not None]
    if not reporting or is_down(reading):
        return None
    since_s = seen.at_s - seen.earlier[-1].at_s if seen.earlier else ready_s
    means = [] if is_stalled(reading) or looks_back_on_a_stop(reading, since_s) else mean_of(reporting, seen)
    running = overdue_busyness(reading, row_costs) if seen.plant == "micro_batch" else None
    if running is not None:
        means.append(running)
    if not means:
        return None
    asked = reading.executors_requested or len(listed)
    silent, starting = len(ready) - len(reporting), len(listed) - len(ready) + max(0, asked - len(listed))
    mean = max(means) * asked / seen.executors
    return Usage(utilization=mean, ready=max(1, seen.executors - silent - starting), silent=silent, starting=starting)


def mean_of(executors: Sequence[tuple[ExecutorReading, float]], seen: Assessment) -> list[float]:
    """Return the mean of the executors that worked in the batches that were read, each over the time that it was there; nothing where none did."""
    there = [(busy, presence(executor, seen.reading) if seen.plant == "micro_batch" else 1.0) for executor, busy in executors]
    known = [min(1.0, busy / share) for busy, share in there if share == 1.0 or (busy > 0 and share > 0)]
    return [sum(known) / len(known)] if known else []
