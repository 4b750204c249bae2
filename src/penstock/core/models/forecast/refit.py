"""The slow part of forecasting: fits of the models that need one, and the memory of how all did."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.core.models.forecast import pool
from penstock.core.models.forecast.arima import Arima
from penstock.core.models.forecast.backtest import Backtest, backtest
from penstock.core.models.forecast.candidate import Candidate, Parameters
from penstock.core.models.forecast.fits import Fits
from penstock.core.models.forecast.tested import History, faded, fitted_now, remembered, scaled_errors, weighed

BAD_WAPE = 0.25
BAD_IN_A_ROW = 15
"""A slow model is fitted anew after this many forecasts in a row with a WAPE above BAD_WAPE (Daedalus sec. 3.3), or when nothing it saw is left."""
ERRORS_KEPT = 240


def refitted(history: History, fits: Fits | None) -> Fits:
    """Scores the origins whose horizon has passed since `fits`, with the parameters used then, and fits what is due anew."""
    if fits is None:
        parameters, fitted_at = _fitted(history, None)
        return _scored(history, Fits(at=history.end, scored=history.end - len(history.values), parameters=parameters, fitted_at=fitted_at))
    scored = _scored(history, fits)
    parameters, fitted_at = _fitted(history, scored)
    bad = scored.bad_in_a_row if fitted_at.get(Arima().name) == fits.fitted_at.get(Arima().name) else 0
    return replace(scored, parameters=parameters, fitted_at=fitted_at, bad_in_a_row=bad)


def _fitted(history: History, fits: Fits | None) -> tuple[dict[str, Parameters], dict[str, int]]:
    """Parameters of the candidates that need a fit, those that are due anew, and when each was fitted."""
    parameters, fitted_at = dict(fits.parameters) if fits else {}, dict(fits.fitted_at) if fits else {}
    for each in pool.SLOW:
        if each.needs <= history.window and _due(each, history, fits):
            found = _found(each, history)
            parameters.pop(each.name, None)
            if found is not None:
                parameters[each.name] = found
            fitted_at[each.name] = history.end
    return parameters, fitted_at


def _found(candidate: Candidate, history: History) -> Parameters | None:
    """A fit that fails on its numbers leaves the candidate without a word, not the loop without a forecast."""
    try:
        found = candidate.fit(history.latest)
    except Exception:  # statsforecast raises bare exceptions where a history is too short or too even
        return None
    return found if found is None or all(np.isfinite(value) for value in found.values()) else None


def _due(candidate: Candidate, history: History, fits: Fits | None) -> bool:
    if fits is None or candidate.name not in fits.fitted_at or not isinstance(candidate, Arima):
        return True
    return history.end - fits.fitted_at[candidate.name] >= len(history.latest) or fits.bad_in_a_row >= BAD_IN_A_ROW


def _scored(history: History, fits: Fits) -> Fits:
    """The memory with every origin added whose whole horizon has come."""
    losses, load = remembered(history, fits)
    origins = history.origins(fits.scored, history.horizon)
    if not origins:
        return replace(fits, at=history.end, losses=losses, load=load)
    candidates, fitted = pool.cheap(history.horizon) + pool.SLOW, fitted_now(history, fits)
    trial = backtest(candidates, fitted, history.values, [each - history.end + len(history.values) for each in origins], history.window, history.horizon)
    added, load_added = faded(history, origins, trial)
    total = {name: losses.get(name, 0.0) + loss for name, loss in added.items()}
    weights = weighed(candidates, fitted, losses if losses else total, load if losses else load_added)
    errors = tuple(tuple(round(float(error), 4) for error in row) for row in scaled_errors(history, origins, trial, weights))
    return replace(
        fits,
        at=history.end,
        scored=origins[-1],
        losses=total,
        load=load + load_added,
        errors=(fits.errors + errors)[-ERRORS_KEPT:],
        bad_in_a_row=_bad_in_a_row(trial, fits.bad_in_a_row),
    )


def _bad_in_a_row(trial: Backtest, before: int) -> int:
    loss, load = trial.losses()[trial.names.index(Arima().name)], np.sum(trial.truth, axis=1)
    count = before
    for bad in loss > BAD_WAPE * load:
        count = count + 1 if bad else 0
    return count
