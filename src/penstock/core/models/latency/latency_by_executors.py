"""Phoebe's M_L: the latency of some executors at a rate, and whether they keep up."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import inf
from typing import Self

import numpy as np

from penstock.core.domain.profile import ProfileSeen
from penstock.core.models.estimate import Estimate, NotReady
from penstock.core.models.latency.knee import Knee
from penstock.core.models.latency.profile_fit import Forms, ProfileFit, ProfileReading, fit
from penstock.core.models.latency.profile_trial import FEWEST_POINTS, Trial, left_out, points, trial
from penstock.core.models.score import Score
from penstock.core.models.surrogate.crossvalidation import within_errors

MOST_ROWS = 1000
"""Older rows are forgotten: more than ten profiles of 8 numbers of executors at 12 rates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedLatency:
    """A prediction of M_L: `valid` is Phoebe's L_C; where it is False latency grows with time, so its upper bound is infinite."""

    latency: Estimate
    valid: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyByExecutors:
    """Latency and validity over (executors, rate), learnt from profiling runs (Phoebe sec. III-D).

    The latency falls with the number of executors and rises with the rate; more rate never makes an invalid point valid, more executors never a valid one
    invalid. Beside the paper's boosting there are physical forms; the one with the smallest held-out error on this profile is used.
    `forgotten` counts the rows that were learnt and are no longer kept.
    """

    observations: tuple[ProfileSeen, ...] = ()
    reading: ProfileReading = field(default_factory=ProfileReading)
    forgotten: int = 0

    @property
    def rows(self) -> int:
        """Rows learnt so far, forgotten ones included."""
        return self.forgotten + len(self.observations)

    def learn(self, seen: Sequence[ProfileSeen]) -> Self:
        known = (*self.observations, *seen)
        return replace(self, observations=known[-MOST_ROWS:], forgotten=self.forgotten + max(0, len(known) - MOST_ROWS))

    def predict(self, executors: int, rate_rows_per_s: float) -> ExpectedLatency | NotReady:
        """Predict the latency with bounds, and whether the executors keep up with the rate."""
        if (missing := self._missing()) is not None:
            return missing
        held_out, fitted = _trial(self), _fit(self)
        at = np.array([float(executors)]), np.array([float(rate_rows_per_s)])
        expected = within_errors(float(fitted.latency_s(held_out.forms, *at)[0]), held_out.log_errors)
        valid = bool(fitted.valid(held_out.forms[1], *at)[0])
        return ExpectedLatency(latency=expected if valid else replace(expected, high=inf), valid=valid)

    def t_max(self, executors: int) -> Estimate | NotReady:
        """Return the first unstable rate of a profiled number of executors, with the last stable one as its lower bound."""
        knee = next((knee for knee in self.knees() if knee.executors == executors), None)
        if knee is None:
            return NotReady(why=f"no profile with {executors} executors")
        if knee.first_unstable_rows_per_s is None:
            return NotReady(why=f"{executors} executors kept up with every rate that was tried, up to {knee.last_stable_rows_per_s:.6g} rows/s")
        return Estimate(value=knee.first_unstable_rows_per_s, low=knee.last_stable_rows_per_s or 0.0, high=knee.first_unstable_rows_per_s)

    def knees(self) -> tuple[Knee, ...]:
        """Return the last stable and the first unstable rate of each profiled number of executors."""
        return _fit(self).knees if self.observations else ()

    def forms(self) -> Forms | NotReady:
        """Return the forms in use, chosen by held-out error unless requested."""
        missing = self._missing()
        return _trial(self).forms if missing is None else missing

    def score(self) -> Score | NotReady:
        """Return the error on rows that kept up, held out from the choice of the forms too, compared with plain boosting."""
        missing = self._missing()
        return _left_out(self)[0] if missing is None else missing

    def validity_accuracy(self) -> float | NotReady:
        """Return the share of held-out rows whose validity is predicted right: the given one, else that by clusters of the whole profile."""
        missing = self._missing()
        return _left_out(self)[1] if missing is None else missing

    def constant_validity_accuracy(self) -> float | NotReady:
        """Return the same share for a constant prediction, the validity of most rows."""
        missing = self._missing()
        if missing is not None:
            return missing
        valid = float(np.mean(_fit(self).kept_up))
        return max(valid, 1.0 - valid)

    def _missing(self) -> NotReady | None:
        profiled = points(self.observations)
        if profiled < FEWEST_POINTS:
            return NotReady(why=f"profiled at {profiled} of at least {FEWEST_POINTS} different numbers of executors and rates")
        return None if bool(_fit(self).kept_up.any()) else NotReady(why="no profiled number of executors kept up with any rate that was tried")


@lru_cache(maxsize=16)
def _fit(model: LatencyByExecutors) -> ProfileFit:
    return fit(model.observations, model.reading)


@lru_cache(maxsize=16)
def _trial(model: LatencyByExecutors) -> Trial:
    return trial(model.observations, model.reading)


@lru_cache(maxsize=4)
def _left_out(model: LatencyByExecutors) -> tuple[Score, float]:
    return left_out(model.observations, model.reading)
