"""The schedule of a trace: the newest position at any time, and the arrival time of any position."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from penstock.core.errors import UserMistake
from penstock.core.shapes.chance import FloatArray, IntArray
from penstock.core.shapes.curve import LinearRate
from penstock.core.shapes.timeline import Override, Timeline, TraceRecipe, timeline_of

__all__ = ["ArrivalSlice", "Override", "Schedule", "TraceRecipe"]

_ROUNDING_ROWS = 1e-6
_MAX_PIECES = 4096


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ArrivalSlice:
    """The arrival times of a range of positions, small enough to send with a task."""

    first: int
    end: int
    start_s: float
    pieces: LinearRate

    def arrival_of(self, positions: IntArray) -> FloatArray:
        """Return the wall times at which these rows arrive."""
        if len(positions) and not self.first <= int(positions.min()) <= int(positions.max()) < self.end:
            raise ValueError(f"positions {positions.min()} to {positions.max()} are not all in {self.first} to {self.end - 1}")
        due = np.minimum((positions - self.first).astype(np.float64), self.pieces.rows[-1])
        return self.start_s + self.pieces.time_of(due)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A recipe, the wall time at which its trace began, and every change of its rate since.

    Row p (from 0) arrives when the integral of the rate reaches p + 1, less a millionth of a row for rounding.

    >>> schedule = Schedule.begin(TraceRecipe(shape="constant(100)"), 1000.0).with_override(Override(from_s=1010.0, rows_per_s=500.0))
    >>> schedule.newest_at(1011.0), schedule.arrival_of(np.array([0, 1499])).round(3).tolist()
    (1500, [1000.01, 1011.0])
    """

    recipe: TraceRecipe
    epoch_s: float
    overrides: tuple[Override, ...] = ()

    def __post_init__(self) -> None:
        for override in self.overrides:
            if not math.isfinite(override.from_s) or not all(0 <= each < math.inf for each in (override.rows_per_s or 0.0, override.times or 0.0)):
                raise ValueError(f"{override} is not an override: its start must be finite and its rate 0 or more")
        if any(later.from_s < earlier.from_s for earlier, later in zip(self.overrides, self.overrides[1:], strict=False)):
            raise ValueError("an override cannot start before one that exists: rows that were sent would change")

    @classmethod
    def begin(cls, recipe: TraceRecipe, now_s: float) -> Self:
        """Return a schedule whose trace begins now."""
        return cls(recipe=recipe, epoch_s=now_s)

    def rate_at(self, wall_s: float) -> float:
        """Return rows/s at a time; 0 before the epoch."""
        return float(self._timeline.rate_at(np.array([wall_s]))[0])

    def newest_at(self, wall_s: float) -> int:
        """Return how many rows have arrived by a time, which is the position of the next one."""
        return math.floor(float(self._timeline.rows_at(np.array([wall_s]))[0]) + _ROUNDING_ROWS)

    def arrival_of(self, positions: IntArray) -> FloatArray:
        """Return the wall times at which these rows arrive; infinite for never."""
        return self._timeline.wall_of(_due(positions))

    def with_override(self, override: Override) -> Self:
        """Return the schedule with another rate from a time on."""
        return replace(self, overrides=(*self.overrides, override))

    def slice(self, first: int, end: int) -> ArrivalSlice:
        """Return the arrivals of positions first to end - 1, exact to a microsecond where the range spans at most 4096 seconds of trace or rows of a CSV.

        Longer ranges are exact at 2048 evenly spaced times and 2048 evenly spaced positions, and interpolated between.
        """
        if not 0 <= first < end:
            raise ValueError(f"positions {first} to {end} are no range")
        timeline = self._timeline
        from_s, to_s = timeline.wall_of(_due(np.array([first, end - 1])))
        if not math.isfinite(to_s):
            raise ValueError(f"position {end - 1} never arrives")
        wall_s = timeline.cuts(from_s, max(to_s, from_s + 1e-6), _MAX_PIECES)
        width_s = np.diff(wall_s)
        rows = np.maximum.accumulate(timeline.rows_at(wall_s) - _due(np.array([first])))
        mean_rate = np.diff(rows) / width_s
        early, late = (timeline.rate_at(wall_s[:-1] + width_s * share) for share in (0.25, 0.75))
        linear = np.isclose((early + late) / 2, mean_rate, rtol=1e-3)
        rate_in = np.where(linear, np.clip(1.5 * early - 0.5 * late, 0.0, 2 * mean_rate), mean_rate)
        pieces = LinearRate(border_s=wall_s - from_s, rate_in=rate_in, rate_out=2 * mean_rate - rate_in, rows=rows)
        return ArrivalSlice(first=first, end=end, start_s=float(from_s), pieces=pieces)

    def state(self) -> dict[str, Any]:
        """Return the JSON to keep beside the checkpoint: everything but the recipe, which is identified by its fingerprint."""
        return {"epoch_s": self.epoch_s, "overrides": [[each.from_s, each.rows_per_s, each.times] for each in self.overrides], **_identity(self.recipe)}

    @classmethod
    def resume(cls, recipe: TraceRecipe, state: Mapping[str, Any]) -> Self:
        """Return the schedule of a stored state; the recipe must be the one that it began with."""
        for key, now in _identity(recipe).items():
            if state[key] != now:
                raise UserMistake(
                    f"trace: {key}: found {now}, the checkpoint began with {state[key]}; the trace of a checkpoint cannot change, use another checkpoint"
                )
        overrides = tuple(Override(from_s=from_s, rows_per_s=rows_per_s, times=times) for from_s, rows_per_s, times in state["overrides"])
        return cls(recipe=recipe, epoch_s=state["epoch_s"], overrides=overrides)

    @property
    def _timeline(self) -> Timeline:
        return timeline_of(self.recipe, self.epoch_s, self.overrides)


def _due(positions: IntArray) -> FloatArray:
    """Return the integral of the rate at which each position arrives."""
    return positions.astype(np.float64) + (1 - _ROUNDING_ROWS)


def _identity(recipe: TraceRecipe) -> dict[str, Any]:
    return {"trace": recipe.fingerprint, "compression": recipe.compression, "rate_factor": recipe.rate_factor}
