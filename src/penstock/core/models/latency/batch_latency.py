"""Latency of micro-batches: the wait for the trigger plus the batch, corrected by measured latencies."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from penstock.core.models.arrays import Floats, Ints
from penstock.core.models.capacity.batch_cost import BatchCost, BatchMeasured
from penstock.core.models.capacity.batch_law import BatchLaw, LawColumns, LikelyLaws, alike, likely_estimates
from penstock.core.models.estimate import NORMAL_REACH, Estimate, NotReady, combined
from penstock.core.models.once import once
from penstock.core.models.score import Score, mape
from penstock.core.models.surrogate.crossvalidation import folds, row_groups
from penstock.core.models.surrogate.linear import Plane
from penstock.core.models.surrogate.points import points_of

MOST_LATENCIES = 500
"""Latencies kept; the newest win."""
FEWEST_SCORED = 5
"""Latencies needed for a score: a plane over interval, rate and number of executors, and one to hold out."""
MOST_PARTS = 50
"""Most parts in which latencies are held out; with fewer latencies each is a part."""
BIAS = 0.3
"""Prior standard deviation of the bias of the logarithm: the physical form may be off by a factor of e^0.3."""
SCALE = 0.2
"""Prior standard deviation of the scale of the logarithm."""
NOISE, NOISE_WEIGHT = 0.1, 2.0
"""Prior relative noise of a measurement, and how many measurements that prior is worth."""
HUBER = 1.345
"""Residuals beyond this many standard deviations have a bounded influence."""
ROUNDS = 10
SHORTEST_S = 1e-3
"""The shortest latency: a law without overhead has none at all where batches follow each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyMeasured:
    """Latency of a settled job (a mean or a quantile, the same in all) at a trigger interval, an arrival rate and a number of executors."""

    interval_s: float
    rate_rows_per_s: float
    latency_s: float
    executors: int = 1

    def __post_init__(self) -> None:
        if not (0 <= self.interval_s < math.inf and 0 <= self.rate_rows_per_s < math.inf and 0 < self.latency_s < math.inf and self.executors >= 1):
            raise ValueError(f"a latency that cannot be: {self}")


def latencies_by_law_s(
    laws: Sequence[BatchLaw], *, rate_rows_per_s: float | Floats, interval_s: float | Floats, executor_counts: Ints, quantile: float | None = None
) -> Floats:
    """Return the latency of a row: its wait, uniform over the cycle max(i,T), and the batch T; the mean, or a quantile q as q*cycle + T.

    There is a row for each law and a column for each number of executors, rate and interval.

    >>> law = BatchLaw(overhead_s=1.0, row_s=0.001, partitions=2)
    >>> latencies_by_law_s([law], rate_rows_per_s=500.0, interval_s=4.0, executor_counts=np.array([1, 2])).tolist()
    [[5.0, 4.0]]
    >>> latencies_by_law_s([law], rate_rows_per_s=500.0, interval_s=4.0, executor_counts=np.array([1]), quantile=0.95).round(6).tolist()
    [[6.8]]
    """
    if quantile is not None and not 0 <= quantile <= 1:
        raise ValueError(f"a quantile lies between 0 and 1, not at {quantile:g}")
    duration_s = LawColumns.of(laws).settled_s(rate_rows_per_s, interval_s, executor_counts)
    with np.errstate(invalid="ignore"):
        latency_s = (0.5 if quantile is None else quantile) * np.maximum(interval_s, duration_s) + duration_s
    return np.where(np.isinf(duration_s), np.inf, latency_s)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stretch:
    """A correction log y = log x + bias + scale*(log x - centre) of the physical latency x to the measured one y; it keeps the order of latencies.

    `covariance` is that of (bias, scale), `noise` the standard deviation of the logarithm of one measurement around y.
    """

    bias: float = 0.0
    scale: float = 0.0
    centre: float = 0.0
    noise: float = NOISE
    covariance: Floats

    def at(self, physical_s: Floats) -> Floats:
        """Return the corrected latencies; they never fall where the physical ones rise.

        >>> Stretch(bias=math.log(2), covariance=np.zeros((2, 2))).at(np.array([3.0, np.inf])).round(9).tolist()
        [6.0, inf]
        """
        return np.asarray(np.exp(self.centre + self.bias + max(1.0 + self.scale, 0.01) * (np.log(physical_s) - self.centre)))

    def estimate(self, physical_s: Estimate, *, of_one: bool = False) -> Estimate:
        """Correct an estimate; bounds combine those of the physical latency and of the correction, and the noise if `of_one` measurement to come."""
        value, below, above = (float(each) for each in self.at(np.maximum([physical_s.value, physical_s.low, physical_s.high], 1e-9)))
        if value == math.inf:
            return Estimate(value=value, low=below, high=value)
        direction = np.array([1.0, math.log(max(physical_s.value, 1e-9)) - self.centre])
        own = NORMAL_REACH * math.sqrt(max(float(direction @ self.covariance @ direction), 0.0) + (self.noise**2 if of_one else 0.0))
        high = value * math.exp(math.hypot(own, math.log(above / value))) if above < math.inf else math.inf
        return Estimate(value=value, low=value * math.exp(-math.hypot(own, math.log(value / below))), high=high)


def stretch(physical_s: Floats, measured_s: Floats) -> Stretch:
    """Fit bias and scale to these pairs by robust regression, both shrunk to 0; without any pair only the prior uncertainty remains.

    >>> stretch(np.array([]), np.array([])).at(np.array([7.0])).round(9).tolist()
    [7.0]
    >>> stretch(np.full(1000, 2.0), np.full(1000, 3.0)).at(np.array([2.0])).round(3).tolist()
    [3.0]
    """
    prior = np.array([BIAS, SCALE])
    if not len(physical_s):
        return Stretch(covariance=np.diag([BIAS**2, 0.0]))
    logs, gaps = np.log(physical_s), np.log(measured_s / physical_s)
    centre = float(logs.mean())
    columns = np.column_stack([np.ones(len(logs)), logs - centre])
    weights, noise = np.ones(len(logs)), NOISE
    for _ in range(ROUNDS):
        covariance = np.linalg.inv(np.diag(prior**-2) + columns.T @ (columns * weights[:, None]) / noise**2)
        found = covariance @ (columns.T @ (weights * gaps)) / noise**2
        off = gaps - columns @ found
        noise = math.sqrt((NOISE_WEIGHT * NOISE**2 + float(weights @ off**2)) / (NOISE_WEIGHT + float(weights.sum())))
        weights = np.minimum(1.0, HUBER * noise / np.maximum(np.abs(off), 1e-12))
    return Stretch(bias=float(found[0]), scale=float(found[1]), centre=centre, noise=noise, covariance=np.asarray(covariance, dtype=float))


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLatency:
    """Wait for the trigger plus batch time by the cost of batches, corrected by a `Stretch` that follows the measured latencies.

    It learns from batches and from latencies, in any mixture; for latencies alone there is `LatencyRegression`, of which micro-batches are a form.
    `quantile` says what the latencies are: None for means, 0.95 for the 95th percentile.

    >>> batches = [BatchMeasured(rows=n, duration_s=1 + 0.001 * n, executors=1) for n in (100.0, 400.0, 900.0, 1600.0, 2500.0)]
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

    def predict(self, *, rate_rows_per_s: float, interval_s: float, executors: int = 1) -> Estimate | NotReady:
        """Predict the latency at a constant rate; infinite where capacity does not suffice."""
        laws = self.cost.laws()
        if isinstance(laws, NotReady):
            return laws
        by_law = self._by_law_s((laws.best, *laws.drawn), rate_rows_per_s, interval_s, np.array([executors]))
        return _stretch(self).estimate(likely_estimates(by_law).each()[0])

    def predict_each(self, *, rate_rows_per_s: Estimate, interval_s: float, executor_counts: Sequence[int]) -> dict[int, Estimate] | NotReady:
        """Predict the next measurement with each number of executors, with bounds by law, rate and noise; those with equally many waves are computed once."""
        laws = self.cost.laws()
        if isinstance(laws, NotReady):
            return laws
        some, which = alike(laws.best, executor_counts)
        expected = likely_estimates(self._by_law_s((laws.best, *laws.drawn), rate_rows_per_s.value, interval_s, some)).each()
        by_rate = (self._by_law_s([laws.best], rate, interval_s, some)[0].tolist() for rate in (rate_rows_per_s.low, rate_rows_per_s.high))
        answers = [self._of_one(law, rate) for law, rate in zip(expected, zip(*by_rate, strict=True), strict=True)]
        return {executors: answers[place] for executors, place in zip(executor_counts, which.tolist(), strict=True)}

    def score(self) -> Score | NotReady:
        """Return the errors on held-out latencies, compared with the mean and with a plane over interval, rate and number of executors (Khaos sec. III-D)."""
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

    def _by_law_s(self, laws: Sequence[BatchLaw], rate_rows_per_s: float | Floats, interval_s: float | Floats, executor_counts: Ints) -> Floats:
        by_law_s = latencies_by_law_s(laws, rate_rows_per_s=rate_rows_per_s, interval_s=interval_s, executor_counts=executor_counts, quantile=self.quantile)
        return np.maximum(by_law_s, SHORTEST_S)

    def _of_one(self, by_law: Estimate, by_rate: tuple[float, float]) -> Estimate:
        return _stretch(self).estimate(combined(by_law.value, (by_law.low, by_law.high), by_rate), of_one=True)

    def _pairs(self, laws: LikelyLaws) -> tuple[Floats, Floats]:
        """Return the latencies by the best law, and those measured."""
        rows = [(each.rate_rows_per_s, each.interval_s, each.latency_s) for each in self.latencies]
        rates, intervals_s, measured_s = np.array(rows, dtype=float).reshape(-1, 3).T
        return self._by_law_s([laws.best], rates, intervals_s, np.array([each.executors for each in self.latencies], dtype=np.int64))[0], measured_s


@once(16)
def _stretch(model: BatchLatency) -> Stretch:
    """Fit the correction to all latencies but those of overload by the law, which had not settled."""
    laws = model.cost.laws()
    assert not isinstance(laws, NotReady)
    physical, truth = model._pairs(laws)
    settled = np.isfinite(physical)
    return stretch(physical[settled], truth[settled])
