"""Recovery from downtime, replay and spare capacity: parameters that mean something, fitted to recoveries that were seen."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.surrogate.parts import Axis, Prior, fit_parts
from penstock.core.models.surrogate.points import Points

HEADROOM = Axis(lowest=math.log(0.01), highest=math.log(30.0), values=8, width=2.0)
"""The logarithm of capacity over the largest load seen, less one: about one before anything is known."""

PAUSE_SHARE = Axis(lowest=0.0, highest=0.6, values=4, width=0.03)
"""Unless the data say otherwise, a checkpoint costs about this share of the shortest interval or less: longer intervals hardly show it."""

POWER = Axis(lowest=0.0, highest=1.5, values=4, centre=1.0, width=0.2)
"""The power of the scale-out in the capacity: about proportional."""

WHOLE_REPLAY, FREE_REPLAY = Prior(centre=1.0, width=1e-4), Prior(centre=1.0, width=0.25)
"""The share of the interval that is replayed: all of it, the worst case; or about that."""

NOTICED = Prior(share=0.1)
"""The time until the end of a recovery is noticed: about a tenth of the shortest recovery or less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhysicalRecovery:
    """r = D + TR * (f*CI + D) / (mu - TR) + e, mu = mu0 * s^p * (1 - c/CI): PAPER-NOTES, Khaos.

    D is the downtime, TR the rate, CI the checkpoint interval, f the share of it that is replayed (1: the fault strikes just before a commit),
    mu the capacity left by a pause c for each checkpoint, s the scale-out (p = 0: it does not matter), e the time until somebody notices that it is over.

    >>> job = PhysicalRecovery(downtime_s=110, capacity_rows_per_s=1000)
    >>> round(job.recovery_s(10, 510), 1), job.recovery_s(10, 1000)
    (234.9, inf)
    """

    downtime_s: float
    capacity_rows_per_s: float
    pause_s: float = 0.0
    replay: float = 1.0
    power: float = 0.0
    notice_s: float = 0.0

    def capacity_at(self, interval_s: float, scaleout: int | None = None) -> float:
        """Rows/s at this interval; zero where the pause is longer than the interval.

        >>> PhysicalRecovery(downtime_s=60, capacity_rows_per_s=1000, pause_s=2, power=1).capacity_at(10, scaleout=4)
        3200.0
        """
        return float(self.capacity_rows_per_s * (scaleout or 1) ** self.power * max(0.0, 1.0 - self.pause_s / interval_s))

    def recovery_s(self, interval_s: float, rate_rows_per_s: float, scaleout: int | None = None) -> float:
        """Seconds from the fault until the newest row is reached again; infinite when the rate takes all of the capacity."""
        spare = self.capacity_at(interval_s, scaleout) - rate_rows_per_s
        busy = rate_rows_per_s / spare if spare > 0 else math.inf
        return self.downtime_s + busy * (self.replay * interval_s + self.downtime_s) + self.notice_s if spare > 0 else math.inf

    def at(self, points: Points) -> Floats:
        """The recovery times of many points."""
        spare = self.capacity_rows_per_s * _share(points, self.pause_s, self.power) - points.rate
        busy = points.rate / np.where(spare > 0, spare, np.inf)
        return np.where(spare > 0, self.downtime_s + busy * (self.replay * points.interval_s + self.downtime_s) + self.notice_s, np.inf).clip(1e-9)

    @property
    def parameters(self) -> Mapping[str, float]:
        asked = {"replay": self.replay != 1.0, "power": self.power != 0.0, "notice_s": self.notice_s != 0.0}
        return {name: getattr(self, name) for name in self.__slots__ if asked.get(name, True)}


def fit_physical(points: Points, recovery_s: Floats, *, free_replay: bool = False) -> PhysicalRecovery:
    """Downtime, capacity and pause by robust least squares; the capacity exceeds every rate from which the job was seen to recover.

    With `free_replay` the share of the interval that is replayed is fitted too (faults at any moment of the interval replay half of it on average),
    and the time until the end is noticed. Where the scale-out moves, so is the power with which capacity grows with it; where it is known and does not,
    capacity is proportional to it.
    """
    priors = (Prior(), FREE_REPLAY, NOTICED) if free_replay else (Prior(), WHOLE_REPLAY)
    shortest, fixed_power = float(points.interval_s.min()), 0.0 if points.scaleout is None else 1.0

    def law(shapes: Floats) -> tuple[Floats, Floats, Floats]:
        """Capacity that leaves the headroom over the hardest row, so that none that was seen is infinite; pause; and power."""
        pause, power = shapes[:, 1:2] * shortest, shapes[:, 2:] if points.scaleout_moves else np.full((len(shapes), 1), fixed_power)
        hardest = (points.rate / _share(points, pause, power)).max(axis=1, keepdims=True)
        return (1.0 + np.exp(shapes[:, :1])) * np.maximum(hardest, 1e-9), pause, power

    def columns(shapes: Floats) -> Floats:
        capacity, pause, power = law(shapes)
        busy = points.rate / (capacity * _share(points, pause, power) - points.rate)
        return np.stack([1.0 + busy, busy * points.interval_s, np.ones_like(busy)][: len(priors)], axis=-1)

    shape, amounts = fit_parts(columns, recovery_s, priors, (HEADROOM, PAUSE_SHARE, POWER) if points.scaleout_moves else (HEADROOM, PAUSE_SHARE))
    capacity, pause, power = (float(each[0, 0]) for each in law(shape[None, :]))
    downtime, replay, notice = (float(each) for each in amounts) if free_replay else (float(amounts[0]), 1.0, 0.0)
    return PhysicalRecovery(downtime_s=downtime, capacity_rows_per_s=capacity, pause_s=pause, replay=replay, power=power, notice_s=notice)


def _share(points: Points, pause_s: float | Floats, power: float | Floats) -> Floats:
    sizes = 1.0 if points.scaleout is None else points.scaleout**power
    return np.asarray(np.maximum(1.0 - pause_s / points.interval_s, 0.0) * sizes, dtype=float)
