"""How well the load of a trace would have been forecast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from penstock.core.models.estimate import HIGH_LEVEL, LOW_LEVEL, NotReady
from penstock.core.models.forecast.combined import LoadForecast, fit, refit_due
from penstock.core.models.forecast.forecast import Forecast
from penstock.core.models.forecast.origins import Origin
from penstock.core.models.forecast.series import steps_in

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Errors over the whole horizon at all origins."""

    origins: int
    wape: float | None
    """None for a load of zero throughout."""
    coverage_80: float
    models: dict[str, float]
    """Average share of each kind of forecaster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What was forecast at moments of a trace, and what came; the seconds each forecast took on average, refits included."""

    results: tuple[tuple[Forecast, Origin], ...]
    seconds_per_forecast: float

    def evaluation(self) -> Evaluation:
        return evaluation_of(self.results)


def tried(moments: Sequence[Origin], model: LoadForecast, progress: Progress, clock: Callable[[], float]) -> Trial:
    """All forecasts, one after the other as a running job would make them; moments too early for one are left out."""
    import statsforecast.models  # noqa: F401  # seconds, once: not the time of a forecast

    results: list[tuple[Forecast, Origin]] = []
    spent_s = 0.0
    for number, origin in enumerate(moments, 1):
        began_s = clock()
        model, made = forecast_at(model, origin)
        spent_s += clock() - began_s
        if not isinstance(made, NotReady):
            results.append((made, origin))
        progress(number, len(moments))
    return Trial(results=tuple(results), seconds_per_forecast=spent_s / len(moments))


def forecast_at(model: LoadForecast, origin: Origin) -> tuple[LoadForecast, Forecast | NotReady]:
    """One turn as the loop takes it: learn what is new, fit if that is due, forecast from the moment of the origin. This is what a caller times."""
    model = model.learn(origin.new)
    if refit_due(model):
        model = model.with_fits(fit(model))
    model = model.scored()
    step_s = model.series.step_s
    made = model.predict((steps_in(model.horizon_s, step_s) + origin.late) * step_s)
    return model, made if isinstance(made, NotReady) else made.later(origin.late)


def evaluation_of(results: Sequence[tuple[Forecast, Origin]]) -> Evaluation:
    """Over the steps of which it is known what came."""
    error = truth = inside = steps = 0.0
    models: dict[str, float] = {}
    for forecast, origin in results:
        known, actual = origin.known, origin.came
        mean, low, high = (np.asarray(path)[known] for path in (forecast.mean, forecast.at(LOW_LEVEL), forecast.at(HIGH_LEVEL)))
        error += float(np.abs(mean - actual).sum())
        truth += float(actual.sum())
        inside += float(((actual >= low) & (actual <= high)).sum())
        steps += len(actual)
        for name, share in forecast.shares:
            models[name] = models.get(name, 0.0) + share / len(results)
    return Evaluation(origins=len(results), wape=error / truth if truth > 0 else None, coverage_80=inside / steps, models=models)
