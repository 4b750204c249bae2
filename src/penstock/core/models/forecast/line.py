"""The latest slope continued: for ever (the fallback of Daedalus sec. 3.3), or fading (the damped trend of Gardner and McKenzie, 1985)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.forecast.candidate import Parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The least-squares line through the last `window` values; its slope fades with the time constant `fading` (in steps), None for never.

    After h steps a slope b has added b h, or b f (1 - exp(-h / f)) where it fades.

    >>> Line(window=3).paths({}, np.array([[0.0, 2.0, 4.0]]), 2).round(9).tolist()
    [[6.0, 8.0]]
    >>> Line(window=3, fading=1.0).paths({}, np.array([[0.0, 2.0, 4.0]]), 1).round(3).tolist()
    [[5.264]]
    """

    window: int
    fading: float | None = None

    @property
    def name(self) -> str:
        return f"line-{self.window}" if self.fading is None else f"line-{self.window}-fading-{self.fading:g}"

    @property
    def needs(self) -> int:
        return self.window

    def paths(self, parameters: Parameters, windows: Floats, horizon: int) -> Floats:
        last = windows[:, -self.window :]
        time = np.arange(self.window) - (self.window - 1) / 2
        slope = last @ time / (time @ time)
        level = last.mean(axis=1) + slope * time[-1]
        ahead = np.arange(1, horizon + 1)
        reach = ahead if self.fading is None else self.fading * -np.expm1(-ahead / self.fading)
        return np.asarray(level[:, None] + slope[:, None] * reach)
