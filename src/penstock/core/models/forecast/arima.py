"""AutoARIMA, refitted seldom: statsforecast finds the order and the coefficients, and these are applied to whatever came since (Daedalus sec. 3.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.forecast.candidate import Parameters
from penstock.core.models.forecast.series import varies

MOST_VALUES = 120
"""The search for an order is the slowest part of a forecast, and minutes ahead do not need every step: longer histories are averaged to no more than these."""
LARGEST_ROOT = 0.98
"""Largest root of the moving average: nearer to one, the unknown errors before the window are never forgotten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arima:
    """phi(B) ((1 - B)^d y - mean) = theta(B) e on averages of so many steps that MOST_VALUES are left; the errors before the window count as zero."""

    name: str = "autoarima"
    needs: int = 40

    def applies(self, values: Floats) -> bool:
        return varies(values)

    def fit(self, values: Floats) -> Parameters:
        from statsforecast.models import AutoARIMA

        steps = -(-len(values) // MOST_VALUES)
        model = AutoARIMA(season_length=1).fit(_coarse(values[None, :], steps)[0]).model_
        found = {name: float(value) for name, value in model["coef"].items()}
        mean = found.pop("intercept", 0.0) + found.pop("drift", 0.0)
        averaging = _invertible(_numbered(found, "ma"))
        found.update({f"ma{number}": float(value) for number, value in enumerate(averaging, 1)})
        return {"steps": float(steps), "d": float(model["arma"][5]), "mean": mean, **found}

    def paths(self, parameters: Parameters, windows: Floats, horizon: int) -> Floats:
        from scipy.signal import lfilter

        steps, times = int(parameters["steps"]), int(parameters["d"])
        coarse = _coarse(windows, steps)
        rest = np.diff(coarse, n=times, axis=1) - parameters["mean"]
        ar, ma = _numbered(parameters, "ar"), _numbered(parameters, "ma")
        errors = lfilter(np.r_[1.0, -ar], np.r_[1.0, ma], rest, axis=1)
        path = _continued(rest, errors, ar, ma, -(-horizon // steps) + 1) + parameters["mean"]
        for order in reversed(range(times)):
            path = np.diff(coarse[:, -times:], n=order, axis=1)[:, -1:] + np.cumsum(path, axis=1)
        return _fine(np.concatenate([coarse[:, -1:], path], axis=1), steps, horizon)


def _coarse(windows: Floats, steps: int) -> Floats:
    """Averages over `steps` steps each; the last one ends with the window."""
    count = windows.shape[1] // steps
    return np.asarray(windows[:, windows.shape[1] - count * steps :].reshape(len(windows), count, steps).mean(axis=2))


def _fine(path: Floats, steps: int, horizon: int) -> Floats:
    """Steps between the middles of coarse ones, the first of which ended at step zero."""
    middles = (np.arange(path.shape[1]) - 0.5) * steps
    ahead = np.arange(horizon) + 0.5
    return np.stack([np.interp(ahead, middles, row) for row in path])


def _numbered(parameters: Parameters, prefix: str) -> Floats:
    """The coefficients ar1, ar2, ... in order."""
    count = sum(name.startswith(prefix) and name[len(prefix) :].isdigit() for name in parameters)
    return np.array([parameters[f"{prefix}{number + 1}"] for number in range(count)])


def _invertible(ma: Floats) -> Floats:
    """The same process with the roots of its moving average inside the unit circle.

    >>> _invertible(np.array([-2.0])).tolist()
    [-0.5]
    """
    if not len(ma):
        return ma
    roots = np.roots(np.r_[1.0, ma])
    size = np.abs(roots)
    inside = np.where(size > 1, roots / np.square(size), roots)
    inside = inside * np.minimum(1.0, LARGEST_ROOT / np.maximum(np.abs(inside), 1e-12))
    return np.asarray(np.real(np.poly(inside))[1:])


def _continued(rest: Floats, errors: Floats, ar: Floats, ma: Floats, horizon: int) -> Floats:
    """Expected values of the ARMA process: errors to come are zero."""
    size = max(len(ar), len(ma), 1)
    values = np.concatenate([rest[:, -size:], np.zeros((len(rest), horizon))], axis=1)
    shocks = np.concatenate([errors[:, -size:], np.zeros((len(rest), horizon))], axis=1)
    for now in range(size, size + horizon):
        values[:, now] = values[:, now - len(ar) : now] @ ar[::-1] + shocks[:, now - len(ma) : now] @ ma[::-1]
    return values[:, size:]
