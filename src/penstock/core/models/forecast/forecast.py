"""A forecast of the load: the path of mean rates, and paths of its quantiles."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

LEVELS = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
"""The quantiles that a forecast carries; those between them are interpolated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """`mean[i]` is the expected rate over [start_s + i * step_s, start_s + (i + 1) * step_s); `paths[k]` the quantile `levels[k]` of the same steps.

    >>> load = Forecast(start_s=60.0, step_s=10.0, mean=(5.0, 6.0), levels=(0.1, 0.9), paths=((4.0, 4.0), (6.0, 8.0)))
    >>> load.at(0.5), load.end_s
    ((5.0, 6.0), 80.0)
    """

    start_s: float
    step_s: float
    mean: tuple[float, ...]
    levels: tuple[float, ...]
    paths: tuple[tuple[float, ...], ...]
    shares: tuple[tuple[str, float], ...] = ()
    """The weight of each kind of candidate."""

    @property
    def end_s(self) -> float:
        return self.start_s + self.step_s * len(self.mean)

    def at(self, quantile: float) -> tuple[float, ...]:
        """Return the path of a quantile, interpolated linearly between the levels carried.

        >>> Forecast(start_s=0.0, step_s=1.0, mean=(5.0,), levels=(0.1, 0.9), paths=((4.0,), (8.0,))).at(0.7)
        (7.0,)
        """
        if not self.levels[0] <= quantile <= self.levels[-1]:
            raise ValueError(f"a forecast knows its quantiles from {self.levels[0]} to {self.levels[-1]}, not {quantile}")
        return tuple(round(float(np.interp(quantile, self.levels, step)), 9) for step in zip(*self.paths, strict=True))

    def first(self, steps: int) -> Self:
        return replace(self, mean=self.mean[:steps], paths=tuple(path[:steps] for path in self.paths))

    def later(self, steps: int) -> Self:
        """Return the forecast without its first steps."""
        if not steps:
            return self
        return replace(self, start_s=self.start_s + steps * self.step_s, mean=self.mean[steps:], paths=tuple(path[steps:] for path in self.paths))
