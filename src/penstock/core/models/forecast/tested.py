"""All candidates tested on one history: how much each counts, and how wrong they are together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.estimate import HIGH_LEVEL, LOW_LEVEL
from penstock.core.models.forecast import calibrate, pool
from penstock.core.models.forecast.backtest import Backtest, backtest
from penstock.core.models.forecast.candidate import Parameters
from penstock.core.models.forecast.fits import Fit
from penstock.core.models.forecast.history import ORIGINS_A_HORIZON, History
from penstock.core.models.forecast.memory import Memory, counts_of
from penstock.core.models.forecast.mixture import Mixture

ERRORS_KEPT = 8 * ORIGINS_A_HORIZON
"""Those of eight horizons: forecasters learn, and what they got wrong at first says little of them later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """The mixture of the candidates, and its scaled errors at the origins tested."""

    mixture: Mixture
    errors: Floats
    horizons_seen: float
    stretch: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Since:
    """The origins that came since the memory: none, or their trial; the memory as it counts now, without and with them."""

    origins: list[int]
    trial: Backtest | None
    past: Memory
    total: Memory
    fitted: dict[str, Parameters]

    def mixture(self, memory: Memory, horizon: int) -> Mixture:
        return Mixture.of(pool.cheap(horizon) + pool.SLOW, self.fitted, memory)


def tested(history: History, memory: Memory, fits: Mapping[str, Fit]) -> Tested:
    """By what is remembered and by the origins that came since, whose horizon may not have passed yet."""
    since = _since(history, memory, fits, history.soon)
    mixture, errors = since.mixture(since.total, history.horizon), _rows(memory.errors)
    if since.trial is not None:
        errors = np.concatenate([errors, mixture.scaled_errors(since.trial, history.horizon)])
    return Tested(mixture=mixture, errors=errors, horizons_seen=_horizons(errors, history), stretch=memory.stretch)


def remembered(history: History, memory: Memory, fits: Mapping[str, Fit]) -> Memory:
    """The memory with every origin added whose whole horizon has come."""
    since = _since(history, memory, fits, history.horizon)
    if since.trial is None:
        return since.past
    before = since.mixture(since.past if since.past.losses else since.total, history.horizon)
    found = before.scaled_errors(since.trial, history.horizon)
    errors = memory.errors + tuple(tuple(float(f"{error:.4g}") for error in row) for row in found)
    return replace(since.total, scored=since.origins[-1], errors=errors[-ERRORS_KEPT:], stretch=_stretch(history, memory, found))


def _stretch(history: History, memory: Memory, found: Floats) -> float:
    """That of the memory after errors of which it knew nothing: those of its last horizon overlap with them."""
    known = _rows(memory.errors)[:-ORIGINS_A_HORIZON]
    if len(known) < ORIGINS_A_HORIZON:
        return memory.stretch
    bounds = calibrate.tails(known, (LOW_LEVEL, HIGH_LEVEL), _horizons(known, history), len(history.values) / history.horizon, memory.stretch)
    return calibrate.stretched(memory.stretch, bounds, found)


def _rows(errors: tuple[tuple[float, ...], ...]) -> Floats:
    return np.array(errors).reshape(-1, len(calibrate.LEAD_SHARES))


def _horizons(errors: Floats, history: History) -> float:
    return len(errors) * history.apart / history.horizon


def fitted_now(history: History, fits: Mapping[str, Fit]) -> dict[str, Parameters]:
    """Parameters of every candidate that can say something about this history."""
    ready: dict[str, Parameters] = {each.name: {} for each in pool.cheap(history.horizon) if each.needs <= history.window}
    return {**ready, **{name: fit.parameters for name, fit in fits.items() if fit.parameters is not None}}


def _since(history: History, memory: Memory, fits: Mapping[str, Fit], ahead: int) -> Since:
    """The origins since the memory of which `ahead` steps have come, tried."""
    candidates, fitted = pool.cheap(history.horizon) + pool.SLOW, fitted_now(history, fits)
    past, origins = memory.faded(history.end, history.horizon), history.origins(memory.scored, ahead)
    if not origins:
        return Since(origins=origins, trial=None, past=past, total=past, fitted=fitted)
    trial, counts = backtest(candidates, fitted, history, origins), counts_of(origins, history.end, history.horizon)
    return Since(origins=origins, trial=trial, past=past, total=past.with_losses(candidates, trial, counts, history.apart), fitted=fitted)
