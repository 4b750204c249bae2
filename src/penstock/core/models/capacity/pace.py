"""The share of its profiled throughput that a job reaches, measured in overload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from penstock.core.models.estimate import Estimate, NotReady, student_estimate
from penstock.core.models.moments import Running
from penstock.core.models.score import PrequentialErrors, Score

SHORT_READINGS = 3
"""Consecutive readings that make an overload."""
PROFILE = 1.0
"""The share of a job that is as fast as its profile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceSeen:
    """Throughput at one moment as a share of the profile's T_max for these executors; `overloaded` if rows piled up, so that it was the maximum."""

    share: float
    overloaded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The share of its profile that a job reaches: 1 until an overload shows less.

    Throughput in overload is the maximum, so the share is the mean over the newest overload. Throughput at any later time is a lower bound, which raises the
    share again. The share is at most 1: a backlog does not prove that latencies would be normal at a higher rate.

    >>> slow = Pace().learn([PaceSeen(share=0.5, overloaded=True)] * 3)
    >>> slow.share, slow.learn([PaceSeen(share=0.75, overloaded=False)]).share
    (0.5, 0.75)
    """

    run: Running = field(default_factory=Running)
    overload: Running = field(default_factory=Running)
    shown: float = 0.0
    errors: PrequentialErrors = field(default_factory=PrequentialErrors)

    def learn(self, seen: Sequence[PaceSeen]) -> Pace:
        """Learn moments in the order of time."""
        pace = self
        for each in seen:
            pace = pace._with_overload(each.share) if each.overloaded else replace(pace, run=Running(), shown=max(pace.shown, each.share))
        return pace

    def interrupted(self) -> Pace:
        """Return the model after a moment without a reading: readings on both sides of it are not consecutive."""
        return replace(self, run=Running()) if self.run.count else self

    def predict(self) -> Estimate | NotReady:
        """Return the share, with bounds from the scatter of the newest overload."""
        deviation = self.overload.deviation
        if deviation is None:
            return NotReady(why="no overload was seen yet")
        shown = student_estimate(self.overload.mean, deviation**2 / self.overload.count, self.overload.count - 1.0)
        return Estimate(value=self.share, low=min(1.0, max(shown.low, self.shown)), high=min(1.0, max(shown.high, self.shown)))

    def score(self) -> Score | NotReady:
        """Return the error on the next reading in overload, beside the mean of those before and the unchanged profile (Phoebe)."""
        return self.errors.score()

    @property
    def share(self) -> float:
        return min(1.0, max(self.overload.mean, self.shown)) if self.overload.count else 1.0

    @property
    def is_short(self) -> bool:
        """Whether the job is in an overload now, for enough readings."""
        return self.run.count >= SHORT_READINGS

    def _with_overload(self, share: float) -> Pace:
        run = self.run.with_value(share)
        errors = self.errors.with_one(share, self.share, PROFILE) if share > 0.0 else self.errors
        pace = replace(self, run=run, errors=errors)
        return replace(pace, overload=run, shown=0.0) if run.count >= SHORT_READINGS else pace
