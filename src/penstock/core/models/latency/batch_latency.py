"""Latency of micro-batches: the physical form, corrected by the latencies that were measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.capacity.batch_cost import BatchCost, BatchMeasured
from penstock.core.models.capacity.batch_law import BatchLaw, LikelyLaws, alike, likely_estimates
from penstock.core.models.estimate import Estimate, NotReady
from penstock.core.models.latency.batch import latency_by_law_s, predict_batch_latency
from penstock.core.models.latency.batch_latencies import latencies_by_laws_s
from penstock.core.models.latency.measured import LatencyMeasured
from penstock.core.models.latency.stretch import Stretch, stretch
from penstock.core.models.once import once
from penstock.core.models.recovery.over_forecast import bounds_of
from penstock.core.models.score import Score, mape
from penstock.core.models.surrogate.crossvalidation import folds, row_groups
from penstock.core.models.surrogate.linear import Plane
from penstock.core.models.surrogate.points import points_of

MOST_LATENCIES = 500
"""Latencies kept; the newest win."""
FEWEST_SCORED = 5
"""A plane over interval, rate and scale-out, and one latency to doubt it."""
MOST_PARTS = 50
"""Each row is left out by itself up to so many rows; beyond, in so many parts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLatency:
    """Wait for the trigger plus batch time, with a bias and a scale in the logarithm that start at the physical form and follow the data.

    It learns from batches and from latencies, in any mixture. Who has latencies alone asks `LatencyRegression`, of which micro-batches are a form.
    `quantile` says what the latencies are: None for means, 0.95 for the 95th percentile.

    >>> batches = [BatchMeasured(rows=n, duration_s=1 + 0.001 * n, scaleout=1) for n in (100.0, 400.0, 900.0, 1600.0, 2500.0)]
    >>> round(BatchLatency(cost=BatchCost(partitions=1)).learn(batches).predict(rate_rows_per_s=200.0, interval_s=4.0).value, 2)
    3.8
    """

    cost: BatchCost
    quantile: float | None = None
    latencies: tuple[LatencyMeasured, ...] = ()

    def learn(self, seen: Sequence[LatencyMeasured | BatchMeasured]) -> Self:
        cost = self.cost.learn([each for each in seen if isinstance(each, BatchMeasured)])
        latencies = self.latencies + tuple(each for each in seen if isinstance(each, LatencyMeasured))
        return replace(self, cost=cost, latencies=latencies[-MOST_LATENCIES:])

    def predict(self, *, rate_rows_per_s: float, interval_s: float, scaleout: int = 1) -> Estimate | NotReady:
        """Latency at a constant rate; infinite where capacity does not suffice."""
        physical = predict_batch_latency(self.cost, rate_rows_per_s=rate_rows_per_s, interval_s=interval_s, scaleout=scaleout, quantile=self.quantile)
        return physical if isinstance(physical, NotReady) else _stretch(self).estimate(physical)

    def predict_one(self, *, rate_rows_per_s: Estimate, interval_s: float, scaleout: int = 1) -> Estimate | NotReady:
        """What the next measurement will show: within what is open about the law and about the rate, and what measurements differ by."""
        answers = self.predict_each(rate_rows_per_s=rate_rows_per_s, interval_s=interval_s, scaleouts=[scaleout])
        return answers if isinstance(answers, NotReady) else answers[scaleout]

    def predict_each(self, *, rate_rows_per_s: Estimate, interval_s: float, scaleouts: Sequence[int]) -> dict[int, Estimate] | NotReady:
        """The same for several scale-outs, for little more than one costs; those whose batches take equally many waves are one."""
        laws = self.cost.laws()
        if isinstance(laws, NotReady):
            return laws
        some, which = alike(laws.best, scaleouts)

        def physical_s(of: Sequence[BatchLaw], rate: float) -> Floats:
            return latencies_by_laws_s(of, rate_rows_per_s=rate, interval_s=interval_s, scaleouts=some, quantile=self.quantile)

        expected = likely_estimates(physical_s((laws.best, *laws.drawn), rate_rows_per_s.value)).each()
        by_rate = (physical_s([laws.best], rate)[0].tolist() for rate in (rate_rows_per_s.low, rate_rows_per_s.high))
        answers = [self._of_one(law, rate) for law, rate in zip(expected, zip(*by_rate, strict=True), strict=True)]
        return {scaleout: answers[place] for scaleout, place in zip(scaleouts, which.tolist(), strict=True)}

    def score(self) -> Score | NotReady:
        """Errors on latencies left out, beside the mean and the plane over interval and rate (and scale-out if it varies) (Khaos sec. III-D)."""
        laws = self.cost.laws()
        if isinstance(laws, NotReady):
            return laws
        if len(self.latencies) < FEWEST_SCORED:
            return NotReady(why=f"{len(self.latencies)} latencies so far, {FEWEST_SCORED} are needed to leave one out")
        points, (physical, truth) = points_of(self.latencies), self._pairs(laws)
        guesses = np.zeros((3, len(truth)))
        for out in folds(row_groups(len(truth), most=MOST_PARTS)):
            known = ~out & np.isfinite(physical)
            guesses[0, out] = stretch(physical[known], truth[known]).at(physical[out])
            guesses[1, out] = truth[~out].mean()
            guesses[2, out] = Plane().fit(points.where(~out), truth[~out]).at(points.where(out))
        errors = [mape(guess.tolist(), truth.tolist()) for guess in guesses]
        return Score(mape=errors[0], constant_mape=errors[1], paper_mape=errors[2], held_out=len(truth))

    def _of_one(self, by_law: Estimate, by_rate: tuple[float, float]) -> Estimate:
        low, high = bounds_of(by_law.value, (by_law.low, by_law.high), by_rate)
        return _stretch(self).estimate(Estimate(value=by_law.value, low=low, high=high), of_one=True)

    def _pairs(self, laws: LikelyLaws) -> tuple[Floats, Floats]:
        """What the law says of each latency, and what was measured."""
        physical = [
            latency_by_law_s(laws.best, rate_rows_per_s=each.rate_rows_per_s, interval_s=each.interval_s, scaleout=each.scaleout, quantile=self.quantile)
            for each in self.latencies
        ]
        return np.array(physical, dtype=float), np.array([each.latency_s for each in self.latencies], dtype=float)


@once(16)
def _stretch(model: BatchLatency) -> Stretch:
    """By all latencies but those measured where the law says overload: they had not settled and correct nothing."""
    laws = model.cost.laws()
    assert not isinstance(laws, NotReady)
    physical, truth = model._pairs(laws)
    settled = np.isfinite(physical)
    return stretch(physical[settled], truth[settled])
