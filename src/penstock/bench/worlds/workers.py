"""Readings of workers with a known truth: a load that rises, split unevenly, seen through noise."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.core.models.capacity.readings import WorkerReading, WorkersReading

PERIOD_S = 15.0


@dataclass(frozen=True, kw_only=True)
class Workers:
    """Worker w is at utilisation idle + (1 - idle) * proportion_w * load, where load 1 is the capacity: the busiest at 1."""

    proportions: tuple[float, ...]
    speeds: tuple[float, ...]
    idle: float = 0.02
    utilization_noise: float = 0.03
    throughput_noise: float = 0.04

    @property
    def capacity(self) -> float:
        return sum(speed * proportion for speed, proportion in zip(self.speeds, self.proportions, strict=True))

    def reading(self, chance: random.Random, at_s: float, load: float) -> WorkersReading:
        def worker(index: int) -> WorkerReading:
            share = self.proportions[index] * load
            return WorkerReading(
                worker=f"{index:02d}",
                utilization=max(0.0, self.idle + (1.0 - self.idle) * share + chance.gauss(0.0, self.utilization_noise)),
                throughput_rows_per_s=max(0.0, self.speeds[index] * share * (1.0 + chance.gauss(0.0, self.throughput_noise))),
            )

        workers = tuple(worker(index) for index in range(len(self.proportions)))
        return WorkersReading(at_s=at_s, scaleout=len(workers), since_change_s=at_s + 60.0, workers=workers)

    def ramp(self, chance: random.Random, loads: Sequence[float]) -> list[WorkersReading]:
        return [self.reading(chance, PERIOD_S * index, load) for index, load in enumerate(loads)]


def skewed(chance: random.Random, workers: int = 12, /, **settings: float) -> Workers:
    """The busiest at 1, the others down to 0.6 of it; speeds within 10 %."""
    proportions = [1.0, *(chance.uniform(0.6, 1.0) for _ in range(workers - 1))]
    return Workers(proportions=tuple(proportions), speeds=tuple(chance.uniform(45_000.0, 55_000.0) for _ in range(workers)), **settings)


def rising(start: float, end: float, steps: int) -> list[float]:
    return [start + (end - start) * step / (steps - 1) for step in range(steps)]
