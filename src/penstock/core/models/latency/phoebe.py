"""Phoebe's M_L: what latency a scale-out has at a rate, and whether it keeps up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np

from penstock.core.models.estimate import Estimate, NotReady
from penstock.core.models.latency.knee import Knee
from penstock.core.models.latency.profile import LatencyForm, ProfileReading, ProfileSeen, ValidityForm
from penstock.core.models.latency.profile_fit import fit
from penstock.core.models.latency.profile_trial import CHOICE_FOLDS, SCORE_FOLDS, Trial, trial
from penstock.core.models.score import Score
from penstock.core.models.surrogate.bounds import bounded

__all__ = ["ExpectedLatency", "ProfileReading", "ProfileSeen", "ScaleoutLatency"]

MOST_ROWS = 1000
"""Older rows are forgotten: more than ten profiles of 8 scale-outs at 12 rates."""
FEWEST_POINTS = 4
"""Different (scale-out, rate) below which nothing can be held out and nothing be said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedLatency:
    """M_L's answer: `valid` is Phoebe's L_C; past it the latency grows with time, so its bound is infinite."""

    latency: Estimate
    valid: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleoutLatency:
    """Latency and validity over (scale-out, rate), learnt from profiling runs (Phoebe sec. III-D).

    The latency falls with the scale-out and rises with the rate; more rate never makes an invalid point valid, more executors never a valid one
    invalid. Beside the paper's boosting there are physical forms; the one with the smallest held-out error on this profile answers.
    """

    observations: tuple[ProfileSeen, ...] = ()
    reading: ProfileReading = field(default_factory=ProfileReading)

    def learn(self, seen: Sequence[ProfileSeen]) -> ScaleoutLatency:
        return replace(self, observations=(*self.observations, *seen)[-MOST_ROWS:])

    def predict(self, scaleout: int, rate_rows_per_s: float) -> ExpectedLatency | NotReady:
        """The expected latency with its bounds, and whether the scale-out keeps up with the rate."""
        held_out = self._held_out()
        if isinstance(held_out, NotReady):
            return held_out
        form, validity = held_out.latency_form(), held_out.validity_form()
        fitted = fit(self.observations, self.reading)
        at = np.array([float(scaleout)]), np.array([float(rate_rows_per_s)])
        value = float(fitted.latency_s(form, validity, *at)[0])
        valid = bool(fitted.valid(validity, *at)[0])
        expected = bounded(value, np.array(held_out.log_errors(form), dtype=float))
        return ExpectedLatency(latency=expected if valid else replace(expected, high=inf), valid=valid)

    def t_max(self, scaleout: int) -> Estimate | NotReady:
        """The rate at which a profiled scale-out stops keeping up: the first that was too much, bounded below by the last that was not.

        Other scale-outs are for the capacity over scale-outs to answer.
        """
        knee = next((knee for knee in self.knees() if knee.scaleout == scaleout), None)
        if knee is None:
            return NotReady(why=f"no profile at scale-out {scaleout}")
        if knee.first_unstable_rows_per_s is None:
            return NotReady(why=f"scale-out {scaleout} kept up with every rate that was tried, up to {knee.last_stable_rows_per_s:.6g} rows/s")
        return Estimate(value=knee.first_unstable_rows_per_s, low=knee.last_stable_rows_per_s or 0.0, high=knee.first_unstable_rows_per_s)

    def knees(self) -> tuple[Knee, ...]:
        """The last stable and the first unstable rate of each profiled scale-out."""
        return fit(self.observations, self.reading).knees if self.observations else ()

    def forms(self) -> tuple[LatencyForm, ValidityForm] | NotReady:
        """The forms that answer, chosen by held-out error unless they were asked for."""
        held_out = self._held_out()
        return held_out if isinstance(held_out, NotReady) else (held_out.latency_form(), held_out.validity_form())

    def score(self) -> Score | NotReady:
        """The error of the expected latency on rows that kept up, each (scale-out, rate) left out in turn; beside it plain gradient boosting.

        The form itself was chosen on all rows.
        """
        forms = self.forms()
        if isinstance(forms, NotReady):
            return forms
        left_out = self._left_out(forms)
        assert left_out.paper_s is not None
        return Score(
            mape=left_out.mape(left_out.latency_s[forms[0]]),
            constant_mape=left_out.mape(left_out.constant_s),
            paper_mape=left_out.mape(left_out.paper_s),
            held_out=int(left_out.valid.sum()),
        )

    def validity_accuracy(self) -> float | NotReady:
        """The share of points whose validity is foretold without having seen them: as given, else as the clusters of the whole profile have it."""
        forms = self.forms()
        return forms if isinstance(forms, NotReady) else self._left_out(forms).accuracy(forms[1])

    def _left_out(self, forms: tuple[LatencyForm, ValidityForm]) -> Trial:
        reading = replace(self.reading, latency_form=forms[0], validity_form=forms[1])
        return trial(self.observations, reading, SCORE_FOLDS, with_paper=True)

    def _held_out(self) -> Trial | NotReady:
        points = {(row.scaleout, row.rate_rows_per_s) for row in self.observations}
        if len(points) < FEWEST_POINTS:
            return NotReady(why=f"profiled at {len(points)} of at least {FEWEST_POINTS} different scale-outs and rates")
        held_out = trial(self.observations, self.reading, CHOICE_FOLDS)
        return held_out if bool(held_out.valid.any()) else NotReady(why="no profiled scale-out kept up with any rate that was tried")
