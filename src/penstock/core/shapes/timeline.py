"""Rows due over wall time: the recipe of a trace, and stretches that follow it or have a rate set by an operator."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Self

import numpy as np

from penstock.core.domain.units import parse_rate_rows_per_s
from penstock.core.errors import UserMistake
from penstock.core.shapes.chance import FloatArray, IntArray
from penstock.core.shapes.curve import AT_END, KnotCurve, Knots, RateCurve, curve_of_shape
from penstock.core.shapes.shape import parse_shape


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRecipe:
    """What defines the rate of a trace, fixed for the life of its checkpoint: a shape with its seed, or the knots of a CSV and what follows them.

    `compression` is trace seconds per wall second; the rate at a trace time stays, so a compressed trace has fewer rows.
    """

    shape: str | None = None
    seed: int = 0
    knots: Knots | None = None
    at_end: str = "hold"
    compression: float = 1.0
    rate_factor: float = 1.0

    def __post_init__(self) -> None:
        if (self.shape is None) == (self.knots is None):
            raise ValueError("a trace has either a shape or knots")
        if self.at_end not in AT_END:
            raise UserMistake(f"trace: at_end: found {self.at_end!r}, one of {', '.join(AT_END)} is allowed")
        if not 1e-6 <= self.compression <= 1e6:
            raise UserMistake(f"trace: compression: found {self.compression:g}, a number from 1e-6 to 1e6 is allowed")
        if not 0 <= self.rate_factor <= 1e6:
            raise UserMistake(f"trace: rate factor: found {self.rate_factor:g}, a number from 0 to 1e6 is allowed")
        if self.shape is not None:
            parse_shape(self.shape, self.seed)

    @property
    def fingerprint(self) -> str:
        """The trace in one line; traces that differ here send different rows.

        >>> TraceRecipe(shape="constant(2k)", seed=7).fingerprint
        'constant(rate=2000), seed 7'
        """
        if self.knots is not None:
            return f"csv {self.knots.digest}, at_end {self.at_end}"
        return f"{parse_shape(self.shape or '')}, seed {self.seed}"


@lru_cache(maxsize=8)
def curve_of(recipe: TraceRecipe) -> RateCurve:
    """Return the curve of a recipe (cached)."""
    return KnotCurve(recipe.knots, recipe.at_end) if recipe.knots else curve_of_shape(parse_shape(recipe.shape or "", recipe.seed))


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """A rate from a wall time on; None follows the trace again, at its time then or, with `times`, from its start at so many times its rate."""

    from_s: float
    rows_per_s: float | None = None
    times: float | None = None

    @classmethod
    def parse(cls, text: str, from_s: float) -> Self:
        """Return what an operator asks for: a rate, "trace" to follow the trace again, "restart" to begin it again, "restart:0.5" at half its rate.

        >>> Override.parse("2k/s", 0.0).rows_per_s, Override.parse("trace", 0.0).times, Override.parse("restart:0.5", 0.0).times
        (2000.0, None, 0.5)
        """
        if text == "trace":
            return cls(from_s=from_s)
        word, colon, times = text.partition(":")
        if word != "restart":
            return cls(from_s=from_s, rows_per_s=parse_rate_rows_per_s(text))
        if colon and not re.fullmatch(r"\d+(\.\d+)?", times):
            raise UserMistake(f'found {text!r}, "restart" or a number of times its rate such as "restart:0.5" is allowed')
        return cls(from_s=from_s, times=float(times) if colon else 1.0)


class Timeline:
    """The integral of the rate from the epoch on, in stretches that last until the next begins."""

    def __init__(self, recipe: TraceRecipe, epoch_s: float, overrides: Sequence[Override]) -> None:
        self._curve = curve_of(recipe)
        self._epoch_s = epoch_s
        self._compression = recipe.compression
        begun = list(accumulate(overrides, _begun, initial=(epoch_s, 1.0)))
        self._origin_s = np.array([max(from_s, epoch_s) for from_s, _ in begun])
        self._factor = recipe.rate_factor * np.array([times for _, times in begun])
        self._start_s = np.array([epoch_s, *(max(each.from_s, epoch_s) for each in overrides)])
        self._follows = np.array([True, *(each.rows_per_s is None for each in overrides)])
        self._fixed = np.array([0.0, *(each.rows_per_s or 0.0 for each in overrides)])
        self._traced = self._curve.rows_by((self._start_s - self._origin_s) * self._compression)
        self._before = np.zeros(len(self._start_s))
        for number in range(len(self._start_s) - 1):
            self._before[number + 1] = self._rows_in(np.array([number]), self._start_s[number + 1 : number + 2])[0]

    def rate_at(self, wall_s: FloatArray) -> FloatArray:
        stretch = self._stretch_at(wall_s)
        traced = self._factor[stretch] * self._curve.rate_at(np.maximum(wall_s - self._origin_s[stretch], 0.0) * self._compression)
        return np.where(wall_s < self._epoch_s, 0.0, np.where(self._follows[stretch], traced, self._fixed[stretch]))

    def rows_at(self, wall_s: FloatArray) -> FloatArray:
        """Return the rows due by these times, as real numbers; 0 before the epoch."""
        wall_s = np.maximum(wall_s, self._epoch_s)
        return self._rows_in(self._stretch_at(wall_s), wall_s)

    def wall_of(self, rows: FloatArray) -> FloatArray:
        """Return the earliest wall times at which these numbers of rows are due; infinite for never."""
        stretch = np.clip(np.searchsorted(self._before, rows, side="left") - 1, 0, None)
        due = rows - self._before[stretch]
        follows, fixed, factor = self._follows[stretch], self._fixed[stretch], self._factor[stretch]
        wall_s: FloatArray = self._start_s[stretch] + np.divide(due, fixed, out=np.full_like(due, np.inf), where=fixed > 0)
        traced = follows & (factor > 0)
        trace_rows = self._traced[stretch[traced]] + due[traced] * (self._compression / factor[traced])
        wall_s[traced] = self._origin_s[stretch[traced]] + self._curve.time_of(trace_rows) / self._compression
        return np.clip(wall_s, self._start_s[stretch], np.append(self._start_s[1:], np.inf)[stretch])

    def cuts(self, from_s: float, to_s: float, at_most: int) -> FloatArray:
        """Return wall times from one to the other between which the rate is linear; where they are too many, times evenly spaced in time and in rows."""
        first, last = self._stretch_at(np.array([from_s, to_s]))
        inside, left = [self._start_s], at_most - len(self._start_s)
        for origin_s in np.unique(self._origin_s[first : last + 1]).tolist():
            breaks = self._curve.breaks((max(from_s, origin_s) - origin_s) * self._compression, (to_s - origin_s) * self._compression, left)
            left = -1 if breaks is None else left - len(breaks)
            if breaks is None or left < 0:
                break
            inside.append(origin_s + breaks / self._compression)
        if left < 0:
            low, high = self.rows_at(np.array([from_s, to_s]))
            inside = [np.linspace(from_s, to_s, at_most // 2), self.wall_of(np.linspace(low, high, at_most // 2))]
        at_s = np.concatenate(inside)
        return np.unique(np.concatenate(([from_s, to_s], at_s[(at_s > from_s) & (at_s < to_s)])))

    def _stretch_at(self, wall_s: FloatArray) -> IntArray:
        return np.clip(np.searchsorted(self._start_s, wall_s, side="right") - 1, 0, None)

    def _rows_in(self, stretch: IntArray, wall_s: FloatArray) -> FloatArray:
        traced = self._curve.rows_by((wall_s - self._origin_s[stretch]) * self._compression) - self._traced[stretch]
        fixed = self._fixed[stretch] * (wall_s - self._start_s[stretch])
        return self._before[stretch] + np.where(self._follows[stretch], traced * (self._factor[stretch] / self._compression), fixed)


def _begun(before: tuple[float, float], override: Override) -> tuple[float, float]:
    """Return when the trace that is followed from here on began, and its factor."""
    return before if override.times is None else (override.from_s, override.times)


@lru_cache(maxsize=8)
def timeline_of(recipe: TraceRecipe, epoch_s: float, overrides: tuple[Override, ...]) -> Timeline:
    """Return the timeline of a schedule (cached)."""
    return Timeline(recipe, epoch_s, overrides)
