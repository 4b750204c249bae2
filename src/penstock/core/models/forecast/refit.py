"""Refits of the candidates that have parameters: when one is due, and how it is done.

Daedalus (sec. 3.3) calls a forecast bad at a WAPE above 25 % and refits after 15 bad ones in a row. A load that is usually predicted within 3 % has changed
long before that, and one that can never be predicted within 25 % has not changed. So errors are compared with those that the fit had on its own history.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penstock.core.models.forecast import pool
from penstock.core.models.forecast.backtest import ORIGINS_A_HORIZON, History
from penstock.core.models.forecast.candidates import Learner, Parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Parameters of one candidate, None where the fit failed on its numbers."""

    parameters: Parameters | None
    at: int
    """Number of the bin after the newest one it saw."""
    values: int
    """How many it saw."""
    promised: float | None
    """Its WAPE over the first steps of a forecast, on the history it was fitted to."""


Fits = dict[str, Fit]
"""By the name of the candidate."""


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


def any_due(history: History, fits: Mapping[str, Fit]) -> bool:
    return any(due(each, fits.get(each.name), history) for each in pool.SLOW)


def refitted(history: History, fits: Mapping[str, Fit]) -> Fits:
    """The fits with those anew that are due."""
    return {**fits, **{each.name: fitted(each, history) for each in pool.SLOW if due(each, fits.get(each.name), history)}}


def fitted(candidate: Learner, history: History) -> Fit:
    """One candidate fitted to what the next forecast sees, and what it promises on all that is kept."""
    parameters = _found(candidate, history)
    promised = error_of(candidate, parameters, history, None) if parameters is not None else None
    return Fit(parameters=parameters, at=history.end, values=len(history.latest), promised=promised)


def _found(candidate: Learner, history: History) -> Parameters | None:
    """A fit that fails on its numbers leaves the candidate without a word, not the loop without a forecast."""
    if not candidate.applies(history.latest):
        return None
    try:
        found = candidate.fit(history.latest)
    except (MemoryError, ImportError):  # nothing that another history would change: whoever asked must hear of it
        raise
    except Exception:  # statsforecast raises bare exceptions where a history is too short or too even
        return None
    return found if all(np.isfinite(value) for value in found.values()) else None
