"""How busy the executors are that policies by utilisation go by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.core.assessment import Assessment
from penstock.core.domain.reading import ExecutorReading
from penstock.core.usage.overdue import overdue_busyness
from penstock.core.usage.presence import presence
from penstock.core.usage.utilization import is_down, is_stalled, looks_back_on_a_stop, utilization


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """How busy the executors are that are `ready`, and how many more there are: ready ones that tell nothing, and others that are still starting."""

    utilization: float
    ready: int
    silent: int = 0
    starting: int = 0

    def cautious(self, target: float) -> tuple[float, int]:
        """Utilisation and count for a change of size: upwards whoever is not known counts as idle, downwards the silent count as busy.

        Only where that points the same way still, the size is changed (kubernetes: replica_calculator.go, GetResourceReplicas).

        >>> Usage(utilization=0.9, ready=2, starting=1).cautious(0.5), Usage(utilization=0.2, ready=2, silent=2, starting=1).cautious(0.5)
        ((0.6, 3), (0.6, 4))
        """
        upwards = self.utilization > target
        counted = self.ready + self.silent + (self.starting if upwards else 0)
        busy = self.utilization * self.ready + (0.0 if upwards else self.silent)
        return (busy / counted, counted) if counted > self.ready else (self.utilization, self.ready)


def started(usage: Usage) -> Usage:
    """Without executors that have not started yet: the paper's HPA ignores them (Daedalus sec. 4.3.2), that of Kubernetes counts them as idle upwards.

    >>> started(Usage(utilization=0.9, ready=2, starting=1)).cautious(0.5)
    (0.9, 2)
    """
    return replace(usage, starting=0)


def usage_of(seen: Assessment, ready_s: float, row_costs: Mapping[str, float]) -> Usage | None:
    """The usage of the size that is steered: in shadow other executors run, and their work is spread over those that would. None: nothing is known.

    Whoever came too late for the batches that a reading looks back on is taken to be as busy as the others, as Spark offers it waiting tasks at once.
    CPU is read from one reading to the next, so its average does not reach back beyond the last decision, which was made at one.
    """
    reading, listed = seen.reading, seen.reading.executors
    ready = [executor for executor in listed if executor.uptime_s >= ready_s]
    told = [(executor, busy) for executor in ready if (busy := utilization(executor, seen.plant, seen.cpu_cores_each)) is not None]
    if not told or is_down(reading):
        return None
    since_s = seen.at_s - seen.earlier[-1].at_s if seen.earlier else ready_s
    means = [] if is_stalled(reading) or looks_back_on_a_stop(reading, since_s) else mean_of(told, seen)
    running = overdue_busyness(reading, row_costs) if seen.plant == "micro_batch" else None
    if running is not None:
        means.append(running)
    if not means:
        return None
    asked = reading.executors_requested or len(listed)
    silent, starting = len(ready) - len(told), len(listed) - len(ready) + max(0, asked - len(listed))
    mean = max(means) * asked / seen.current
    return Usage(utilization=mean, ready=max(1, seen.current - silent - starting), silent=silent, starting=starting)


def mean_of(told: Sequence[tuple[ExecutorReading, float]], seen: Assessment) -> list[float]:
    """The mean of those that had a part in the batches that were read, each over the time that it was there for; none where nobody had."""
    there = [(busy, presence(executor, seen.reading) if seen.plant == "micro_batch" else 1.0) for executor, busy in told]
    known = [min(1.0, busy / share) for busy, share in there if share == 1.0 or (busy > 0 and share > 0)]
    return [sum(known) / len(known)] if known else []
