"""The season that the history has, on top of what AutoETS makes of the rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.forecast.candidate import Parameters
from penstock.core.models.forecast.ets import Ets
from penstock.core.models.forecast.season import season_of
from penstock.core.models.forecast.series import varies


@dataclass(frozen=True, slots=True, kw_only=True)
class Seasonal:
    """Classical additive decomposition: the average of each phase over the whole periods seen, the rest continued by exponential smoothing."""

    name: str = "seasonal"
    needs: int = 30

    def applies(self, values: Floats) -> bool:
        return season_of(values) is not None

    def fit(self, values: Floats) -> Parameters:
        period = season_of(values)
        assert period is not None
        rest = (values[None, :] - _profile(values[None, :], period)[:, _phases(len(values), period)])[0]
        return {"period": float(period), **(Ets().fit(rest) if varies(rest) else {"alpha": 1.0, "beta": 0.0, "phi": 0.0})}

    def paths(self, parameters: Parameters, windows: Floats, horizon: int) -> Floats:
        period = int(parameters["period"])
        if windows.shape[1] < period:
            return np.repeat(windows[:, -1:], horizon, axis=1)
        profile = _profile(windows, period)
        rest = windows - profile[:, _phases(windows.shape[1], period)]
        return np.asarray(Ets().paths(parameters, rest, horizon) + profile[:, np.arange(horizon) % period])


def _phases(size: int, period: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The phase of each value when the one after the last has phase 0."""
    return np.asarray((np.arange(size) - size) % period)


def _profile(windows: Floats, period: int) -> Floats:
    """What each phase adds, averaged over the last whole periods, around the line through them."""
    cycles = windows.shape[1] // period
    last = windows[:, windows.shape[1] - cycles * period :]
    time = np.arange(last.shape[1]) - (last.shape[1] - 1) / 2
    means = last.reshape(len(last), cycles, period).mean(axis=2)
    middles = time.reshape(cycles, period).mean(axis=1)
    slope = means @ middles / (middles @ middles) if cycles > 1 else np.zeros(len(last))
    flat = last - means.mean(axis=1, keepdims=True) - slope[:, None] * time
    return np.asarray(flat.reshape(len(last), cycles, period).mean(axis=1))
