"""The rate of a trace over its own time, and how many rows are due by when."""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol

import numpy as np

from penstock.core.shapes.chance import FloatArray
from penstock.core.shapes.knots import KnotCurve, Knots
from penstock.core.shapes.recipe import TraceRecipe
from penstock.core.shapes.sampled import SampledCurve
from penstock.core.shapes.shape import Shape, parse_shape

_SAMPLED_WHOLE_S = 1_000_000


class RateCurve(Protocol):
    """A rate that is piecewise linear in trace time, in seconds from its start; arrays in, arrays out."""

    def rate_at(self, t_s: FloatArray) -> FloatArray:
        """Rows/s at these times."""
        ...

    def rows_by(self, t_s: FloatArray) -> FloatArray:
        """The integral of the rate from 0 to these times: it never falls."""
        ...

    def time_of(self, rows: FloatArray) -> FloatArray:
        """The earliest times at which so many rows are due; infinite for never."""
        ...

    def breaks(self, from_s: float, to_s: float, at_most: int) -> FloatArray | None:
        """The times between these two at which the slope may change; None if they are too many."""
        ...


def curve_of_shape(shape: Shape) -> RateCurve:
    """The curve of a shape, sampled every second; one that settles is held from there on.

    >>> curve_of_shape(parse_shape("step(before=100, after=500, at=60)")).rows_by(np.array([60.0, 61.0, 71.0])).tolist()
    [6000.0, 6300.0, 11300.0]
    """
    if shape.settled_s <= _SAMPLED_WHOLE_S:
        t_s = np.arange(np.ceil(shape.settled_s) + 1)
        return KnotCurve(Knots(t_s=t_s, rate=shape.rate_at(t_s)), "hold")
    return SampledCurve(shape)


@lru_cache(maxsize=8)
def curve_of(recipe: TraceRecipe) -> RateCurve:
    """The curve of a recipe, made once."""
    return KnotCurve(recipe.knots, recipe.at_end) if recipe.knots else curve_of_shape(parse_shape(recipe.shape or "", recipe.seed))
