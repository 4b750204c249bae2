"""Generated readings of executors with a known capacity: a changing load, skew and noise."""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from penstock.core.models.capacity.executor_use import ExecutorUse, ExecutorUses

PERIOD_S = 15.0


@dataclass(frozen=True, kw_only=True)
class UnevenExecutors:
    """Executor w is at utilisation idle + (1 - idle) * proportion_w * load; at load 1, the capacity, the busiest is at 1.

    Noise of utilisation has a time constant of `noise_lasts_s`. The cost of a row grows by the factor `dearer` from the first reading to the last.
    `idles` gives each executor its own idle utilisation. Executors start twice as busy as later, and warm up until `warm_after_s`.
    """

    proportions: tuple[float, ...]
    speeds: tuple[float, ...]
    idle: float = 0.02
    utilization_noise: float = 0.03
    throughput_noise: float = 0.04
    noise_lasts_s: float = 0.0
    dearer: float = 1.0
    idles: tuple[float, ...] = ()
    warm_after_s: float = 0.0

    @property
    def capacity(self) -> float:
        """The capacity at the end."""
        return sum(speed * proportion for speed, proportion in zip(self.speeds, self.proportions, strict=True)) / self.dearer

    def ramp(self, chance: random.Random, loads: Sequence[float], period_s: float = PERIOD_S) -> list[ExecutorUses]:
        """Return one reading for each load."""
        kept = math.exp(-period_s / self.noise_lasts_s) if self.noise_lasts_s > 0.0 else 0.0
        off = [chance.gauss(0.0, self.utilization_noise) for _ in self.proportions]
        readings = []
        for index, load in enumerate(loads):
            off = [kept * each + chance.gauss(0.0, self.utilization_noise * math.sqrt(1.0 - kept * kept)) for each in off]
            cost = self.dearer ** (index / max(1, len(loads) - 1))
            times = 2.0 - period_s * index / self.warm_after_s if period_s * index < self.warm_after_s else 1.0
            uses = tuple(self._executor(chance, number, load, cost, noise, times) for number, noise in enumerate(off))
            readings.append(ExecutorUses(at_s=period_s * index, executors=len(uses), since_change_s=period_s * index + 60.0, uses=uses))
        return readings

    def _executor(self, chance: random.Random, number: int, load: float, cost: float, off: float, times: float) -> ExecutorUse:
        share, idle = self.proportions[number] * load, self.idles[number] if self.idles else self.idle
        return ExecutorUse(
            executor=f"{number:02d}",
            utilization=max(0.0, times * (idle + (1.0 - idle) * share) + off),
            throughput_rows_per_s=max(0.0, self.speeds[number] / cost * share * (1.0 + chance.gauss(0.0, self.throughput_noise))),
        )


def skewed(chance: random.Random, executors: int = 12, /, **settings: float) -> UnevenExecutors:
    """Return executors with the busiest at 1, the others down to 0.6, and speeds within 10 %."""
    proportions = [1.0, *(chance.uniform(0.6, 1.0) for _ in range(executors - 1))]
    return UnevenExecutors(proportions=tuple(proportions), speeds=tuple(chance.uniform(45_000.0, 55_000.0) for _ in range(executors)), idles=(), **settings)


def rising(start: float, end: float, steps: int) -> list[float]:
    return [start + (end - start) * step / (steps - 1) for step in range(steps)]


def waving(low: float, high: float, steps: int, waves: float = 2.0) -> list[float]:
    """Return a sine that begins at its lowest."""
    return [low + (high - low) * (0.5 - 0.5 * math.cos(2.0 * math.pi * waves * step / steps)) for step in range(steps)]


LOADS: Mapping[str, Callable[[int], list[float]]] = {
    "rising": lambda steps: rising(0.1, 1.0, steps),
    "a sine": lambda steps: waving(0.15, 1.0, steps),
    "never above a half": lambda steps: waving(0.25, 0.45, steps),
    "flat": lambda steps: rising(0.44, 0.46, steps),
}
"""Functions from a number of readings to loads as shares of the capacity."""
