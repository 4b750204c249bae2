"""What simple forecasters say alone of the same moments of a trace."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.forecast.evaluate import Progress, Trial
from penstock.core.models.forecast.origins import Origin
from penstock.core.models.score import wape


def compared(trial: Trial, progress: Progress) -> dict[str, float]:
    """The error of each simple forecaster alone, at the same moments; nothing for a load of zero."""
    said: dict[str, list[float]] = defaultdict(list)
    truth: list[float] = []
    for number, (_, origin) in enumerate(trial.results, 1):
        truth += origin.came.tolist()
        for name, path in baselines_at(origin).items():
            said[name] += np.asarray(path)[origin.known].tolist()
        progress(number, len(trial.results))
    return {name: wape(path, truth) for name, path in said.items()} if sum(truth) > 0 else {}


def gain(error: float | None, alone: dict[str, float]) -> float | None:
    """By how much an error is smaller than that of the best simple forecaster; None where there is none, or it makes none.

    >>> gain(0.09, {"naive": 0.1, "autoets": 0.2}).__round__(6)
    0.1
    """
    best = min(alone.values(), default=0.0)
    return 1 - error / best if best > 0 and error is not None else None


def baselines_at(origin: Origin) -> dict[str, tuple[float, ...]]:
    """What AutoARIMA, AutoETS and the naive forecast each say alone, fitted to the history of this origin."""
    from statsforecast.models import AutoARIMA, AutoETS

    values: Floats = np.asarray(origin.history)
    ahead = len(origin.truth)
    return {
        "autoarima": _alone(AutoARIMA(season_length=1), values, ahead, origin.late),
        "autoets": _alone(AutoETS(season_length=1), values, ahead, origin.late),
        "naive": (float(values[-1]),) * ahead,
    }


def _alone(model: Any, values: Floats, ahead: int, late: int) -> tuple[float, ...]:
    """What a model of statsforecast says from the moment of the origin on; where it cannot be fitted, the last value."""
    try:
        return tuple(float(value) for value in model.forecast(values, ahead + late)["mean"][late:])
    except (MemoryError, ImportError):
        raise
    except Exception:  # statsforecast raises bare exceptions where a history is too short or too even
        return (float(values[-1]),) * ahead
