"""How fast a job is beside its profile, as overloads show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from penstock.core.models.estimate import Estimate, NotReady, student_estimate
from penstock.core.models.moments import Running
from penstock.core.models.score import Foretold, Score

SHORT_READINGS = 3
"""Readings of overload in a row before one is believed."""
PROFILE = 1.0
"""The share at which a profile is taken as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceSeen:
    """What a job did at one moment, as a share of the T_max that its profile has for the size; `overloaded` if rows piled up, so that it could not do more."""

    share: float
    overloaded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The share of its profile that a job reaches: 1 until an overload shows less.

    What an overloaded job does is all that it can, so the mean over the newest overload counts; what is done later at any other time is the least that
    it can, and raises the share again. More than the profile is never believed: rows that wait are no proof that latencies would be normal.

    >>> slow = Pace().learn([PaceSeen(share=0.5, overloaded=True)] * 3)
    >>> slow.share, slow.learn([PaceSeen(share=0.75, overloaded=False)]).share
    (0.5, 0.75)
    """

    run: Running = field(default_factory=Running)
    believed: Running = field(default_factory=Running)
    shown: float = 0.0
    foretold: Foretold = field(default_factory=Foretold)

    def learn(self, seen: Sequence[PaceSeen]) -> Pace:
        """Moments in the order of time."""
        pace = self
        for each in seen:
            pace = pace._with_overload(each.share) if each.overloaded else replace(pace, run=Running(), shown=max(pace.shown, each.share))
        return pace

    def interrupted(self) -> Pace:
        """After a moment that shows nothing: readings on both sides of it are not in a row."""
        return replace(self, run=Running()) if self.run.count else self

    def predict(self) -> Estimate | NotReady:
        """The share, within what the scatter of the newest overload leaves open."""
        deviation = self.believed.deviation
        if deviation is None:
            return NotReady(why="no overload was seen yet")
        shown = student_estimate(self.believed.mean, deviation**2 / self.believed.count, self.believed.count - 1.0)
        return Estimate(value=self.share, low=min(1.0, max(shown.low, self.shown)), high=min(1.0, max(shown.high, self.shown)))

    def score(self) -> Score | NotReady:
        """How wrong it was about what the job did next in overload, each time, beside the mean of those before and the profile as it is (Phoebe)."""
        return self.foretold.score()

    @property
    def share(self) -> float:
        return min(1.0, max(self.believed.mean, self.shown)) if self.believed.count else 1.0

    @property
    def is_short(self) -> bool:
        """Whether the job is in an overload now that is believed."""
        return self.run.count >= SHORT_READINGS

    def _with_overload(self, share: float) -> Pace:
        run = self.run.with_value(share)
        told = self.foretold.with_one(share, self.share, PROFILE) if share > 0.0 else self.foretold
        pace = replace(self, run=run, foretold=told)
        return replace(pace, believed=run, shown=0.0) if run.count >= SHORT_READINGS else pace
