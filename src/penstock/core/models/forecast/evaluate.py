"""How well the load of a trace would have been forecast, beside what one statistical model alone would have said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.core.models.estimate import NotReady
from penstock.core.models.forecast.combined import LoadForecast, fit, refit_due
from penstock.core.models.forecast.forecast import Forecast
from penstock.core.models.forecast.series import Floats, LoadSeen, Series, longest_gap_s

LOWEST, HIGHEST = 0.1, 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """One moment of the trace: what was known before it, and what came. `late` is how many steps before it the newest sample ended."""

    at_s: float
    new: tuple[LoadSeen, ...]
    """Seen since the origin before."""
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


def origins_of(trace: Sequence[LoadSeen], *, history_s: float, horizon_s: float, step_s: float, origins: int) -> Iterator[Origin]:
    """Moments evenly spaced over the trace, each with `history_s` before and `horizon_s` after it; none in what precedes a gap too long to bridge."""
    ordered = _unbroken(sorted(trace, key=lambda each: each.at_s))
    keep_s = ordered[-1].at_s - ordered[0].at_s + 2 * step_s if ordered else step_s
    whole = Series(step_s=step_s).with_seen(ordered, keep_s)
    values = whole.even()
    back, ahead = round(history_s / step_s), round(horizon_s / step_s)
    if len(values) < back + ahead:
        return
    first, since, known = whole.end - len(values), 0, Series(step_s=step_s)
    for place in np.unique(np.linspace(back, len(values) - ahead, origins).round().astype(int)):
        end = first + int(place)
        until = next((number for number in range(since, len(ordered)) if ordered[number].at_s >= end * step_s), len(ordered))
        known = known.with_seen(ordered[since:until], keep_s)
        truth = values[place : place + ahead]
        yield Origin(
            at_s=end * step_s, new=tuple(ordered[since:until]), history=tuple(known.even()[-back:].tolist()), truth=tuple(truth.tolist()), late=end - known.end
        )
        since = until


def _unbroken(ordered: list[LoadSeen]) -> list[LoadSeen]:
    """What follows the last gap that is too long to bridge."""
    times_s = np.array([each.at_s for each in ordered])
    breaks = np.flatnonzero(np.diff(times_s) > longest_gap_s(times_s))
    return ordered[int(breaks[-1]) + 1 :] if len(breaks) else ordered


def forecast_at(model: LoadForecast, origin: Origin) -> tuple[LoadForecast, Forecast | NotReady]:
    """One turn as the loop takes it: learn what is new, fit if that is due, forecast from the moment of the origin. This is what a caller times."""
    model = model.learn(origin.new)
    if refit_due(model):
        model = model.with_fits(fit(model))
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
