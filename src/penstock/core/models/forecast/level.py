"""The load stays where it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.forecast.candidate import Parameters

NAIVE = "naive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """The average of the last `window` values, for ever; with a window of one, the naive forecast.

    >>> Level(window=2).paths({}, np.array([[1.0, 2.0, 4.0]]), 2).tolist()
    [[3.0, 3.0]]
    """

    window: int = 1

    @property
    def name(self) -> str:
        return NAIVE if self.window == 1 else f"level-{self.window}"

    @property
    def needs(self) -> int:
        return self.window

    def paths(self, parameters: Parameters, windows: Floats, horizon: int) -> Floats:
        return np.repeat(windows[:, -self.window :].mean(axis=1, keepdims=True), horizon, axis=1)
