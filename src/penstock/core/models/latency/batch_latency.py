"""Latency of micro-batches: the physical form, corrected by the latencies that were measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

import numpy as np

from penstock.core.models.capacity.batch_cost import BatchCost, BatchMeasured
from penstock.core.models.capacity.batch_fit import Floats
from penstock.core.models.capacity.batch_law import BatchLaw, LikelyLaws
from penstock.core.models.estimate import Estimate, NotReady
from penstock.core.models.latency.batch_law_from_latency import FEWEST_LATENCIES, by_law_s, law_from_latency
from penstock.core.models.latency.correction import Correction, correct
from penstock.core.models.latency.measured import LatencyMeasured
from penstock.core.models.score import Score, mape

MOST_LATENCIES = 500
"""Latencies kept; the newest win."""
MOST_FOLDS = 50
"""Each row is left out by itself up to so many rows; beyond, in so many groups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLatency:
    """Wait for the trigger plus batch time, with a bias and a scale in the logarithm that start at the physical form and follow the data.

    It learns from batches and from latencies, in any mixture. Without a batch cost it finds overhead and cost of a row from the latencies themselves.
    `quantile` says what the latencies are: None for means, 0.95 for the 95th percentile.

    >>> seen = [LatencyMeasured(interval_s=i, rate_rows_per_s=w, latency_s=i / 2 + 1 + 0.001 * w * i) for i in (2.0, 5.0, 10.0) for w in (100.0, 400.0)]
    >>> round(BatchLatency(cost=BatchCost(partitions=1)).learn(seen).predict(rate_rows_per_s=200.0, interval_s=4.0).value, 2)
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
        learnt = _learnt(self)
        if isinstance(learnt, NotReady):
            return learnt
        laws, correction = learnt
        asked = LatencyMeasured(interval_s=interval_s, rate_rows_per_s=rate_rows_per_s, latency_s=1.0, scaleout=scaleout)
        return correction.apply(laws.estimate(lambda law: by_law_s(law, asked, self.quantile)))

    def score(self) -> Score | NotReady:
        """Errors on latencies left out, beside the mean and the plane over interval and rate (and scale-out if it varies) (Khaos sec. III-D)."""
        rows = self.latencies
        if len(rows) <= FEWEST_LATENCIES:
            return NotReady(why=f"{len(rows)} latencies so far, {FEWEST_LATENCIES + 1} are needed to leave one out")
        whole = _learnt(self)
        if isinstance(whole, NotReady):
            return whole
        truth, columns = [each.latency_s for each in rows], _plane(rows)
        guesses = np.zeros((3, len(rows)))
        folds = min(len(rows), MOST_FOLDS)
        for fold in range(folds):
            out = np.arange(len(rows)) % folds == fold
            learnt = _learnt(replace(self, latencies=tuple(each for each, left in zip(rows, out, strict=True) if not left)), whole[0].best)
            if isinstance(learnt, NotReady):
                return learnt
            laws, correction = learnt
            guesses[0, out] = [correction.value(by_law_s(laws.best, each, self.quantile)) for each, left in zip(rows, out, strict=True) if left]
            known = np.array(truth)[~out]
            guesses[1, out] = known.mean()
            guesses[2, out] = columns[out] @ np.linalg.lstsq(columns[~out], known, rcond=None)[0]
        errors = [mape(guess.tolist(), truth) for guess in guesses]
        return Score(mape=errors[0], constant_mape=errors[1], paper_mape=errors[2], held_out=len(rows))


@lru_cache(maxsize=128)
def _learnt(model: BatchLatency, near: BatchLaw | None = None) -> tuple[LikelyLaws, Correction] | NotReady:
    """The law, of the batches where they give one, and its correction; a latency measured where the law says overload had not settled and corrects nothing."""
    laws = model.cost.laws()
    if isinstance(laws, NotReady):
        laws = law_from_latency(model.latencies, model.cost, model.quantile, near)
    if isinstance(laws, NotReady):
        return laws
    pairs = [(by_law_s(laws.best, each, model.quantile), each.latency_s) for each in model.latencies]
    settled = np.array([pair for pair in pairs if pair[0] < math.inf]).reshape(-1, 2)
    return laws, correct(settled[:, 0], settled[:, 1])


def _plane(rows: Sequence[LatencyMeasured]) -> Floats:
    columns = np.array([[1.0, each.interval_s, each.rate_rows_per_s, each.scaleout] for each in rows])
    varies = np.ptp(columns, axis=0) > 0
    return columns[:, varies | (np.arange(4) == 0)]
