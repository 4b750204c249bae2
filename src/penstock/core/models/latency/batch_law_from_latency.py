"""The law of micro-batches from latencies alone, for people who measured nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import NormalDist

import numpy as np

from penstock.core.models.capacity.batch_cost import BatchCost
from penstock.core.models.capacity.batch_fit import DRAWS, Floats, evenly
from penstock.core.models.capacity.batch_law import BatchLaw, LikelyLaws
from penstock.core.models.estimate import NotReady
from penstock.core.models.latency.batch import latency_by_law_s
from penstock.core.models.latency.measured import LatencyMeasured

FEWEST_LATENCIES = 4
STARTS = (0.3, 0.9)
"""Utilisations of the busiest measurement from which the search starts, unless a law near to the answer is known."""
FARTHEST = 12.0
"""The search goes no farther than this: utilisations within e^-12 of 0 and 1, overheads down to e^-12 of the shortest latency."""
TYPICAL = 0.1
"""Residuals of the logarithm beyond this pull less and less."""
WIDEST = 3.0
"""A parameter that the measurements leave open is drawn within so many units of its logarithm or logit, no wider."""


def law_from_latency(seen: Sequence[LatencyMeasured], shape: BatchCost, quantile: float | None, near: BatchLaw | None = None) -> LikelyLaws | NotReady:
    """Overhead and cost of a row that explain these latencies best in the logarithm; `shape` gives partitions, cores and limit.

    Searched over the logarithm of the overhead and the logit of the utilisation of the busiest measurement: a job that was measured had settled.
    """
    from scipy.optimize import least_squares

    if len(seen) < FEWEST_LATENCIES:
        return NotReady(why=f"no batch cost, and {len(seen)} latencies so far: {FEWEST_LATENCIES} are needed to do without one")
    busiest = _busiest(seen, shape)
    law = _law_of(busiest, shape)
    logs = np.log([each.latency_s for each in seen])

    def residuals(point: Floats) -> Floats:
        return np.log([by_law_s(law(point), each, quantile) for each in seen]) - logs

    shortest = math.log(min(each.latency_s for each in seen) / 2)
    lowest, highest = np.array([shortest - FARTHEST, -FARTHEST]), np.array([math.log(max(each.latency_s for each in seen)), FARTHEST])
    tried = [(math.exp(shortest), share) for share in STARTS] if near is None else [(near.overhead_s, near.row_s * busiest)]
    starts = [np.clip([math.log(max(a, 1e-9)), _logit(share)], lowest + 0.01, highest - 0.01) for a, share in tried]
    found = [least_squares(residuals, start, bounds=(lowest, highest), loss="soft_l1", f_scale=TYPICAL, xtol=1e-6, max_nfev=60) for start in starts]
    best = min(found, key=lambda each: float(each.cost))
    drawn = [law(each) for each in _draws(best.x, best.jac, residuals(best.x))]
    limited = [replace(each, limit_rows=shape.limit_rows) for each in (law(best.x), *drawn)]
    return LikelyLaws(best=limited[0], drawn=tuple(limited[1:]))


def by_law_s(law: BatchLaw, row: LatencyMeasured, quantile: float | None) -> float:
    return latency_by_law_s(law, rate_rows_per_s=row.rate_rows_per_s, interval_s=row.interval_s, scaleout=row.scaleout, quantile=quantile)


def _busiest(seen: Sequence[LatencyMeasured], shape: BatchCost) -> float:
    """Utilisation of the busiest measurement if a row cost a second."""
    unit = BatchLaw(overhead_s=0.0, row_s=1.0, partitions=shape.partitions, cores_per_executor=shape.cores_per_executor)
    return max(each.rate_rows_per_s * unit.row_cost_s(each.scaleout) for each in seen)


def _logit(share: float) -> float:
    within = min(max(share, 1e-9), 1 - 1e-9)
    return math.log(within / (1 - within))


def _law_of(busiest: float, shape: BatchCost) -> Callable[[Floats], BatchLaw]:
    def law(point: Floats) -> BatchLaw:
        overhead_s, utilization = math.exp(point[0]), 1.0 / (1.0 + math.exp(-point[1]))
        return BatchLaw(
            overhead_s=overhead_s,
            row_s=utilization / busiest if busiest > 0 else 0.0,
            partitions=shape.partitions,
            cores_per_executor=shape.cores_per_executor,
        )

    return law


def _draws(found: Floats, slopes: Floats, residuals: Floats) -> Floats:
    """Points that the measurements allow around the one found, by the curvature there."""
    from scipy.special import ndtri, stdtrit

    degrees = max(len(residuals) - len(found), 1)
    variance = float(residuals @ residuals) / degrees
    values, vectors = np.linalg.eigh(slopes.T @ slopes)
    wider = float(stdtrit(degrees, 0.9) / ndtri(0.9))
    reach = np.minimum(wider * np.sqrt(variance / np.maximum(values, 1e-12)), WIDEST)
    normal = NormalDist()
    points = np.array([[normal.inv_cdf(each) for each in point] for point in evenly(DRAWS, len(found)).tolist()])
    return np.asarray(np.clip(found + (points * reach) @ vectors.T, found - 2 * WIDEST, found + 2 * WIDEST))
