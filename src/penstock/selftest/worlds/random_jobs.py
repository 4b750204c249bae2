"""Random jobs in micro-batches whose capacity is known: any overhead, trigger and size, with skew, noise, drift and contention."""

import math
import random
from dataclasses import dataclass, replace

import numpy as np

from penstock.core.domain.cadence import Cadence
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.trigger import Trigger
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.simulator.engine_settings import Contention, MicroBatchSettings

STEP_S = 5.0
MOST_EXECUTORS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomJob:
    """A job that runs for `length_s`, with a load that stays below its capacity."""

    settings: MicroBatchSettings
    promises: Promises
    executors: int
    load: Arrivals
    length_s: float
    seed: int

    @property
    def cadence(self) -> Cadence:
        return self.settings.cadence(self.promises)

    def capacity_rows_per_s(self, executors: int) -> float:
        """Return the true capacity at the end of the run, without contention."""
        grown = 1.0 + self.settings.drift_per_hour * self.length_s / 3600.0
        return replace(self.settings.law, row_s=self.settings.row_s * grown).capacity_rows_per_s(executors, self.cadence)

    @property
    def unseen(self) -> tuple[int, ...]:
        """Half as many and twice as many executors."""
        return tuple(sorted({max(1, self.executors // 2), min(MOST_EXECUTORS, 2 * self.executors)} - {self.executors}))


def random_job(seed: int, length_s: float = 600.0) -> RandomJob:
    """Return the job of a seed."""
    chance = random.Random(seed)
    overhead_s, executors, cores = _between(chance, 0.1, 5.0), round(_between(chance, 1.0, MOST_EXECUTORS)), chance.choice((1, 2, 4))
    interval_s = 0.0 if chance.random() < 0.2 else round(_between(chance, 0.5, 30.0), 1)
    settings = MicroBatchSettings(
        overhead_s=overhead_s, row_s=_between(chance, 1e-5, 1e-2), partitions=max(2, round(executors * cores * chance.uniform(0.5, 3.0))),
        cores_per_executor=cores, trigger=Trigger(interval_s=interval_s), skew=chance.uniform(1.0, 2.0), noise=chance.uniform(0.0, 0.3),
        drift_per_hour=chance.uniform(-0.3, 0.5) if chance.random() < 0.5 else 0.0,
        contention=_contention(chance, length_s) if chance.random() < 0.5 else (),
    )  # fmt: skip
    promises = Promises(latency_p95_s=_latency_s(interval_s, overhead_s * chance.uniform(1.5, 6.0))) if chance.random() < 0.5 else Promises()
    most = settings.law.capacity_rows_per_s(executors, settings.cadence(promises))
    middle, swing, period_s, phase = chance.uniform(0.3, 0.6), chance.uniform(0.1, 0.25), _between(chance, 200.0, 1800.0), chance.uniform(0.0, 2 * math.pi)
    times_s = np.arange(0.0, length_s + STEP_S, STEP_S)
    rates = [most * max(0.05, middle + swing * math.sin(2 * math.pi * at_s / period_s + phase) + chance.gauss(0.0, 0.02)) for at_s in times_s]
    return RandomJob(settings=settings, promises=promises, executors=executors, load=Arrivals.through(times_s, np.array(rates)), length_s=length_s, seed=seed)


def _between(chance: random.Random, low: float, high: float) -> float:
    """Return a number whose logarithm is uniform."""
    return math.exp(chance.uniform(math.log(low), math.log(high)))


def _latency_s(interval_s: float, longest_s: float) -> float:
    """Return the promise that allows batches of this length."""
    return Cadence(interval_s=interval_s, longest_s=longest_s).latency_s


def _contention(chance: random.Random, length_s: float) -> tuple[Contention, ...]:
    """Return one or two episodes, which do not overlap; the last one may last to the end."""
    found, at_s = [], chance.uniform(0.0, 0.4 * length_s)
    for _ in range(chance.choice((1, 2))):
        until_s = at_s + chance.uniform(30.0, 0.3 * length_s)
        found.append(Contention(from_s=at_s, until_s=until_s, share=chance.uniform(0.1, 0.6)))
        at_s = until_s + chance.uniform(30.0, 0.3 * length_s)
    return tuple(found)
