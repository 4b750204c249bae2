"""Refits of the candidates that have parameters: when one is due, and how it is done.

Daedalus (sec. 3.3) calls a forecast bad at a WAPE above 25 % and refits after 15 bad ones in a row. A load that is usually predicted within 3 % has changed
long before that, and one that can never be predicted within 25 % has not changed. So errors are compared with those that the fit had on its own history.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penstock.core.models.forecast import pool
from penstock.core.models.forecast.backtest import ORIGINS_A_HORIZON, History
from penstock.core.models.forecast.candidates import Learner, Parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A fit of one candidate; its parameters are None where the fit failed."""

    parameters: Parameters | None
    at: int
    """Number of the bin after the newest one used."""
    values: int
    """How many values were used."""
    promised: float | None
    """The WAPE of its first forecast steps on the history it was fitted to."""


Fits = dict[str, Fit]
"""By the name of the candidate."""


def parameters_of(fits: Mapping[str, Fit]) -> dict[str, Parameters]:
    """Return the parameters of the fits that succeeded."""
    return {name: fit.parameters for name, fit in fits.items() if fit.parameters is not None}


CHANGED = 1.5
"""The load has changed if the error is this many times larger or smaller than promised."""
ENOUGH = 5
"""The error is measured over at least this many forecasts."""
ROUNDING = 1e-3
"""Errors below this share of the load count as equal."""
MORE_HISTORY = 2
"""A history this many times longer than the fitted one is worth a new fit."""


def due(candidate: Learner, fit: Fit | None, history: History) -> bool:
    """Return whether a candidate is to be fitted: for the first time, to twice the history, or because the load has changed.

    A fit that failed, or whose history was too short to test it, is repeated after a horizon.
    """
    values = history.latest
    if len(values) < candidate.needs:
        return False
    if fit is None or len(values) >= MORE_HISTORY * fit.values:
        return candidate.applies(values)
    if fit.parameters is None or fit.promised is None:
        return history.end - fit.at >= history.horizon and candidate.applies(values)
    return _changed(fit.promised, error_of(candidate, fit.parameters, history, fit.at))


def error_of(candidate: Learner, parameters: Parameters, history: History, since: int | None) -> float | None:
    """Return the WAPE of the first steps of forecasts of the last horizon, not before `since`; None if they are too few, or the load was zero."""
    origins = history.origins(None if since is None else since - 1, history.soon)[-ORIGINS_A_HORIZON:]
    if len(origins) < ENOUGH or candidate.needs > history.window:
        return None
    truth = history.truths(origins, history.soon)
    error = np.abs(candidate.paths(parameters, history.windows(origins), history.soon) - truth).sum()
    return float(error / truth.sum()) if truth.sum() > 0 else None


def _changed(promised: float, found: float | None) -> bool:
    """Return whether an error is `CHANGED` times larger or smaller than promised.

    >>> _changed(0.02, 0.04), _changed(0.02, 0.01), _changed(0.02, 0.025), _changed(1e-9, 1e-6), _changed(0.02, None)
    (True, True, False, False, False)
    """
    if found is None:
        return False
    ratio = max(found, ROUNDING) / max(promised, ROUNDING)
    return not 1 / CHANGED <= ratio <= CHANGED


def any_due(history: History, fits: Mapping[str, Fit]) -> bool:
    return any(due(each, fits.get(each.name), history) for each in pool.SLOW)


def refitted(history: History, fits: Mapping[str, Fit]) -> Fits:
    """Return the fits with those renewed that are due."""
    return {**fits, **{each.name: fitted(each, history) for each in pool.SLOW if due(each, fits.get(each.name), history)}}


def fitted(candidate: Learner, history: History) -> Fit:
    """Fit one candidate to the window of the next forecast, and measure its error on the whole history."""
    parameters = _found(candidate, history)
    promised = error_of(candidate, parameters, history, None) if parameters is not None else None
    return Fit(parameters=parameters, at=history.end, values=len(history.latest), promised=promised)


def _found(candidate: Learner, history: History) -> Parameters | None:
    """Return the fitted parameters, or None where the fit fails: the forecast then does without this candidate."""
    if not candidate.applies(history.latest):
        return None
    try:
        found = candidate.fit(history.latest)
    except (MemoryError, ImportError):  # not a property of this history: the caller must know
        raise
    except Exception:  # statsforecast raises bare exceptions where a history is too short or too even
        return None
    return found if all(np.isfinite(value) for value in found.values()) else None
