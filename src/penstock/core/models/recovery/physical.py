"""Recovery from downtime, replay and spare capacity: three parameters that mean something, fitted to recoveries that were seen."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penstock.core.models.surrogate.points import Floats, Mask, Points

NOISE = 0.1
"""A log error that is ordinary; larger ones count linearly, so that one recovery of three times the time does not bend the fit."""

PAUSE_SHARE_PRIOR = 0.03
"""Unless the data say otherwise, a checkpoint costs about this share of the shortest interval or less: longer intervals hardly show it."""

HEADROOM_PRIOR = 2.0
"""Spread of the logarithm of the headroom over the largest load seen, around a headroom of one."""

REPLAY_PRIOR = 0.25
"""Spread of the share of the interval that is replayed, around the worst case, the whole of it."""

POWER_PRIOR = 0.2
"""Spread of the power of the scale-out in the capacity, around proportional."""

LEAST_HEADROOM, MOST_HEADROOM = 0.005, 1000.0
MOST_PAUSE_SHARE = 0.9
MOST_EVALUATIONS = 40
ENOUGH = 1e-6
STEP = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class PhysicalRecovery:
    """r = D + TR * (f*CI + D) / (mu - TR), mu = mu0 * s^p * (1 - c/CI): PAPER-NOTES, Khaos.

    D is the downtime, TR the rate, CI the checkpoint interval, f the share of it that is replayed (1: the fault strikes just before a commit),
    mu the capacity left by a pause c for each checkpoint, s the scale-out (p = 0: it does not matter).

    >>> job = PhysicalRecovery(downtime_s=110, capacity_rows_per_s=1000)
    >>> round(job.recovery_s(10, 510), 1), job.recovery_s(10, 1000)
    (234.9, inf)
    """

    downtime_s: float
    capacity_rows_per_s: float
    pause_s: float = 0.0
    replay: float = 1.0
    power: float = 0.0

    def capacity_at(self, interval_s: float, scaleout: int | None = None) -> float:
        """Rows/s at this interval; zero where the pause is longer than the interval.

        >>> PhysicalRecovery(downtime_s=60, capacity_rows_per_s=1000, pause_s=2, power=1).capacity_at(10, scaleout=4)
        3200.0
        """
        return float(self.capacity_rows_per_s * (scaleout or 1) ** self.power * max(0.0, 1.0 - self.pause_s / interval_s))

    def recovery_s(self, interval_s: float, rate_rows_per_s: float, scaleout: int | None = None) -> float:
        """Seconds from the fault until the newest row is reached again; infinite when the rate takes all of the capacity."""
        spare = self.capacity_at(interval_s, scaleout) - rate_rows_per_s
        return self.downtime_s + rate_rows_per_s * (self.replay * interval_s + self.downtime_s) / spare if spare > 0 else math.inf

    def at(self, points: Points) -> Floats:
        """The recovery times of many points."""
        spare = self.capacity_rows_per_s * _share(points, self.pause_s, self.power) - points.rate
        behind = points.rate * (self.replay * points.interval_s + self.downtime_s)
        return np.where(spare > 0, self.downtime_s + behind / np.where(spare > 0, spare, 1.0), np.inf).clip(1e-9)

    @property
    def parameters(self) -> Mapping[str, float]:
        asked = {"replay": self.replay != 1.0, "power": self.power != 0.0}
        return {name: getattr(self, name) for name in self.__slots__ if asked.get(name, True)}


def fit_physical(points: Points, recovery_s: Floats, *, free_replay: bool = False) -> PhysicalRecovery:
    """Downtime, capacity and pause by robust least squares of the log error; the capacity exceeds every rate from which the job was seen to recover.

    With `free_replay` the share of the interval that is replayed is fitted too (faults at any moment of the interval replay half of it on average).
    Where the scale-out moves, so is the power with which capacity grows with it; where it is known and does not, capacity is proportional to it.
    """
    from scipy.optimize import least_squares

    space = _Space.of(points, recovery_s, free_replay)

    def misfit(chosen: Floats) -> Floats:
        values = space.whole(chosen)
        return np.concatenate([np.log(_recovery(values, points).clip(1e-9) / recovery_s), NOISE * space.doubts(values)], axis=-1)

    def slopes(chosen: Floats) -> Floats:
        steps = STEP * space.scale
        return ((misfit(chosen + np.diag(steps)) - misfit(chosen)) / steps[:, None]).T

    start = space.start(points, recovery_s)
    search = {"loss": "soft_l1", "f_scale": NOISE, "max_nfev": MOST_EVALUATIONS, "ftol": ENOUGH, "xtol": ENOUGH}
    found = least_squares(misfit, start, slopes, bounds=space.bounds, x_scale=space.scale, **search)
    values = space.whole(found.x)
    downtime, _, pause, replay, power = (float(value) for value in values)
    return PhysicalRecovery(downtime_s=downtime, capacity_rows_per_s=float(_capacity(values, points)), pause_s=pause, replay=replay, power=power)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Space:
    """Where the fit searches: downtime, log headroom over the hardest row, pause, replay and power; which are free, and what is thought of them before."""

    free: Mask
    fixed: Floats
    centre: Floats
    width: Floats
    lowest: Floats
    highest: Floats
    scales: Floats

    @classmethod
    def of(cls, points: Points, recovery_s: Floats, free_replay: bool) -> _Space:
        shortest, power = float(points.interval_s.min()), 0.0 if points.scaleout is None else 1.0
        return cls(
            free=np.array([True, True, True, free_replay, points.scaleout_moves]),
            fixed=np.array([0.0, 0.0, 0.0, 1.0, power]),
            centre=np.array([0.0, 0.0, 0.0, 1.0, 1.0]),
            width=np.array([np.inf, HEADROOM_PRIOR, PAUSE_SHARE_PRIOR * shortest, REPLAY_PRIOR, POWER_PRIOR]),
            lowest=np.array([0.0, math.log(LEAST_HEADROOM), 0.0, 0.0, 0.0]),
            highest=np.array([float(recovery_s.max()), math.log(MOST_HEADROOM), MOST_PAUSE_SHARE * shortest, 1.5, 1.5]),
            scales=np.array([float(np.median(recovery_s)) / 2, 1.0, shortest / 10, 0.3, 0.3]),
        )

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        return self.lowest[self.free], self.highest[self.free]

    @property
    def scale(self) -> Floats:
        return self.scales[self.free]

    def whole(self, chosen: Floats) -> Floats:
        """All five parameters, of one choice of the free ones or of a stack of choices."""
        values = np.broadcast_to(self.fixed, (*chosen.shape[:-1], 5)).copy()
        values[..., self.free] = chosen
        return values

    def doubts(self, values: Floats) -> Floats:
        return np.asarray(((values - self.centre) / self.width)[..., self.free], dtype=float)

    def start(self, points: Points, recovery_s: Floats) -> Floats:
        """The best of a coarse grid over headroom and pause, each with the downtime that is the median of what the rows then ask for."""
        grid = [(0.0, math.log(headroom), share * float(points.interval_s.min())) for headroom in (0.03, 0.1, 0.3, 1.0, 3.0, 10.0) for share in (0.01, 0.2)]
        values = np.column_stack([np.array(grid), np.tile(self.fixed[3:], (len(grid), 1))])
        replayed_s = _recovery(values, points)
        downtimes = np.median((recovery_s - replayed_s) / (1 + replayed_s / points.interval_s), axis=-1)
        values[:, 0] = np.maximum(downtimes, 0.05 * float(recovery_s.min()))
        best = values[np.abs(np.log(_recovery(values, points) / recovery_s)).sum(axis=-1).argmin()]
        inner = 1e-6 * (self.highest - self.lowest)
        return np.asarray(np.clip(best, self.lowest + inner, self.highest - inner)[self.free], dtype=float)


def _capacity(values: Floats, points: Points) -> Floats:
    """mu0 that leaves the headroom over the hardest row: by searching over headrooms, no row that was seen can become infinite."""
    hardest = (points.rate / _share(points, values[..., 2:3], values[..., 4:])).max(axis=-1)
    return np.asarray((1.0 + np.exp(values[..., 1])) * np.maximum(hardest, 1e-9), dtype=float)


def _share(points: Points, pause_s: float | Floats, power: float | Floats) -> Floats:
    sizes = 1.0 if points.scaleout is None else points.scaleout**power
    return np.asarray(np.maximum(1.0 - pause_s / points.interval_s, 0.0) * sizes, dtype=float)


def _recovery(values: Floats, points: Points) -> Floats:
    """Of one set of parameters or, row by row, of a stack of them."""
    downtime, pause, replay, power = (values[..., column : column + 1] for column in (0, 2, 3, 4))
    busy = points.rate / (_capacity(values, points)[..., None] * _share(points, pause, power) - points.rate)
    return np.asarray(downtime + busy * (replay * points.interval_s + downtime), dtype=float)
