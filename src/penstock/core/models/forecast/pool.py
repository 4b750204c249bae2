"""Which forecasters compete, and what each is believed before it was tested."""

from __future__ import annotations

from functools import lru_cache

from penstock.core.models.forecast.arima import Arima
from penstock.core.models.forecast.candidate import Candidate, Learner
from penstock.core.models.forecast.ets import Ets
from penstock.core.models.forecast.harmonic import Harmonic
from penstock.core.models.forecast.level import Level
from penstock.core.models.forecast.line import Line
from penstock.core.models.forecast.seasonal import Seasonal

LEVEL_SHARES = (1 / 15, 1 / 3, 1.0)
LINE_SHARES = (1 / 30, 1 / 15, 1 / 9, 1 / 5, 1 / 2, 1.0, 2.0)
"""Windows as a share of the horizon."""
FADING_SHARES = (1 / 6, 1 / 3, 2 / 3, 4 / 3, None)
"""Time constants of a fading slope as a share of the horizon; None never fades."""
FAMILY_BELIEF = {"naive": 0.5, "level": 0.5, "line": 1.0, "harmonic": 0.1, "autoets": 0.1, "autoarima": 0.1, "seasonal": 0.1}
"""Before any test, to stay and to go on count the same, and each model of its own a tenth; what a family has is shared among its members."""


@lru_cache(maxsize=8)
def cheap(horizon: int) -> tuple[Candidate, ...]:
    """The candidates that need no fit."""
    levels = {round(share * horizon) for share in LEVEL_SHARES} | {1}
    windows = {round(share * horizon) for share in LINE_SHARES}
    lines = [Line(window=window, fading=share and share * horizon) for window in sorted(windows) if window > 2 for share in FADING_SHARES]
    return (*(Level(window=window) for window in sorted(levels) if window > 0), *lines, Harmonic())


NAIVE, PAPER = Level(), Arima()
"""The constant and the paper's forecaster (Daedalus sec. 3.3), beside which a forecast is scored."""
SLOW: tuple[Learner, ...] = (Ets(), Seasonal(), PAPER)
"""The candidates that need one; AutoARIMA last, whose search takes the longest."""


def beliefs(names: tuple[str, ...]) -> dict[str, float]:
    """The weight of each before it was tested.

    >>> beliefs(("naive", "level-6", "line-3", "harmonic"))
    {'naive': 0.5, 'level-6': 0.5, 'line-3': 1.0, 'harmonic': 0.1}
    """
    families = [name.split("-")[0] for name in names]
    return {name: FAMILY_BELIEF[family] / families.count(family) for name, family in zip(names, families, strict=True)}
