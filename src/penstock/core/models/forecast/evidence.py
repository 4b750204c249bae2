"""When a model is fitted anew: when its errors have left what it promised, never by the clock alone.

Daedalus (sec. 3.3) calls a forecast bad at a WAPE above 25 % and refits after 15 bad ones in a row; a load that is foretold within 3 % has changed long
before that, and one that never can be within 25 % has not. So the errors are measured against those that the fit itself had on its own history.
"""

from __future__ import annotations

import numpy as np

from penstock.core.models.forecast.candidate import Learner, Parameters
from penstock.core.models.forecast.fits import Fit
from penstock.core.models.forecast.history import ORIGINS_A_HORIZON, History

LEFT = 1.5
"""The load has changed if the error is this many times larger or smaller than promised."""
ENOUGH = 5
"""From fewer forecasts than this no error is told."""
ROUNDING = 1e-3
"""Errors below this share of the load are all the same."""
MORE_HISTORY = 2
"""A history this many times as long as the fit saw is worth a new one."""


def due(candidate: Learner, fit: Fit | None, history: History) -> bool:
    """Whether a candidate is to be fitted: for the first time, to twice the history, or because the load has changed.

    A fit that failed, or whose history was too short to test it, is repeated after a horizon.
    """
    values = history.latest
    if len(values) < candidate.needs:
        return False
    if fit is None or len(values) >= MORE_HISTORY * fit.values:
        return candidate.applies(values)
    if fit.parameters is None or fit.promised is None:
        return history.end - fit.at >= history.horizon and candidate.applies(values)
    return _left(fit.promised, error_of(candidate, fit.parameters, history, fit.at))


def error_of(candidate: Learner, parameters: Parameters, history: History, since: int | None) -> float | None:
    """WAPE of the first steps of the forecasts made within the last horizon and not before `since`; None if these are too few, or the load was zero."""
    origins = history.origins(None if since is None else since - 1, history.soon)[-ORIGINS_A_HORIZON:]
    if len(origins) < ENOUGH or candidate.needs > history.window:
        return None
    truth = history.truths(origins, history.soon)
    error = np.abs(candidate.paths(parameters, history.windows(origins), history.soon) - truth).sum()
    return float(error / truth.sum()) if truth.sum() > 0 else None


def _left(promised: float, found: float | None) -> bool:
    """Whether an error is `LEFT` times larger or smaller than promised.

    >>> _left(0.02, 0.04), _left(0.02, 0.01), _left(0.02, 0.025), _left(1e-9, 1e-6), _left(0.02, None)
    (True, True, False, False, False)
    """
    if found is None:
        return False
    ratio = max(found, ROUNDING) / max(promised, ROUNDING)
    return not 1 / LEFT <= ratio <= LEFT
