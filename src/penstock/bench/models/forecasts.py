"""Forecasts of traces beside what simple forecasters say alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

from penstock.bench.models.measured import Measured
from penstock.bench.worlds.loads import Floats
from penstock.core.models.estimate import NotReady
from penstock.core.models.forecast.combined import HISTORY_S, HORIZON_S, LoadForecast
from penstock.core.models.forecast.evaluate import Evaluation, Origin, baselines_at, evaluation_of, forecast_at, origins_of
from penstock.core.models.forecast.forecast import Forecast
from penstock.core.models.forecast.series import STEP_S
from penstock.core.models.score import wape

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What was forecast at moments of a trace, and what came; the seconds each forecast took on average, refits included."""

    results: tuple[tuple[Forecast, Origin], ...]
    seconds_per_forecast: float

    def evaluation(self) -> Evaluation:
        return evaluation_of(self.results)


def tried(moments: Sequence[Origin], model: LoadForecast, progress: Progress, clock: Callable[[], float] = perf_counter) -> Trial:
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


def compared(trial: Trial, progress: Progress) -> dict[str, float]:
    """The error of each simple forecaster alone, at the same moments; nothing for a load of zero."""
    said: dict[str, list[float]] = defaultdict(list)
    truth: list[float] = []
    for number, (_, origin) in enumerate(trial.results, 1):
        truth += origin.truth
        for name, path in baselines_at(origin).items():
            said[name] += path
        progress(number, len(trial.results))
    return {name: wape(path, truth) for name, path in said.items()} if sum(truth) > 0 else {}


def gain(error: float | None, alone: dict[str, float]) -> float | None:
    """By how much an error is smaller than that of the best simple forecaster; None where there is none, or it makes none.

    >>> gain(0.09, {"naive": 0.1, "autoets": 0.2}).__round__(6)
    0.1
    """
    best = min(alone.values(), default=0.0)
    return 1 - error / best if best > 0 and error is not None else None


def forecast(name: str, time_s: Floats, rate: Floats, origins: int) -> tuple[list[Measured], float | None]:
    """The targets of one trace, and the gain on the best simple forecaster."""
    moments = list(origins_of(time_s, rate, history_s=HISTORY_S, horizon_s=HORIZON_S, step_s=STEP_S, origins=origins))
    if not moments or not rate.any():
        return [], None
    trial = tried(moments, LoadForecast(), _unseen)
    found, alone = trial.evaluation(), compared(trial, _unseen)
    if found.wape is None:
        return [], None
    best, better = min(alone, key=lambda each: alone[each]), gain(found.wape, alone)
    measured = [
        Measured(what=f"forecast of {name}: WAPE", found=found.wape, target="10 % below the best alone", beside=f"{best} alone {alone[best]:.3g}"),
        Measured(what=f"forecast of {name}: within the 80 % bounds", found=found.coverage_80, target="0.7 to 0.9"),
        Measured(what=f"forecast of {name}: seconds each", found=trial.seconds_per_forecast, target="<= 0.5"),
    ]
    if better is not None:
        measured.insert(1, Measured(what=f"forecast of {name}: better than the best alone", found=better, target=">= 0.10 on average"))
    return measured, better


def _unseen(done: int, total: int) -> None:
    """Progress that nobody looks at."""
