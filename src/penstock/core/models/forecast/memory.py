"""How all forecasters did so far: cheap to bring up to date, and all that remains of a past that is no longer in the series."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.forecast.backtest import Backtest
from penstock.core.models.forecast.candidate import Candidate

MEMORY_HORIZONS = 24
"""Horizons after which a loss counts for a third; six hours at 15 minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What was found at origins of the past; it fades, so that the last hours count most."""

    at: int | None = None
    """Number of the bin after the newest one seen."""
    scored: int | None = None
    """Number of the newest origin in it, whose whole horizon has come."""
    losses: dict[str, float] = field(default_factory=dict)
    """Absolute errors by candidate, summed up."""
    load: float = 0.0
    """What the losses are measured against: the sum of the truth."""
    horizons: float = 0.0
    """How many independent forecasts the losses are of: origins closer than a horizon share one."""
    errors: tuple[tuple[float, ...], ...] = ()
    """Errors of the combination in units of its spread, by origin and lead, the newest last."""
    stretch: float = 1.0
    """Factor on the log-odds of a quantile: below 1 where fewer than the promised share of errors came outside of their bounds."""

    def faded(self, end: int, horizon: int) -> Memory:
        """The same as it counts at the bin `end`.

        >>> Memory(at=0, losses={"naive": 1.0}, load=4.0).faded(90 * MEMORY_HORIZONS, 90).load.__round__(2)
        1.47
        """
        if self.at is None:
            return replace(self, at=end)
        share = math.exp((self.at - end) / (MEMORY_HORIZONS * horizon))
        losses = {name: loss * share for name, loss in self.losses.items()}
        return replace(self, at=end, losses=losses, load=self.load * share, horizons=self.horizons * share)

    def with_losses(self, candidates: Sequence[Candidate], trial: Backtest, counts: Floats, apart: float) -> Memory:
        """Add the losses of a trial, each origin weighted by its count; origins are `apart` steps apart."""
        added = trial.losses() @ counts
        losses = {each.name: self.losses.get(each.name, 0.0) + float(loss) for each, loss in zip(candidates, added, strict=True)}
        tested = np.isfinite(trial.truth).sum(axis=1) / trial.truth.shape[1] ** 2
        return replace(self, losses=losses, load=self.load + float(trial.load() @ counts), horizons=self.horizons + apart * float(tested @ counts))


def counts_of(origins: Sequence[int], end: int, horizon: int) -> Floats:
    """The weight of each origin's result as seen from bin `end`; it decays exponentially with age."""
    return np.asarray(np.exp((np.asarray(origins, dtype=float) - end) / (MEMORY_HORIZONS * horizon)))
