"""The pool of candidate forecasters: their prior beliefs, and their weights by the losses measured."""

from collections.abc import Mapping
from functools import lru_cache

from penstock.core.models.forecast.candidates import Candidate, Harmonic, Learner, Level, Line
from penstock.core.models.forecast.fitted_candidates import Arima, Ets, Seasonal

LEVEL_SHARES = (1 / 15, 1 / 3, 1.0)
LINE_SHARES = (1 / 30, 1 / 15, 1 / 9, 1 / 5, 1 / 2, 1.0, 2.0)
"""Windows as a share of the horizon."""
FADING_SHARES = (1 / 6, 1 / 3, 2 / 3, 4 / 3, None)
"""Time constants of a fading slope as a share of the horizon; None never fades."""
FAMILY_BELIEF = {"naive": 0.5, "level": 0.5, "line": 1.0, "harmonic": 0.1, "autoets": 0.1, "autoarima": 0.1, "seasonal": 0.1}
"""Prior weight of each family, shared among its members: staying level and going on count the same, each model with a form of its own a tenth."""


@lru_cache(maxsize=8)
def cheap(horizon: int) -> tuple[Candidate, ...]:
    """Return the candidates that need no fit."""
    levels = {round(share * horizon) for share in LEVEL_SHARES} | {1}
    windows = {round(share * horizon) for share in LINE_SHARES}
    lines = [Line(window=window, fading=share and share * horizon) for window in sorted(windows) if window > 2 for share in FADING_SHARES]
    return (*(Level(window=window) for window in sorted(levels) if window > 0), *lines, Harmonic())


NAIVE, PAPER = Level(), Arima()
"""The naive forecast and the paper's forecaster (Daedalus sec. 3.3), beside which a forecast is scored."""
SLOW: tuple[Learner, ...] = (Ets(), Seasonal(), PAPER)
"""The candidates that are fitted; AutoARIMA last, as its search takes longest."""


def beliefs(names: tuple[str, ...]) -> dict[str, float]:
    """Return the prior weight of each candidate.

    >>> beliefs(("naive", "level-6", "line-3", "harmonic"))
    {'naive': 0.5, 'level-6': 0.5, 'line-3': 1.0, 'harmonic': 0.1}
    """
    families = [name.split("-")[0] for name in names]
    return {name: FAMILY_BELIEF[family] / families.count(family) for name, family in zip(names, families, strict=True)}


SHARPNESS = 8.0
"""With a long record, a candidate with twice the error of the best has a weight 2^8 times smaller."""
A_HORIZON = 3.0
"""Added to the sharpness, which starts at 1, for each horizon seen: a test on a few steps says little about the horizon."""
NEGLIGIBLE = 1e-6
"""Losses that differ by less than this share of the load are equal."""


def weights_of(losses: Mapping[str, float], beliefs: Mapping[str, float], load: float, horizons: float) -> dict[str, float]:
    """Return normalised weights: belief times (loss / smallest loss)^-n, where n rises to SHARPNESS with the `horizons` that the losses cover.

    `load` is the sum of the truth, which losses are relative to.

    >>> [weights_of({"good": 1.0, "bad": 2.0}, {"good": 1.0, "bad": 1.0}, 100.0, horizons)["bad"].__round__(4) for horizons in (0.0, 1.0, 9.0)]
    [0.3333, 0.0588, 0.0039]
    """
    names = list(beliefs)
    floor = NEGLIGIBLE * load
    best = min((losses.get(name, 0.0) for name in names), default=0.0) + floor
    sharpness = min(SHARPNESS, 1 + A_HORIZON * horizons)
    raw = {name: beliefs[name] * ((losses.get(name, 0.0) + floor) / best) ** -sharpness if best > 0 else beliefs[name] for name in names}
    total = sum(raw.values())
    return {name: value / total for name, value in raw.items()}
