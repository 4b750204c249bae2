"""All candidates together: how much each counts, and what they say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.forecast import calibrate, pool
from penstock.core.models.forecast.backtest import Backtest, continued
from penstock.core.models.forecast.candidate import Candidate, Parameters
from penstock.core.models.forecast.memory import Memory
from penstock.core.models.forecast.weights import weights_of

SMALLEST = 1e-9
"""The least spread in rows/s: that of a load of zero."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """Candidates, the naive one first, and their weights in that order, which add up to one."""

    candidates: tuple[Candidate, ...]
    fitted: Mapping[str, Parameters]
    weights: Floats

    @classmethod
    def of(cls, candidates: tuple[Candidate, ...], fitted: Mapping[str, Parameters], memory: Memory) -> Mixture:
        """Weighted by the losses remembered; a candidate that was not fitted has no weight."""
        found = weights_of(memory.losses, pool.beliefs(tuple(each.name for each in candidates if each.name in fitted)), memory.load, memory.horizons)
        return cls(candidates=candidates, fitted=fitted, weights=np.array([found.get(each.name, 0.0) for each in candidates]))

    def continued(self, windows: Floats, horizon: int) -> tuple[Floats, Floats]:
        """Mean path after each window, and its spread."""
        return self.together(continued(self.candidates, self.fitted, windows, horizon), windows)

    def together(self, paths: Floats, windows: Floats) -> tuple[Floats, Floats]:
        mean = np.einsum("c,ckh->kh", self.weights, paths)
        return mean, calibrate.spread(paths, self.weights, mean, windows)

    def scaled_errors(self, trial: Backtest, horizon: int) -> Floats:
        """Errors of the mean in units of its spread, at the leads that are remembered; NaN where the truth is still to come."""
        mean, spread = self.together(trial.paths, trial.windows)
        at = list(calibrate.leads(horizon))
        error, scale = (trial.truth - mean)[:, at], spread[:, at]
        return np.clip(error / np.maximum(scale, SMALLEST), -calibrate.FURTHEST, calibrate.FURTHEST)
