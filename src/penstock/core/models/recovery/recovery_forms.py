"""Forms of recovery time over interval, rate and executors that a regression chooses from: a physical one, and regressions bounded by its capacity."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.surrogate.correction import Corrected
from penstock.core.models.surrogate.linear import LogLinear, Plane
from penstock.core.models.surrogate.parts import Axis, Prior, fit_parts
from penstock.core.models.surrogate.points import Derived, Fitted, Form, Points

HEADROOM = Axis(lowest=math.log(0.01), highest=math.log(30.0), values=8, width=2.0)
"""The logarithm of (capacity / largest load seen - 1)."""
PAUSE_SHARE = Axis(lowest=0.0, highest=0.6, values=4, width=0.03)
"""The pause of a checkpoint as a share of the shortest interval; a priori small, as longer intervals hardly show it."""
POWER = Axis(lowest=0.0, highest=1.5, values=4, centre=1.0, width=0.2)
"""The power of the number of executors in the capacity; a priori about proportional."""
WHOLE_INTERVAL, ABOUT_INTERVAL = Prior(centre=1.0, width=1e-4), Prior(centre=1.0, width=0.25)
"""The share of the interval that is replayed: all of it, the worst case; or about that."""
NOTICED = Prior(share=0.1)
"""The time until the end of a recovery is noticed: a priori about a tenth of the shortest recovery or less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhysicalRecovery:
    """r = D + TR * (f*CI + D) / (mu - TR) + e, mu = mu0 * s^p * (1 - c/CI): PAPER-NOTES, Khaos.

    D is the downtime, TR the rate, CI the checkpoint interval, f the share of it that is replayed (1: the fault strikes just before a commit),
    mu the capacity left by a pause c for each checkpoint, s the number of executors (p = 0: no effect), e the time until the end is noticed.

    >>> job = PhysicalRecovery(downtime_s=110, capacity_rows_per_s=1000)
    >>> job.at(Points(interval_s=np.array([10.0, 10.0]), rate=np.array([510.0, 1000.0]))).round(1).tolist()
    [234.9, inf]
    """

    downtime_s: float
    capacity_rows_per_s: float
    pause_s: float = 0.0
    replay: float = 1.0
    power: float = 0.0
    notice_s: float = 0.0

    def at(self, points: Points) -> Floats:
        """Return the seconds from the fault until the newest row is reached again; infinite where the rate takes all of the capacity."""
        spare = self.capacity_rows_per_s * _share(points, self.pause_s, self.power) - points.rate
        busy = points.rate / np.where(spare > 0, spare, np.inf)
        return np.where(spare > 0, self.downtime_s + busy * (self.replay * points.interval_s + self.downtime_s) + self.notice_s, np.inf).clip(1e-9)

    @property
    def parameters(self) -> Mapping[str, float]:
        asked = {"replay": self.replay != 1.0, "power": self.power != 0.0, "notice_s": self.notice_s != 0.0}
        return {name: getattr(self, name) for name in self.__slots__ if asked.get(name, True)}


def fit_physical(points: Points, recovery_s: Floats, *, free_replay: bool = False) -> PhysicalRecovery:
    """Fit downtime, capacity and pause by robust least squares; the capacity exceeds every rate from which the job was seen to recover.

    With `free_replay` the replayed share of the interval is fitted too (faults at any moment of the interval replay half of it on average), and the time
    until the end is noticed. Where executors vary, so is their power in the capacity; where they are known and constant, capacity is proportional to them.
    """
    priors = (Prior(), ABOUT_INTERVAL, NOTICED) if free_replay else (Prior(), WHOLE_INTERVAL)
    shortest, fixed_power = float(points.interval_s.min()), 0.0 if points.executors is None else 1.0

    def law(shapes: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the capacity, with the headroom over the highest load seen so that no seen recovery is infinite; the pause; and the power."""
        pause, power = shapes[:, 1:2] * shortest, shapes[:, 2:] if points.executors_vary else np.full((len(shapes), 1), fixed_power)
        hardest = (points.rate / _share(points, pause, power)).max(axis=1, keepdims=True)
        return (1.0 + np.exp(shapes[:, :1])) * np.maximum(hardest, 1e-9), pause, power

    def columns(shapes: Floats) -> Floats:
        capacity, pause, power = law(shapes)
        busy = points.rate / (capacity * _share(points, pause, power) - points.rate)
        return np.stack([1.0 + busy, busy * points.interval_s, np.ones_like(busy)][: len(priors)], axis=-1)

    shape, amounts = fit_parts(columns, recovery_s, priors, (HEADROOM, PAUSE_SHARE, POWER) if points.executors_vary else (HEADROOM, PAUSE_SHARE))
    capacity, pause, power = (float(each[0, 0]) for each in law(shape[None, :]))
    downtime, replay, notice = (float(each) for each in amounts) if free_replay else (float(amounts[0]), 1.0, 0.0)
    return PhysicalRecovery(downtime_s=downtime, capacity_rows_per_s=capacity, pause_s=pause, replay=replay, power=power, notice_s=notice)


def _share(points: Points, pause_s: float | Floats, power: float | Floats) -> Floats:
    """Return the capacity at each point over that of one executor without pauses."""
    scaled = 1.0 if points.executors is None else points.executors**power
    return np.asarray(np.maximum(1.0 - pause_s / points.interval_s, 0.0) * scaled, dtype=float)


@dataclass(frozen=True, slots=True, kw_only=True)
class Physical:
    """The form of `PhysicalRecovery`."""

    name: str = "physical"
    free_replay: bool = False

    def fit(self, points: Points, seen: Floats) -> PhysicalRecovery:
        return fit_physical(points, seen, free_replay=self.free_replay)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WithinCapacityFit:
    """A fit that is infinite where the rate exceeds the capacity of the physical form at any interval."""

    inner: Fitted
    physical: Fitted

    def at(self, points: Points) -> Floats:
        at_best = Points(interval_s=np.full(len(points), 1e12), rate=points.rate, executors=points.executors)
        return np.where(np.isfinite(self.physical.at(at_best)), self.inner.at(points), np.inf)

    @property
    def parameters(self) -> Mapping[str, float]:
        return self.inner.parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class WithinCapacity(Derived):
    """A regression without a capacity of its own, made infinite beyond that of the physical form."""

    inner: Form
    base: Form = Physical()

    @property
    def name(self) -> str:
        return self.inner.name

    def derive(self, base: Fitted, points: Points, seen: Floats) -> WithinCapacityFit:
        return WithinCapacityFit(inner=self.inner.fit(points, seen), physical=base)


PHYSICAL = Physical()
FREE_REPLAY = Physical(name="physical, free replay", free_replay=True)
LOG_INTERACTION = WithinCapacity(inner=LogLinear(name="log interaction", scale="log"))
EXPONENTIAL = WithinCapacity(inner=LogLinear(name="exponential interaction", scale="plain"))

FORMS: tuple[Form, ...] = (
    WithinCapacity(inner=Plane()),
    PHYSICAL,
    FREE_REPLAY,
    LOG_INTERACTION,
    EXPONENTIAL,
    Corrected(base=PHYSICAL),
    Corrected(base=FREE_REPLAY),
    Corrected(base=LOG_INTERACTION),
    Corrected(base=EXPONENTIAL),
)
"""The plane of the paper first, then improvements on it."""
