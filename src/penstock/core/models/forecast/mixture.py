"""The mixture of all candidates: what is remembered of their errors, the weights that follow, and the errors of the mixture itself."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.estimate import HIGH_LEVEL, LOW_LEVEL
from penstock.core.models.forecast import calibration, pool
from penstock.core.models.forecast.backtest import ORIGINS_A_HORIZON, Backtest, History, backtest, continued
from penstock.core.models.forecast.candidates import Candidate, Parameters
from penstock.core.models.forecast.refit import Fit, parameters_of

MEMORY_HORIZONS = 24
"""Losses decay to a third in this many horizons; six hours at 15 minutes."""
SMALLEST = 1e-9
"""The least spread in rows/s, for a load of zero."""
ERRORS_KEPT = 8 * ORIGINS_A_HORIZON
"""Errors of the last eight horizons: candidates learn, and their first errors say little about later ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Results at past origins; older ones decay."""

    at: int | None = None
    """Number of the bin after the newest one seen."""
    scored: int | None = None
    """Number of the newest origin included; its whole horizon has passed."""
    losses: dict[str, float] = field(default_factory=dict)
    """Sum of absolute errors by candidate."""
    load: float = 0.0
    """The sum of the truth, which losses are relative to."""
    horizons: float = 0.0
    """How many independent forecasts the losses stand for: origins closer than a horizon share one."""
    errors: tuple[tuple[float, ...], ...] = ()
    """Errors of the mixture in units of its spread, by origin and lead, the newest last."""
    stretch: float = 1.0
    """Factor on the log-odds of a quantile: below 1 where fewer errors than promised were outside of their bounds."""

    def faded(self, end: int, horizon: int) -> Self:
        """Return the memory decayed to the bin `end`.

        >>> Memory(at=0, losses={"naive": 1.0}, load=4.0).faded(90 * MEMORY_HORIZONS, 90).load.__round__(2)
        1.47
        """
        if self.at is None:
            return replace(self, at=end)
        share = math.exp((self.at - end) / (MEMORY_HORIZONS * horizon))
        losses = {name: loss * share for name, loss in self.losses.items()}
        return replace(self, at=end, losses=losses, load=self.load * share, horizons=self.horizons * share)

    def with_losses(self, candidates: Sequence[Candidate], trial: Backtest, counts: Floats, apart: float) -> Self:
        """Add the losses of a trial, each origin weighted by its count; origins are `apart` steps apart."""
        added = trial.losses() @ counts
        losses = {each.name: self.losses.get(each.name, 0.0) + float(loss) for each, loss in zip(candidates, added, strict=True)}
        tested = np.isfinite(trial.truth).sum(axis=1) / trial.truth.shape[1] ** 2
        return replace(self, losses=losses, load=self.load + float(trial.load() @ counts), horizons=self.horizons + apart * float(tested @ counts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """Candidates, the naive one first, and their normalised weights in that order."""

    candidates: tuple[Candidate, ...]
    fitted: Mapping[str, Parameters]
    weights: Floats

    def continued(self, windows: Floats, horizon: int) -> tuple[Floats, Floats]:
        """Return the mean path after each window, and its spread."""
        return self.together(continued(self.candidates, self.fitted, windows, horizon), windows)

    def together(self, paths: Floats, windows: Floats) -> tuple[Floats, Floats]:
        mean = np.einsum("c,ckh->kh", self.weights, paths)
        return mean, calibration.spread(paths, self.weights, mean, windows)

    def scaled_errors(self, trial: Backtest, horizon: int) -> Floats:
        """Return the errors of the mean in units of its spread at the leads remembered; NaN where the truth is not known yet."""
        mean, spread = self.together(trial.paths, trial.windows)
        at = list(calibration.leads(horizon))
        error, scale = (trial.truth - mean)[:, at], spread[:, at]
        return np.clip(error / np.maximum(scale, SMALLEST), -calibration.FURTHEST, calibration.FURTHEST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """The mixture of the candidates, and its scaled errors at the origins tested."""

    mixture: Mixture
    errors: Floats
    horizons_seen: float
    stretch: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Since:
    """The origins since the memory was updated, their trial (None without any), and the decayed memory without and with them."""

    origins: list[int]
    trial: Backtest | None
    past: Memory
    total: Memory
    fitted: dict[str, Parameters]

    def mixture(self, memory: Memory, horizon: int) -> Mixture:
        """Return the mixture weighted by the losses in a memory; candidates without a fit have no weight."""
        candidates = pool.cheap(horizon) + pool.SLOW
        beliefs = pool.beliefs(tuple(each.name for each in candidates if each.name in self.fitted))
        found = pool.weights_of(memory.losses, beliefs, memory.load, memory.horizons)
        return Mixture(candidates=candidates, fitted=self.fitted, weights=np.array([found.get(each.name, 0.0) for each in candidates]))


def tested(history: History, memory: Memory, fits: Mapping[str, Fit]) -> Tested:
    """Return the mixture weighted by the memory and by the origins since, whose horizon need not have passed, and its errors."""
    since = _since(history, memory, fits, history.soon)
    mixture, errors = since.mixture(since.total, history.horizon), _rows(memory.errors)
    if since.trial is not None:
        errors = np.concatenate([errors, mixture.scaled_errors(since.trial, history.horizon)])
    return Tested(mixture=mixture, errors=errors, horizons_seen=_horizons(errors, history), stretch=memory.stretch)


def remembered(history: History, memory: Memory, fits: Mapping[str, Fit]) -> Memory:
    """Return the memory with every origin added whose whole horizon has passed."""
    since = _since(history, memory, fits, history.horizon)
    if since.trial is None:
        return since.past
    before = since.mixture(since.past if since.past.losses else since.total, history.horizon)
    found = before.scaled_errors(since.trial, history.horizon)
    errors = memory.errors + tuple(tuple(float(f"{error:.4g}") for error in row) for row in found)
    return replace(since.total, scored=since.origins[-1], errors=errors[-ERRORS_KEPT:], stretch=_stretch(history, memory, found))


def _stretch(history: History, memory: Memory, found: Floats) -> float:
    """Return the stretch after new errors. Bounds come from errors before the last horizon, as those within it overlap with the new ones."""
    known = _rows(memory.errors)[:-ORIGINS_A_HORIZON]
    if len(known) < ORIGINS_A_HORIZON:
        return memory.stretch
    bounds = calibration.tails(known, (LOW_LEVEL, HIGH_LEVEL), _horizons(known, history), len(history.values) / history.horizon, memory.stretch)
    return calibration.stretched(memory.stretch, bounds, found)


def _rows(errors: tuple[tuple[float, ...], ...]) -> Floats:
    return np.array(errors).reshape(-1, len(calibration.LEAD_SHARES))


def _horizons(errors: Floats, history: History) -> float:
    return len(errors) * history.apart / history.horizon


def _since(history: History, memory: Memory, fits: Mapping[str, Fit], ahead: int) -> Since:
    """Test the candidates at the origins since the memory of which `ahead` steps are known."""
    candidates = pool.cheap(history.horizon) + pool.SLOW
    fitted = {**{each.name: {} for each in pool.cheap(history.horizon) if each.needs <= history.window}, **parameters_of(fits)}
    past, origins = memory.faded(history.end, history.horizon), history.origins(memory.scored, ahead)
    if not origins:
        return Since(origins=origins, trial=None, past=past, total=past, fitted=fitted)
    trial, counts = backtest(candidates, fitted, history, origins), np.exp((np.array(origins, float) - history.end) / (MEMORY_HORIZONS * history.horizon))
    return Since(origins=origins, trial=trial, past=past, total=past.with_losses(candidates, trial, counts, history.apart), fitted=fitted)
