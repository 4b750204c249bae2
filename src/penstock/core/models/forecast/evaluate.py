"""Evaluation of the forecast on a recorded trace: at many of its moments, beside simple forecasters."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.core.models.arrays import Flags, Floats
from penstock.core.models.estimate import HIGH_LEVEL, LOW_LEVEL, NotReady
from penstock.core.models.forecast.combined import LoadForecast, fit, refit_due
from penstock.core.models.forecast.forecast import Forecast
from penstock.core.models.forecast.series import LoadSeen, longest_gap_s, steps_in
from penstock.core.models.score import wape


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """A moment of the trace at which a forecast is made. `late` is how many steps before it the newest sample ended."""

    at_s: float
    new: tuple[LoadSeen, ...]
    """Samples since the origin before, averaged by step."""
    history: tuple[float, ...]
    truth: tuple[float | None, ...]
    """The rate of each step; None for one without samples."""
    late: int = 0

    @property
    def known(self) -> Flags:
        """The steps with samples: only these can be scored."""
        return np.array([each is not None for each in self.truth])

    @property
    def came(self) -> Floats:
        """The rates of the steps with samples."""
        return np.array([each for each in self.truth if each is not None])


def origins_of(time_s: Floats, rate: Floats, *, history_s: float, horizon_s: float, step_s: float, origins: int) -> Iterator[Origin]:
    """Yield origins evenly spaced over a trace, each with `history_s` before and `horizon_s` after it.

    There are none before a gap that is too long to bridge, and none without a sample in their horizon.
    """
    start = unbroken_from(time_s)
    bins, place = np.unique(np.floor(time_s[start:] / step_s).astype(np.int64), return_inverse=True)
    averages = np.bincount(place, weights=rate[start:]) / np.bincount(place)
    back, ahead = steps_in(history_s, step_s), steps_in(horizon_s, step_s)
    if not len(bins) or bins[-1] + 1 - bins[0] < back + ahead:
        return
    came = dict(zip(bins.tolist(), averages.tolist(), strict=True))
    since = 0
    for end in np.unique(np.linspace(bins[0] + back, bins[-1] + 1 - ahead, origins).round().astype(np.int64)).tolist():
        truth = tuple(came.get(number) for number in range(end, end + ahead))
        if all(each is None for each in truth):
            continue
        until = int(np.searchsorted(bins, end))
        newest = int(bins[until - 1])
        history = np.interp(np.arange(max(int(bins[0]), newest + 1 - back), newest + 1), bins[:until], averages[:until])
        new = tuple(LoadSeen(at_s=(number + 0.5) * step_s, rate_rows_per_s=came[number]) for number in bins[since:until].tolist())
        yield Origin(at_s=end * step_s, new=new, history=tuple(history.tolist()), truth=truth, late=end - newest - 1)
        since = until


def unbroken_from(time_s: Floats) -> int:
    """Return the index of the first sample after the last gap that is too long to bridge.

    >>> unbroken_from(np.array([0.0, 10.0, 1000.0, 1010.0]))
    2
    """
    breaks = np.flatnonzero(np.diff(time_s) > longest_gap_s(time_s))
    return int(breaks[-1]) + 1 if len(breaks) else 0


Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Errors of the forecasts over the whole horizon at all origins."""

    origins: int
    wape: float | None
    """None for a load of zero throughout."""
    coverage_80: float
    models: dict[str, float]
    """Average weight of each kind of candidate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The forecasts at the origins of a trace, and the mean seconds that one took, refits included."""

    results: tuple[tuple[Forecast, Origin], ...]
    seconds_per_forecast: float

    def evaluation(self) -> Evaluation:
        """Return the errors over all steps with samples."""
        error = truth = inside = steps = 0.0
        models: dict[str, float] = {}
        for forecast, origin in self.results:
            known, actual = origin.known, origin.came
            mean, low, high = (np.asarray(path)[known] for path in (forecast.mean, forecast.at(LOW_LEVEL), forecast.at(HIGH_LEVEL)))
            error += float(np.abs(mean - actual).sum())
            truth += float(actual.sum())
            inside += float(((actual >= low) & (actual <= high)).sum())
            steps += len(actual)
            for name, share in forecast.shares:
                models[name] = models.get(name, 0.0) + share / len(self.results)
        return Evaluation(origins=len(self.results), wape=error / truth if truth > 0 else None, coverage_80=inside / steps, models=models)


def tried(moments: Sequence[Origin], model: LoadForecast, progress: Progress, clock: Callable[[], float]) -> Trial:
    """Forecast at each origin in turn as a running job would; origins without enough history are left out."""
    import statsforecast.models  # noqa: F401  # takes seconds once, which must not count as forecast time

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
    """Take one turn as the loop does: learn the new samples, fit if that is due, forecast from the origin."""
    model = model.learn(origin.new)
    if refit_due(model):
        model = model.with_fits(fit(model))
    model = model.scored()
    step_s = model.series.step_s
    made = model.predict((steps_in(model.horizon_s, step_s) + origin.late) * step_s)
    return model, made if isinstance(made, NotReady) else made.later(origin.late)


def compared(trial: Trial, progress: Progress) -> dict[str, float]:
    """Return the WAPE of each simple forecaster alone at the same origins; empty for a load of zero."""
    paths: dict[str, list[float]] = defaultdict(list)
    truth: list[float] = []
    for number, (_, origin) in enumerate(trial.results, 1):
        truth += origin.came.tolist()
        for name, path in baselines_at(origin).items():
            paths[name] += np.asarray(path)[origin.known].tolist()
        progress(number, len(trial.results))
    return {name: wape(path, truth) for name, path in paths.items()} if sum(truth) > 0 else {}


def gain(error: float | None, alone: dict[str, float]) -> float | None:
    """Return the share by which an error is below that of the best simple forecaster; None without one, or if that has no error.

    >>> gain(0.09, {"naive": 0.1, "autoets": 0.2}).__round__(6)
    0.1
    """
    best = min(alone.values(), default=0.0)
    return 1 - error / best if best > 0 and error is not None else None


def baselines_at(origin: Origin) -> dict[str, tuple[float, ...]]:
    """Return the forecasts of AutoARIMA, AutoETS and the last value, each fitted to the history of this origin."""
    from statsforecast.models import AutoARIMA, AutoETS

    values: Floats = np.asarray(origin.history)
    ahead = len(origin.truth)
    return {
        "autoarima": _alone(AutoARIMA(season_length=1), values, ahead, origin.late),
        "autoets": _alone(AutoETS(season_length=1), values, ahead, origin.late),
        "naive": (float(values[-1]),) * ahead,
    }


def _alone(model: Any, values: Floats, ahead: int, late: int) -> tuple[float, ...]:
    """Return the forecast of a statsforecast model from the origin on; the last value where the fit fails."""
    try:
        return tuple(float(value) for value in model.forecast(values, ahead + late)["mean"][late:])
    except (MemoryError, ImportError):
        raise
    except Exception:  # statsforecast raises bare exceptions where a history is too short or too even
        return (float(values[-1]),) * ahead
