"""All candidates tested on one history: how much each counts, and how wrong they are together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from penstock.core.models.forecast import calibrate, pool
from penstock.core.models.forecast.backtest import backtest
from penstock.core.models.forecast.candidate import Parameters
from penstock.core.models.forecast.fits import Fit
from penstock.core.models.forecast.history import History
from penstock.core.models.forecast.memory import Memory, counts_of
from penstock.core.models.forecast.mixture import Mixture
from penstock.core.models.forecast.series import Floats

ERRORS_KEPT = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """The mixture of the candidates, and its scaled errors at the origins tested."""

    mixture: Mixture
    errors: Floats
    horizons_seen: float


def tested(history: History, memory: Memory, fits: Mapping[str, Fit]) -> Tested:
    """By what is remembered and by the origins that came since, whose horizon may not have passed yet."""
    candidates, fitted = pool.cheap(history.horizon) + pool.SLOW, fitted_now(history, fits)
    past = memory.faded(history.end, history.horizon)
    errors = np.array(memory.errors).reshape(-1, len(calibrate.LEAD_SHARES))
    origins = history.origins(memory.scored, history.soon)
    if not origins:
        return Tested(mixture=Mixture.of(candidates, fitted, past), errors=errors, horizons_seen=_horizons(errors, history))
    trial, counts = backtest(candidates, fitted, history, origins), counts_of(origins, history.end, history.horizon)
    mixture = Mixture.of(candidates, fitted, past.with_losses(candidates, trial, counts, history.stride))
    errors = np.concatenate([errors, mixture.scaled_errors(trial, history.horizon)])
    return Tested(mixture=mixture, errors=errors, horizons_seen=_horizons(errors, history))


def remembered(history: History, memory: Memory, fits: Mapping[str, Fit]) -> Memory:
    """The memory with every origin added whose whole horizon has come."""
    past = memory.faded(history.end, history.horizon)
    origins = history.origins(memory.scored, history.horizon)
    if not origins:
        return past
    candidates, fitted = pool.cheap(history.horizon) + pool.SLOW, fitted_now(history, fits)
    trial, counts = backtest(candidates, fitted, history, origins), counts_of(origins, history.end, history.horizon)
    total = past.with_losses(candidates, trial, counts, history.stride)
    before = Mixture.of(candidates, fitted, past if past.losses else total)
    errors = tuple(tuple(round(float(error), 4) for error in row) for row in before.scaled_errors(trial, history.horizon))
    return replace(total, scored=origins[-1], errors=(memory.errors + errors)[-ERRORS_KEPT:])


def fitted_now(history: History, fits: Mapping[str, Fit]) -> dict[str, Parameters]:
    """Parameters of every candidate that can say something about this history."""
    ready: dict[str, Parameters] = {each.name: {} for each in pool.cheap(history.horizon) if each.needs <= history.window}
    return {**ready, **{name: fit.parameters for name, fit in fits.items() if fit.parameters is not None}}


def _horizons(errors: Floats, history: History) -> float:
    return len(errors) * history.stride / history.horizon
