"""AutoETS without a season, refitted seldom: statsforecast finds the form and the smoothing, and these are applied to whatever came since."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.forecast.candidate import Parameters
from penstock.core.models.forecast.series import varies


@dataclass(frozen=True, slots=True, kw_only=True)
class Ets:
    """Level l and slope b: e = y - l - phi b, l <- l + phi b + alpha e, b <- phi b + beta e; both start on the least-squares line of the window.

    With an additive trend the point forecast is the same for additive and for multiplicative errors, so the kind of error is not kept.

    >>> Ets().paths({"alpha": 1.0, "beta": 0.0, "phi": 0.0}, np.array([[1.0, 2.0, 4.0]]), 2).tolist()
    [[4.0, 4.0]]
    """

    name: str = "autoets"
    needs: int = 30

    def applies(self, values: Floats) -> bool:
        return varies(values)

    def fit(self, values: Floats) -> Parameters:
        from statsforecast.models import AutoETS

        model = AutoETS(season_length=1, model="ZZN").fit(np.asarray(values, dtype=float)).model_
        alpha, beta, _, phi = (float(value) if np.isfinite(value) else None for value in model["par"][:4])
        trend = model["components"][1] != "N"
        return {"alpha": alpha or 0.0, "beta": (beta or 0.0) if trend else 0.0, "phi": (phi or 1.0) if trend else 0.0}

    def paths(self, parameters: Parameters, windows: Floats, horizon: int) -> Floats:
        alpha, beta, phi = parameters["alpha"], parameters["beta"], parameters["phi"]
        time = np.arange(windows.shape[1]) - (windows.shape[1] - 1) / 2
        slope = windows @ time / (time @ time) if phi > 0 else np.zeros(len(windows))
        level = windows.mean(axis=1) + slope * (time[0] - 1)
        for values in windows.T:
            error = values - level - phi * slope
            level, slope = level + phi * slope + alpha * error, phi * slope + beta * error
        return np.asarray(level[:, None] + slope[:, None] * np.cumsum(phi ** np.arange(1, horizon + 1)))
