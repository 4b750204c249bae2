"""The slow part of forecasting: the fits of the models that need one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from penstock.core.models.forecast import pool
from penstock.core.models.forecast.candidate import Learner, Parameters
from penstock.core.models.forecast.evidence import due, error_of
from penstock.core.models.forecast.fits import Fit, Fits
from penstock.core.models.forecast.history import History


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
