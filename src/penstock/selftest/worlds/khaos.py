"""Generated recoveries and latencies as Khaos profiles them: intervals of 10 to 120 s, about twelve rates each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from penstock.core.models.latency.latency_regression import LatencySeen
from penstock.core.models.recovery.recovery_regression import RecoverySeen

INTERVALS_S = (10.0, 30.0, 60.0, 90.0, 120.0)
RATES = 12
NOISY, QUIET = 0.1, 0.05
"""Relative noise of a measurement: as in the vehicle and the advertisement data of Khaos's paper."""

Truth = Callable[[float, int, float], float]
"""From interval, number of the rate and utilisation to one noisy measurement."""


@dataclass(frozen=True, kw_only=True)
class Job:
    downtime_s: float
    capacity: float
    pause_s: float
    lowest: float
    highest: float

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> Self:
        return cls(
            downtime_s=rng.uniform(40, 80),
            capacity=10 ** rng.uniform(3, 5),
            pause_s=rng.uniform(0.2, 1.5),
            lowest=rng.uniform(0.1, 0.3),
            highest=rng.uniform(0.55, 0.75),
        )

    def points(self, rng: np.random.Generator, intervals_s: Sequence[float], rates: int) -> list[tuple[float, int, float]]:
        """Return interval, number of the failure and utilisation of each measurement."""
        shares = np.linspace(self.lowest, self.highest, rates)
        return [(interval, number, float(share * rng.normal(1, 0.02))) for interval in intervals_s for number, share in enumerate(shares)]


def physical(job: Job, interval_s: float, u: float, replay: float = 1.0, downtime_s: float | None = None) -> float:
    downtime = job.downtime_s if downtime_s is None else downtime_s
    left = 1 - job.pause_s / interval_s
    return downtime + u * (replay * interval_s + downtime) / (left - u)


def worst_case(job: Job, rng: np.random.Generator, noise: float) -> Truth:
    return lambda interval, _, u: physical(job, interval, u) * rng.lognormal(0, noise)


def any_moment(job: Job, rng: np.random.Generator, noise: float) -> Truth:
    """Faults strike within the last half of the interval; downtime varies."""
    return lambda interval, _, u: physical(job, interval, u, rng.uniform(0.5, 1), job.downtime_s * rng.lognormal(0, noise)) * rng.lognormal(0, noise / 2)


def shared_moments(job: Job, rng: np.random.Generator, noise: float) -> Truth:
    """The load rises or falls after each failure, in the same way for all intervals."""
    trends = rng.normal(1, 0.6 * noise, RATES)
    return lambda interval, number, u: physical(job, interval, min(u * trends[number], 0.8)) * rng.lognormal(0, 0.7 * noise)


def bent(job: Job, rng: np.random.Generator, noise: float) -> Truth:
    """No form has this exactly: an extra curve in the rate, a time to notice the end, saturation of the replay."""
    return lambda interval, _, u: (physical(job, 100 * (1 - np.exp(-interval / 100)) + 5, u) * (1 + 0.5 * (u - 0.4) ** 2) + 15) * rng.lognormal(0, noise)


def quadratic(job: Job, rng: np.random.Generator, noise: float) -> Truth:
    """No form has this exactly: recovery grows with the square of the rate and knows no capacity; state to restore grows with the rate."""
    restore, replay = rng.uniform(0.3, 0.8), rng.uniform(0.8, 1.6)
    return lambda interval, _, u: (job.downtime_s * (1 + restore * u) + (replay * interval + 150) * u**2 + 0.3 * interval) * rng.lognormal(0, noise)


def noticed(job: Job, rng: np.random.Generator, noise: float) -> Truth:
    """A time-out before anything happens, ten readings until the end is recognised, and readings 5 s apart."""
    late = rng.uniform(20, 50)
    return lambda interval, _, u: 5 * np.ceil((physical(job, interval, u, downtime_s=job.downtime_s / 2) + late) * rng.lognormal(0, noise) / 5)


def outlying(job: Job, rng: np.random.Generator, noise: float) -> Truth:
    """One recovery in twenty takes two to three times as long."""
    return lambda interval, _, u: physical(job, interval, u) * rng.lognormal(0, 0.8 * noise) * (rng.uniform(2, 3) if rng.random() < 0.05 else 1)


RECOVERIES = {each.__name__: each for each in (worst_case, any_moment, shared_moments, bent, quadratic, noticed, outlying)}


def recoveries(kind: str, seed: int, *, noise: float = NOISY, intervals_s: Sequence[float] = INTERVALS_S, rates: int = RATES) -> list[RecoverySeen]:
    rng = np.random.default_rng(seed)
    job = Job.drawn(rng)
    recovery = RECOVERIES[kind](job, rng, noise)
    return [
        RecoverySeen(interval_s=interval, rate_rows_per_s=u * job.capacity, recovery_s=float(recovery(interval, number, u)))
        for interval, number, u in job.points(rng, intervals_s, rates)
    ]


def mean_pauses(rng: np.random.Generator, noise: float) -> Truth:
    base, queue, pause = rng.uniform(0.35, 0.5), rng.uniform(0.03, 0.15), rng.uniform(1, 4)
    return lambda interval, _, u: (base + queue * u / (1 - u) + pause / interval / (1 - u) / 2) * rng.lognormal(0, noise)


def tail_pauses(rng: np.random.Generator, noise: float) -> Truth:
    base, queue, fall = rng.uniform(0.5, 0.8), rng.uniform(0.05, 0.2), rng.uniform(0.5e-3, 2e-3)
    return lambda interval, _, u: (base + queue * u - fall * interval) * rng.lognormal(0, noise)


def shaken(rng: np.random.Generator, noise: float) -> Truth:
    """Each moment has a random factor that all intervals share, and the decrease with the interval levels off."""
    base, rise, pause, weather = rng.uniform(0.4, 0.6), rng.uniform(0.2, 0.6), rng.uniform(0.1, 0.5), rng.lognormal(0, 0.7 * noise, RATES)
    return lambda interval, number, u: base * (1 + rise * u + pause * np.exp(-interval / 30)) * weather[number] * rng.lognormal(0, noise)


def hockey_stick(rng: np.random.Generator, noise: float) -> Truth:
    """Flat until the job is half busy at a short interval, later at a long one; then it rises fast."""
    base, rise = rng.uniform(0.4, 0.7), rng.uniform(3, 8)
    return lambda interval, _, u: base * (1 + rise * max(0.0, u / (1 - 1 / interval) - 0.5) ** 1.5) * rng.lognormal(0, noise)


LATENCIES = {each.__name__: each for each in (mean_pauses, tail_pauses, shaken, hockey_stick)}


def latencies(kind: str, seed: int, *, noise: float = NOISY, intervals_s: Sequence[float] = INTERVALS_S, rates: int = RATES) -> list[LatencySeen]:
    rng = np.random.default_rng(seed)
    job = Job.drawn(rng)
    latency = LATENCIES[kind](rng, noise)
    return [
        LatencySeen(interval_s=interval, rate_rows_per_s=u * job.capacity, latency_s=float(latency(interval, number, u)))
        for interval, number, u in job.points(rng, intervals_s, rates)
    ]
