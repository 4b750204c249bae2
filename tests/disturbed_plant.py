"""A job that stops for a while and catches up: what is read of it, and the true moment of its recovery."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.core.domain.disturbance import DisturbanceKind
from penstock.core.models.anomaly.keeping_up import FlowSeen
from penstock.core.models.anomaly.recovery_watch import RecoveryMeasured, RecoveryWatch


@dataclass(frozen=True, kw_only=True)
class DisturbedPlant:
    """A queue with a capacity, read every `step_s`; in an outage (start, length) nothing is read; `interval_s` above 0 reads in micro-batches."""

    seed: int
    outages: tuple[tuple[float, float], ...]
    capacity: float = 1500.0
    rate: float = 1000.0
    noise: float = 0.02
    step_s: float = 1.0
    interval_s: float = 0.0

    def run(self, duration_s: float) -> tuple[list[FlowSeen], list[float]]:
        """The readings, and when the backlog of each outage was gone."""
        rng = random.Random(self.seed)
        seen: list[FlowSeen] = []
        ends: list[float] = []
        backlog, behind = 0.0, False
        for n in range(int(duration_s / self.step_s)):
            t = n * self.step_s
            arrived = self.rate * (1 + rng.gauss(0.0, self.noise)) * self.step_s
            down = any(start <= t < start + length for start, length in self.outages)
            read = 0.0 if down else min(backlog + arrived, self.capacity * self.step_s)
            backlog += arrived - read
            behind = behind or down
            if behind and backlog <= 0:
                ends.append(t)
                behind = False
            waiting = self.rate * (t % self.interval_s) if self.interval_s else 0.0
            throughput = read / self.step_s * (1 + rng.gauss(0.0, self.noise))
            seen.append(FlowSeen(at_s=t, workload_rows_per_s=arrived / self.step_s, throughput_rows_per_s=throughput, lag_rows=backlog + waiting))
        return seen, ends


def watched(
    seen: Sequence[FlowSeen], announced: Mapping[float, DisturbanceKind] | None = None, start: RecoveryWatch | None = None
) -> tuple[RecoveryWatch, list[RecoveryMeasured]]:
    """Read all readings, after the disturbance announced for the time of each; return the watch and what it measured."""
    watch, measured = start or RecoveryWatch(), []
    for reading in seen:
        if announced and reading.at_s in announced:
            watch = watch.disturbed(reading.at_s, announced[reading.at_s])
        watch, more = watch.read(reading)
        measured += more
    return watch, measured
