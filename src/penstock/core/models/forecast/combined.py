"""The forecast of the load: a mixture of all candidates, weighted by their errors over the horizon that decisions use."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Self

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.estimate import NotReady
from penstock.core.models.forecast import calibration, pool
from penstock.core.models.forecast.backtest import History, continued, testing
from penstock.core.models.forecast.forecast import LEVELS, Forecast
from penstock.core.models.forecast.mixture import Memory, Tested, remembered, tested
from penstock.core.models.forecast.paper_forecast import REFIT_AFTER, PaperForecast
from penstock.core.models.forecast.refit import Fits, any_due, due, fitted, parameters_of, refitted
from penstock.core.models.forecast.series import LoadSeen, Series, steps_in
from penstock.core.models.forecast.track_record import PendingForecast, TrackRecord
from penstock.core.models.score import Score

HISTORY_S = 3600.0
HORIZON_S = 900.0
FEWEST = 6
"""A forecast needs at least this many bins."""
ForecastMethod = Literal["mixture", "daedalus"]
"""All candidates weighted by their errors, or the paper's AutoARIMA with its fallback (Daedalus sec. 3.3); bounds are those of the mixture."""
SCORE_AFTER_SHARE = 1 / 3
"""Results of the candidates are added to the memory once in this share of the horizon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadForecast:
    """Forecasts from the last `history_s` of load, in bins; keeps as much more as it takes to test such forecasts.

    A turn calls `learn`, then `scored`, which is cheap. Where `refit_due`, `fit` is slow; its result is handed to `with_fits` in this turn or a later one.
    Forecasts that are used are handed to `with_made`; `score` is their error.
    """

    history_s: float = HISTORY_S
    horizon_s: float = HORIZON_S
    series: Series = field(default_factory=Series)
    memory: Memory = field(default_factory=Memory)
    fits: Fits = field(default_factory=dict)
    record: TrackRecord = field(default_factory=TrackRecord)
    method: ForecastMethod = "mixture"
    paper: PaperForecast = field(default_factory=PaperForecast)

    def learn(self, seen: Sequence[LoadSeen]) -> Self:
        horizon, reach = self._steps()
        return replace(self, series=self.series.with_seen(seen, (reach + testing(horizon)) * self.series.step_s))

    def scored(self) -> Self:
        """Return the model with the results of the candidates since it was last scored, unless that is recent."""
        history = self.history()
        recently = self.memory.at is not None and history.end - self.memory.at < SCORE_AFTER_SHARE * history.horizon
        if len(history.values) < FEWEST or recently:
            return self
        return replace(self, memory=remembered(history, self.memory, self.fits))

    def with_made(self, forecast: Forecast) -> Self:
        """Return the model with this forecast added to its track record, unless another was added recently, and with due ones graded."""
        record, end, (horizon, _) = self.record.graded(self.series), self.series.end, self._steps()
        recently = bool(record.pending) and end - record.pending[-1].bins[0] < SCORE_AFTER_SHARE * horizon
        leads = [lead for lead in calibration.leads(horizon) if lead < len(forecast.mean)]
        skipped, model = recently or not leads or round(forecast.start_s / self.series.step_s) != end, replace(self, record=record)
        if skipped and self.method == "mixture":
            return model
        history = self.history()
        latest, paper = history.latest, self._by_arima(history, horizon)
        if self.method == "daedalus" and pool.PAPER.name in parameters_of(self.fits):
            model = replace(model, paper=self.paper.judged(history).after(paper, history))
        if skipped:
            return model
        pending = PendingForecast(
            bins=tuple(end + lead for lead in leads),
            mean=tuple(forecast.mean[lead] for lead in leads),
            naive=float(latest[-1]),
            paper=tuple(float(paper[lead]) for lead in leads),
        )
        return replace(model, record=record.with_pending(pending))

    def score(self) -> Score | NotReady:
        """Return the error of the forecasts that were used, beside those of the naive forecast and of AutoARIMA alone."""
        return self.record.graded(self.series).score()

    def with_fits(self, fits: Fits) -> Self:
        return replace(self, fits=fits, paper=PaperForecast())

    def predict(self, horizon_s: float | None = None, step_s: float | None = None) -> Forecast | NotReady:
        """Return the mean path and its quantiles over `horizon_s` after the newest bin, in steps of `step_s`; by default, those of the model."""
        history = self.history()
        if len(history.values) < FEWEST:
            return NotReady(why=f"{len(history.values)} of the {FEWEST} readings of {self.series.step_s:g} s that a forecast needs, without a long gap")
        steps = steps_in(horizon_s or self.horizon_s, self.series.step_s)
        test = tested(history, self.memory, self.fits)
        (mean,), (spread,) = test.mixture.continued(history.latest[None, :], steps)
        shares = _shares(test)
        if self.method == "daedalus":
            judged = self.paper.judged(history)
            mean = judged.path(self._by_arima(history, steps), history)
            shares = {"line" if judged.is_poor else "autoarima" if pool.PAPER.name in parameters_of(self.fits) else "naive": 1.0}
        forecast = replace(_quantiles(test, history, mean, spread, self.series), shares=tuple(shares.items()))
        return forecast if step_s is None or step_s == self.series.step_s else _in_steps(forecast, step_s)

    def _by_arima(self, history: History, horizon: int) -> Floats:
        """Return the path of AutoARIMA; before its first fit, the last value."""
        return np.asarray(continued((pool.NAIVE, pool.PAPER), {pool.NAIVE.name: {}, **parameters_of(self.fits)}, history.latest[None, :], horizon)[1, 0])

    def history(self) -> History:
        """Return the known load as an even series."""
        horizon, reach = self._steps()
        return History(values=self.series.even(), end=self.series.end, horizon=horizon, reach=reach, sampled=self.series.sampled())

    def _steps(self) -> tuple[int, int]:
        """Return the horizon and the history in bins."""
        return steps_in(self.horizon_s, self.series.step_s), steps_in(self.history_s, self.series.step_s)


def refit_due(model: LoadForecast) -> bool:
    """Return whether a fit is due."""
    if model.method == "mixture":
        return any_due(model.history(), model.fits)
    known = model.fits.get(pool.PAPER.name)
    if known is None or known.parameters is None:
        return due(pool.PAPER, known, model.history())
    return model.paper.judged(model.history()).poor_in_a_row >= REFIT_AFTER


def fit(model: LoadForecast) -> Fits:
    """Return the fits with those renewed that are due; slow (up to a second for AutoARIMA) and pure, for a background task."""
    if model.method == "mixture":
        return refitted(model.history(), model.fits)
    return {**model.fits, pool.PAPER.name: fitted(pool.PAPER, model.history())}


def _quantiles(test: Tested, history: History, mean: Floats, spread: Floats, series: Series) -> Forecast:
    at = calibration.leads(history.horizon)
    tails = calibration.tails(test.errors, LEVELS, test.horizons_seen, len(history.values) / history.horizon, test.stretch)
    paths = [np.maximum(0.0, mean + spread * np.interp(np.arange(len(mean)), at, row)) for row in tails]
    return Forecast(
        start_s=history.end * series.step_s,
        step_s=series.step_s,
        mean=_plain(mean),
        levels=LEVELS,
        paths=tuple(_plain(path) for path in paths),
    )


def _shares(test: Tested) -> dict[str, float]:
    """Return the weights of the candidates by family."""
    shares: dict[str, float] = {}
    for each, weight in zip(test.mixture.candidates, test.mixture.weights, strict=True):
        family = each.name.split("-")[0]
        shares[family] = shares.get(family, 0.0) + float(weight)
    return shares


def _plain(path: Floats) -> tuple[float, ...]:
    return tuple(float(value) for value in path)


def _in_steps(forecast: Forecast, step_s: float) -> Forecast:
    """Return the forecast in other steps, interpolated between the middles of its own."""
    old = (np.arange(len(forecast.mean)) + 0.5) * forecast.step_s
    new = (np.arange(max(1, round(len(forecast.mean) * forecast.step_s / step_s))) + 0.5) * step_s
    mean, *paths = (_plain(np.interp(new, old, path)) for path in (forecast.mean, *forecast.paths))
    return replace(forecast, step_s=step_s, mean=mean, paths=tuple(paths))
