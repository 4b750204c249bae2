"""All candidates tested on one history: how much each counts, and how wrong they are together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.core.models.forecast import calibrate, pool
from penstock.core.models.forecast.backtest import Backtest, backtest, continued
from penstock.core.models.forecast.candidate import Candidate, Parameters
from penstock.core.models.forecast.fits import Fits
from penstock.core.models.forecast.series import Floats
from penstock.core.models.forecast.weights import weights_of

ORIGINS_A_HORIZON = 15
LEAST_SHARE = 1 / 9
"""Of the horizon: an origin is tested once this much of it has come."""
SLACK_SHARE = 2 / 3
"""Of the horizon: how late a test may come before origins are lost from the window."""
MEMORY_HORIZONS = 24
"""Horizons after which a loss counts for a third; six hours at 15 minutes."""


def testing(horizon: int) -> int:
    """Steps that must follow a window for forecasts from it to be tested in time."""
    return horizon + round(SLACK_SHARE * horizon)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """An even series that ends before the bin `end`; in steps, the horizon on which forecasts of it are tested and how far back a forecast looks."""

    values: Floats
    end: int
    horizon: int
    reach: int

    @property
    def latest(self) -> Floats:
        """What the next forecast sees."""
        return self.values[-self.reach :]

    @property
    def window(self) -> int:
        """What every tested forecast sees: as much as the next one where the series is long enough, and no less than half of it."""
        size = len(self.values)
        return min(self.reach, max(size // 2, size - testing(self.horizon)))

    @property
    def stride(self) -> int:
        return max(1, self.horizon // ORIGINS_A_HORIZON)

    def origins(self, after: int | None, ahead: int) -> list[int]:
        """Numbers of the bins, every `stride`, that can be tested on `ahead` steps at least; later than `after`."""
        first = self.end - len(self.values) + self.window
        first = first if after is None else max(first, after + 1)
        return list(range(-(-first // self.stride) * self.stride, self.end - ahead + 1, self.stride))

    def fading(self, origins: Sequence[int]) -> Floats:
        """How much a loss at each origin still counts."""
        return np.exp((np.asarray(origins, dtype=float) - self.end) / (MEMORY_HORIZONS * self.horizon))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """Weights of the candidates by name, and the scaled errors of the combination at the origins tested."""

    candidates: tuple[Candidate, ...]
    fitted: dict[str, Parameters]
    weights: Floats
    errors: Floats
    horizons_seen: float

    def combined(self, windows: Floats, horizon: int) -> tuple[Floats, Floats]:
        """Mean path after each window, and its spread."""
        return together(continued(self.candidates, self.fitted, windows, horizon), self.weights, windows)


def tested(history: History, fits: Fits | None) -> Tested:
    """Weights by the losses remembered and those at the origins that came since."""
    candidates = pool.cheap(history.horizon) + (pool.SLOW if fits else ())
    fitted = fitted_now(history, fits)
    origins = history.origins(fits.scored if fits else None, max(1, math.ceil(LEAST_SHARE * history.horizon)))
    losses, load = remembered(history, fits)
    errors = np.array(fits.errors if fits else ()).reshape(-1, len(calibrate.LEAD_SHARES))
    horizons_seen = (len(origins) + len(errors)) * history.stride / history.horizon
    if not origins:
        return Tested(candidates=candidates, fitted=fitted, weights=weighed(candidates, fitted, losses, load), errors=errors, horizons_seen=horizons_seen)
    trial = backtest(candidates, fitted, history.values, [each - history.end + len(history.values) for each in origins], history.window, history.horizon)
    added, load_added = faded(history, origins, trial)
    weights = weighed(candidates, fitted, {name: losses.get(name, 0.0) + loss for name, loss in added.items()}, load + load_added)
    errors = np.concatenate([errors, scaled_errors(history, origins, trial, weights)])
    return Tested(candidates=candidates, fitted=fitted, weights=weights, errors=errors, horizons_seen=horizons_seen)


def fitted_now(history: History, fits: Fits | None) -> dict[str, Parameters]:
    """Parameters of every candidate that can say something about this history."""
    ready: dict[str, Parameters] = {each.name: {} for each in pool.cheap(history.horizon) if each.needs <= history.window}
    return {**ready, **(fits.parameters if fits else {})}


def remembered(history: History, fits: Fits | None) -> tuple[dict[str, float], float]:
    if fits is None:
        return {}, 0.0
    faded_since = float(history.fading([fits.at])[0])
    return {name: loss * faded_since for name, loss in fits.losses.items()}, fits.load * faded_since


def faded(history: History, origins: Sequence[int], trial: Backtest) -> tuple[dict[str, float], float]:
    """Losses by candidate, and the load they are measured against, over these origins."""
    fading = history.fading(origins)
    losses = trial.losses() @ fading
    return {name: float(loss) for name, loss in zip(trial.names, losses, strict=True)}, float(np.nansum(trial.truth, axis=1) @ fading)


def weighed(candidates: Sequence[Candidate], fitted: dict[str, Parameters], losses: dict[str, float], load: float) -> Floats:
    """Weights in the order of the candidates; zero for one that has nothing to say."""
    found = weights_of(losses, pool.beliefs(tuple(each.name for each in candidates if each.name in fitted)), load)
    return np.array([found.get(each.name, 0.0) for each in candidates])


def together(paths: Floats, weights: Floats, windows: Floats) -> tuple[Floats, Floats]:
    mean = np.einsum("c,ckh->kh", weights, paths)
    return mean, calibrate.spread(paths, weights, mean, windows)


def scaled_errors(history: History, origins: Sequence[int], trial: Backtest, weights: Floats) -> Floats:
    """Errors of the combination in units of its spread, at the leads that are remembered; NaN where the truth is still to come."""
    offset = len(history.values) - history.end
    windows = np.stack([history.values[origin + offset - history.window : origin + offset] for origin in origins])
    mean, spread = together(trial.paths, weights, windows)
    at = list(calibrate.leads(history.horizon))
    error = (trial.truth - mean)[:, at]
    return np.asarray(np.where(spread[:, at] > 0, error / np.where(spread[:, at] > 0, spread[:, at], 1.0), 0.0 * error))
