"""The load to come, from all candidates together: each counts by how well it did on the horizon that decisions use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.estimate import NotReady
from penstock.core.models.forecast import calibrate, pool
from penstock.core.models.forecast.backtest import History, continued, testing
from penstock.core.models.forecast.candidates import Parameters
from penstock.core.models.forecast.forecast import LEVELS, Forecast
from penstock.core.models.forecast.mixture import Memory, Tested, remembered, tested
from penstock.core.models.forecast.refit import Fits, any_due, refitted
from penstock.core.models.forecast.series import LoadSeen, Series, steps_in
from penstock.core.models.forecast.track_record import Made, Told
from penstock.core.models.score import Score

HISTORY_S = 3600.0
HORIZON_S = 900.0
FEWEST = 6
"""Bins without which there is no forecast."""
SCORE_AFTER_SHARE = 1 / 3
"""After this share of the horizon the forecasters' results are added to the memory again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadForecast:
    """Keeps the last `history_s` in bins, and what it takes to test forecasts from that much.

    A turn is `learn`, then `scored`, which is cheap; where `refit_due` says so, `fit` is slow and comes back by `with_fits`, in this turn or a later one.
    A forecast that is used comes back by `with_made`: `score` judges those.
    """

    history_s: float = HISTORY_S
    horizon_s: float = HORIZON_S
    series: Series = field(default_factory=Series)
    memory: Memory = field(default_factory=Memory)
    fits: Fits = field(default_factory=dict)
    told: Told = field(default_factory=Told)

    def learn(self, seen: Sequence[LoadSeen]) -> LoadForecast:
        horizon, reach = self._steps()
        return replace(self, series=self.series.with_seen(seen, (reach + testing(horizon)) * self.series.step_s))

    def scored(self) -> LoadForecast:
        """The same with what the forecasters did since it was last scored, where that is a while ago."""
        history = self.history()
        recently = self.memory.at is not None and history.end - self.memory.at < SCORE_AFTER_SHARE * history.horizon
        if len(history.values) < FEWEST or recently:
            return self
        return replace(self, memory=remembered(history, self.memory, self.fits))

    def with_made(self, forecast: Forecast) -> LoadForecast:
        """The same with a forecast of its own to be judged when its horizon has come, and those judged of which it has; seldom, as neighbours say the same."""
        told, end, (horizon, _) = self.told.judged(self.series), self.series.end, self._steps()
        recently = bool(told.pending) and end - told.pending[-1].bins[0] < SCORE_AFTER_SHARE * horizon
        leads = [lead for lead in calibrate.leads(horizon) if lead < len(forecast.mean)]
        if recently or not leads or round(forecast.start_s / self.series.step_s) != end:
            return replace(self, told=told)
        latest = self.history().latest
        alone = continued((pool.NAIVE, pool.PAPER), _parameters(self.fits), latest[None, :], horizon)[1, 0]
        made = Made(
            bins=tuple(end + lead for lead in leads),
            mean=tuple(forecast.mean[lead] for lead in leads),
            naive=float(latest[-1]),
            paper=tuple(float(alone[lead]) for lead in leads),
        )
        return replace(self, told=told.with_made(made))

    def score(self) -> Score | NotReady:
        """How wrong the forecasts were that were used, by the load that came, beside the naive one and AutoARIMA alone."""
        return self.told.judged(self.series).score()

    def with_fits(self, fits: Fits) -> LoadForecast:
        return replace(self, fits=fits)

    def predict(self, horizon_s: float | None = None, step_s: float | None = None) -> Forecast | NotReady:
        """The mean path and its quantiles over `horizon_s` after the newest bin, in steps of `step_s`; by default, those of the model."""
        history = self.history()
        if len(history.values) < FEWEST:
            return NotReady(why=f"{len(history.values)} of the {FEWEST} readings of {self.series.step_s:g} s that a forecast needs, without a long gap")
        steps = steps_in(horizon_s or self.horizon_s, self.series.step_s)
        test = tested(history, self.memory, self.fits)
        mean, spread = test.mixture.continued(history.latest[None, :], steps)
        forecast = _quantiles(test, history, mean[0], spread[0], self.series)
        return forecast if step_s is None or step_s == self.series.step_s else _in_steps(forecast, step_s)

    def history(self) -> History:
        """What is known, as an even series."""
        horizon, reach = self._steps()
        return History(values=self.series.even(), end=self.series.end, horizon=horizon, reach=reach, sampled=self.series.sampled())

    def _steps(self) -> tuple[int, int]:
        """The horizon and the history in bins."""
        return steps_in(self.horizon_s, self.series.step_s), steps_in(self.history_s, self.series.step_s)


def refit_due(model: LoadForecast) -> bool:
    """Whether `fit` has something to do."""
    return any_due(model.history(), model.fits)


def fit(model: LoadForecast) -> Fits:
    """The fits with those anew that are due; slow (up to a second where AutoARIMA is) and pure, for a background task."""
    return refitted(model.history(), model.fits)


def _parameters(fits: Fits) -> dict[str, Parameters]:
    return {pool.NAIVE.name: {}, **{name: fit.parameters for name, fit in fits.items() if fit.parameters is not None}}


def _quantiles(test: Tested, history: History, mean: Floats, spread: Floats, series: Series) -> Forecast:
    at = calibrate.leads(history.horizon)
    tails = calibrate.tails(test.errors, LEVELS, test.horizons_seen, len(history.values) / history.horizon, test.stretch)
    paths = [np.maximum(0.0, mean + spread * np.interp(np.arange(len(mean)), at, row)) for row in tails]
    shares: dict[str, float] = {}
    for each, weight in zip(test.mixture.candidates, test.mixture.weights, strict=True):
        family = each.name.split("-")[0]
        shares[family] = shares.get(family, 0.0) + float(weight)
    return Forecast(
        start_s=history.end * series.step_s,
        step_s=series.step_s,
        mean=_plain(mean),
        levels=LEVELS,
        paths=tuple(_plain(path) for path in paths),
        shares=tuple(shares.items()),
    )


def _plain(path: Floats) -> tuple[float, ...]:
    return tuple(float(value) for value in path)


def _in_steps(forecast: Forecast, step_s: float) -> Forecast:
    """The same forecast in other steps: the rate at the middle of each, on the line between the middles of the old."""
    old = (np.arange(len(forecast.mean)) + 0.5) * forecast.step_s
    new = (np.arange(max(1, round(len(forecast.mean) * forecast.step_s / step_s))) + 0.5) * step_s
    mean, *paths = (_plain(np.interp(new, old, path)) for path in (forecast.mean, *forecast.paths))
    return replace(forecast, step_s=step_s, mean=mean, paths=tuple(paths))
