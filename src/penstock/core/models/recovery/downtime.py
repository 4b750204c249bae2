"""Downtime of a job after a disturbance, learnt by kind of disturbance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from penstock.core.domain.disturbance import DisturbanceKind
from penstock.core.models.estimate import Estimate, NotReady, student_estimate_by_ratio
from penstock.core.models.score import PrequentialErrors, Score

PRIOR_WEIGHT = 2.0
"""Observations that a prior is worth; for the mean, each observation halves that, as downtimes vary little (Phoebe sec. III-B)."""
PRIOR_SPREAD = math.log(1.5)
"""Standard deviation of the logarithm of downtimes, before they show their own."""
HALF_LIFE = 10
"""Newer observations of a kind after which one counts half."""
LOST_EXECUTOR_S = 2.0
"""Downtime of an executor lost in micro-batches before one was seen: its tasks are retried, nothing restarts.

SPARK-FACTS: a batch took 4.9 s, not 2.4 s; about 0.5 s of that is the repeated work of the lost executor."""
SHORTEST_S = 0.05
"""Shorter downtimes count as this, as logarithms are learnt."""

_KEPT = 0.5 ** (1 / HALF_LIFE)


@dataclass(frozen=True, slots=True, kw_only=True)
class DowntimeSeen:
    """The downtime of one disturbance."""

    kind: DisturbanceKind
    downtime_s: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.downtime_s) and self.downtime_s >= 0):
            raise ValueError(f"a downtime must be 0 s or more, found {self.downtime_s}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Priors:
    """Downtimes expected before any was seen: rescales as in Daedalus sec. 3.4; a failure takes its detection plus the restart of its kind.

    >>> Priors(detection_s=20.0, restart_s={"query_restart": 10.0}).of("query_restart")
    30.0
    """

    rescale_up_s: float = 30.0
    rescale_down_s: float = 15.0
    detection_s: float | None = None
    restart_s: dict[DisturbanceKind, float] = field(default_factory=dict)

    def of(self, kind: DisturbanceKind) -> float | None:
        """Return the expected downtime of a kind; None if it is unknown."""
        if kind == "rescale_up":
            return self.rescale_up_s
        if kind == "rescale_down":
            return self.rescale_down_s
        restart_s = self.restart_s.get(kind)
        return None if self.detection_s is None or restart_s is None else self.detection_s + restart_s


@dataclass(frozen=True, slots=True, kw_only=True)
class LogMoments:
    """Exponentially weighted mean and sum of squared deviations of logarithms; `weight` is the number of new observations they are worth."""

    seen: int = 0
    weight: float = 0.0
    mean: float = 0.0
    squares: float = 0.0

    def including(self, value: float) -> LogMoments:
        """Add an observation and decay the earlier ones by one step (West's weighted update)."""
        weight = _KEPT * self.weight + 1.0
        off = value - self.mean
        mean = self.mean + off / weight
        return LogMoments(seen=self.seen + 1, weight=weight, mean=mean, squares=_KEPT * self.squares + off * (value - mean))


@dataclass(frozen=True, slots=True, kw_only=True)
class Downtimes:
    """Learns the downtime of each kind of disturbance separately.

    >>> model = Downtimes()
    >>> round(model.predict("rescale_up").value, 1), model.predict("executor_loss").why
    (30.0, 'no executor_loss was seen yet, and its detection and restart times are unknown')
    >>> seen = model.learn([DowntimeSeen(kind="rescale_up", downtime_s=60.0)] * 5)
    >>> round(seen.predict("rescale_up").value, 1), round(seen.predict("rescale_down").value, 1)
    (59.4, 15.0)
    """

    priors: Priors = field(default_factory=Priors)
    learnt: dict[DisturbanceKind, LogMoments] = field(default_factory=dict)
    errors: dict[DisturbanceKind, PrequentialErrors] = field(default_factory=dict)

    def learn(self, seen: Sequence[DowntimeSeen]) -> Self:
        model = self
        for each in seen:
            model = model._including(each.kind, max(each.downtime_s, SHORTEST_S))
        return model

    def predict(self, kind: DisturbanceKind) -> Estimate | NotReady:
        """Predict the median of the next downtime of a kind, with bounds for that one downtime.

        A normal distribution of logarithms with unknown mean and spread: the prior is the mean of k earlier observations, and the bounds are those of
        Student's distribution for one more.
        """
        moments, prior_s = self.learnt.get(kind, LogMoments()), self.priors.of(kind)
        if prior_s is None and moments.seen == 0:
            return NotReady(why=f"no {kind} was seen yet, and its detection and restart times are unknown")
        prior_weight = 0.0 if prior_s is None else PRIOR_WEIGHT * 0.5**moments.seen
        prior = 0.0 if prior_s is None else math.log(max(prior_s, SHORTEST_S))
        weight = prior_weight + moments.weight
        centre = (prior_weight * prior + moments.weight * moments.mean) / weight
        disagreement = prior_weight * moments.weight / weight * (moments.mean - prior) ** 2
        spread_weight = PRIOR_WEIGHT * _KEPT**moments.seen
        freedom = spread_weight + moments.weight - (1.0 if prior_s is None else 0.0)
        variance = (spread_weight * PRIOR_SPREAD**2 + moments.squares + disagreement) / freedom
        return student_estimate_by_ratio(math.exp(centre), math.sqrt(variance * (1 + 1 / weight)), freedom)

    def score(self, kind: DisturbanceKind) -> Score | NotReady:
        """Return the errors of one-step-ahead predictions, compared with the mean of earlier downtimes and the fixed ones of Daedalus sec. 3.4."""
        return self.errors.get(kind, PrequentialErrors()).score()

    def _including(self, kind: DisturbanceKind, downtime_s: float) -> Self:
        predicted = self.predict(kind)
        errors = self.errors.get(kind, PrequentialErrors()).with_one(
            downtime_s, predicted.value if isinstance(predicted, Estimate) else None, self.priors.of(kind)
        )
        moments = self.learnt.get(kind, LogMoments()).including(math.log(downtime_s))
        return replace(self, learnt={**self.learnt, kind: moments}, errors={**self.errors, kind: errors})
