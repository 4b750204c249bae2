"""How well the load of a trace would have been forecast, beside what one statistical model alone would have said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.core.models.estimate import NotReady
from penstock.core.models.forecast.combined import LoadForecast, fit, refit_due
from penstock.core.models.forecast.forecast import Forecast
from penstock.core.models.forecast.series import Floats, LoadSeen, longest_gap_s

LOWEST, HIGHEST = 0.1, 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """One moment of the trace: what was known before it, and what came. `late` is how many steps before it the newest sample ended."""

    at_s: float
    new: tuple[LoadSeen, ...]
    """Seen since the origin before, averaged by step."""
    history: tuple[float, ...]
    truth: tuple[float, ...]
    late: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Errors over the whole horizon at all origins."""

    origins: int
    wape: float | None
    """None for a load of zero throughout."""
    coverage_80: float
    models: dict[str, float]
    """Average share of each kind of forecaster."""


def origins_of(time_s: Floats, rate: Floats, *, history_s: float, horizon_s: float, step_s: float, origins: int) -> Iterator[Origin]:
    """Moments evenly spaced over a trace in the order of time, each with `history_s` before and `horizon_s` after it; none before a gap too long to bridge."""
    start = unbroken_from(time_s)
    bins, place = np.unique(np.floor(time_s[start:] / step_s).astype(np.int64), return_inverse=True)
    averages = np.bincount(place, weights=rate[start:]) / np.bincount(place)
    back, ahead = round(history_s / step_s), round(horizon_s / step_s)
    if not len(bins) or bins[-1] + 1 - bins[0] < back + ahead:
        return
    since = 0
    for end in np.unique(np.linspace(bins[0] + back, bins[-1] + 1 - ahead, origins).round().astype(np.int64)).tolist():
        until = int(np.searchsorted(bins, end))
        newest = int(bins[until - 1])
        history = np.interp(np.arange(max(int(bins[0]), newest + 1 - back), newest + 1), bins[:until], averages[:until])
        truth = np.interp(np.arange(end, end + ahead), bins, averages)
        new = tuple(
            LoadSeen(at_s=(number + 0.5) * step_s, rate_rows_per_s=average)
            for number, average in zip(bins[since:until].tolist(), averages[since:until].tolist(), strict=True)
        )
        yield Origin(at_s=end * step_s, new=new, history=tuple(history.tolist()), truth=tuple(truth.tolist()), late=end - newest - 1)
        since = until


def unbroken_from(time_s: Floats) -> int:
    """The number of the first sample after the last gap that is too long to bridge.

    >>> unbroken_from(np.array([0.0, 10.0, 1000.0, 1010.0]))
    2
    """
    breaks = np.flatnonzero(np.diff(time_s) > longest_gap_s(time_s))
    return int(breaks[-1]) + 1 if len(breaks) else 0


def forecast_at(model: LoadForecast, origin: Origin) -> tuple[LoadForecast, Forecast | NotReady]:
    """One turn as the loop takes it: learn what is new, fit if that is due, forecast from the moment of the origin. This is what a caller times."""
    model = model.learn(origin.new)
    if refit_due(model):
        model = model.with_fits(fit(model))
    model = model.scored()
    made = model.predict(model.horizon_s + origin.late * model.series.step_s)
    return model, made if isinstance(made, NotReady) else made.later(origin.late)


def evaluation_of(results: Sequence[tuple[Forecast, Origin]]) -> Evaluation:
    error = truth = inside = steps = 0.0
    models: dict[str, float] = {}
    for forecast, origin in results:
        actual = np.asarray(origin.truth)
        error += float(np.abs(np.asarray(forecast.mean) - actual).sum())
        truth += float(actual.sum())
        inside += float(((actual >= np.asarray(forecast.at(LOWEST))) & (actual <= np.asarray(forecast.at(HIGHEST)))).sum())
        steps += len(actual)
        for name, share in forecast.shares:
            models[name] = models.get(name, 0.0) + share / len(results)
    return Evaluation(origins=len(results), wape=error / truth if truth > 0 else None, coverage_80=inside / steps, models=models)


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
    except Exception:  # statsforecast raises bare exceptions where a history is too short or too even
        return (float(values[-1]),) * ahead
