"""Khaos's M_R: recovery time over checkpoint interval, rate and, where it moves, scale-out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

import numpy as np

from penstock.core.models.estimate import NotReady
from penstock.core.models.recovery.forms import FORMS
from penstock.core.models.surrogate.points import points_of
from penstock.core.models.surrogate.study import LEAST_ROWS, MOST_SEEN, Studied, Study


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoverySeen:
    """One recovery: the interval and rate at which a fault struck, and how long until the newest row was reached again."""

    interval_s: float
    rate_rows_per_s: float
    recovery_s: float
    scaleout: int | None = None

    def __post_init__(self) -> None:
        if not (0 < self.interval_s < math.inf and 0 <= self.rate_rows_per_s < math.inf and 0 < self.recovery_s < math.inf):
            raise ValueError(f"a recovery needs a positive interval and duration and a rate of at least zero, all finite: {self}")
        if self.scaleout is not None and self.scaleout < 1:
            raise ValueError(f"a job that recovered had a worker: {self}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryRegression(Studied):
    """Recovery times learnt from recoveries (Khaos sec. III-D), by the form that best predicts intervals it has not seen.

    The paper's plane is one of the forms; the physical form, the physical form corrected by data, and regressions of the logarithm are improvements.

    >>> rows = [RecoverySeen(interval_s=i, rate_rows_per_s=r, recovery_s=60 + r * (i + 60) / (1000 - r)) for i in (10, 60, 120) for r in (200, 500, 800)]
    >>> model = RecoveryRegression().learn(rows)
    >>> answer = model.predict(60, 650)
    >>> abs(answer.value - 283) < 15
    True
    >>> model.inside(60, 650), model.inside(60, 900)
    (True, False)
    """

    seen: tuple[RecoverySeen, ...] = ()
    most_seen: int = MOST_SEEN
    rows: int = 0
    """How many it has learnt, those that it keeps no longer too."""

    def learn(self, seen: Sequence[RecoverySeen]) -> Self:
        return replace(self, seen=(*self.seen, *seen)[-self.most_seen :], rows=self.rows + len(seen))

    @property
    def study(self) -> Study | NotReady:
        return _study(self.seen)


@lru_cache(maxsize=4)
def _study(seen: tuple[RecoverySeen, ...]) -> Study | NotReady:
    if len(seen) < LEAST_ROWS:
        return NotReady(why=f"{len(seen)} recoveries seen, {LEAST_ROWS} needed")
    return Study(points_of(seen), np.array([each.recovery_s for each in seen], dtype=float), FORMS)
