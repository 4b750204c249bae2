"""The forms that a regression of recovery times chooses from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.recovery.physical import PhysicalRecovery, fit_physical
from penstock.core.models.surrogate.correction import Corrected
from penstock.core.models.surrogate.linear import LogLinear, Plane
from penstock.core.models.surrogate.points import Derived, Fitted, Form, Points


@dataclass(frozen=True, slots=True, kw_only=True)
class Physical:
    """Downtime, replay and spare capacity."""

    name: str = "physical"
    free_replay: bool = False

    def fit(self, points: Points, seen: Floats) -> PhysicalRecovery:
        return fit_physical(points, seen, free_replay=self.free_replay)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WithinCapacityFit:
    """A fit that is infinite where the rate takes more than the capacity of the physical form at any interval."""

    inner: Fitted
    physical: Fitted

    def at(self, points: Points) -> Floats:
        at_best = Points(interval_s=np.full(len(points), 1e12), rate=points.rate, scaleout=points.scaleout)
        return np.where(np.isfinite(self.physical.at(at_best)), self.inner.at(points), np.inf)

    @property
    def parameters(self) -> Mapping[str, float]:
        return self.inner.parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class WithinCapacity(Derived):
    """A regression that knows no capacity, with the capacity of the physical form beside it: beyond it no job recovers."""

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
"""The paper's plain regression first, then improvements on it."""
