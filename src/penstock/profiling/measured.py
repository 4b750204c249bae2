"""What was measured of one copy at one rate, and which copies keep up with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from penstock.core.domain.reading import Reading
from penstock.core.models.anomaly.keeping_up import slope_of
from penstock.core.models.latency.clusters import FEWEST, RATIO, healthy
from penstock.core.models.latency.profile import ProfileSeen

BEHIND_S = 1.0
"""Waiting rows of less than a second of arrivals are no backlog."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One copy at one rate; `falls_behind` is whether the rows that wait grew in number, None where that is not known."""

    size: int
    rate_rows_per_s: float
    latency_s: float | None
    falls_behind: bool | None


def measured(size: int, rate_rows_per_s: float, readings: Sequence[Reading]) -> Measured:
    """The mean of the median latencies, and what became of the rows that wait in excess of what waits in any healthy job."""
    latencies = [reading.latency.p50_s for reading in readings if reading.latency is not None and reading.latency.p50_s > 0.0]
    waiting = [(reading.at_s, reading.excess_lag_rows) for reading in readings if reading.excess_lag_rows is not None]
    behind = None if len(waiting) < 2 else waiting[-1][1] > BEHIND_S * rate_rows_per_s and slope_of(waiting) > 0.0
    return Measured(
        size=size,
        rate_rows_per_s=rate_rows_per_s,
        latency_s=sum(latencies) / len(latencies) if latencies else None,
        falls_behind=behind,
    )


def valid_sizes(now: Sequence[Measured], before: Sequence[ProfileSeen]) -> dict[int, bool]:
    """Whether each copy keeps up with the rate all of them were given.

    A backlog that grows is proof. Where lag is not known, latencies of one rate are compared: they fall into one group, or the upper of two does not
    keep up; with fewer than three, each is compared with the line through its own at smaller rates (Phoebe sec. III-C).
    """
    by_lag = {each.size: not each.falls_behind for each in now if each.falls_behind is not None}
    told = [(each, each.latency_s) for each in now if each.latency_s is not None]
    if all(each.size in by_lag for each, _ in told):
        return by_lag
    if len(told) < FEWEST:
        by_latency = {each.size: _as_before(each, latency_s, before) for each, latency_s in told}
    else:
        lower = healthy(np.log([latency_s for _, latency_s in told]))
        by_latency = {each.size: bool(lower[number]) for number, (each, _) in enumerate(told)}
    return by_latency | by_lag


def _as_before(each: Measured, latency_s: float, before: Sequence[ProfileSeen]) -> bool:
    """Whether a latency is within a factor of what the line through the logarithms of earlier ones says; with fewer than two there is no line."""
    own = [(row.rate_rows_per_s, log(row.latency_s)) for row in before if row.scaleout == each.size]
    if len(own) < 2:
        return True
    mean_rate, mean_log = sum(rate for rate, _ in own) / len(own), sum(logarithm for _, logarithm in own) / len(own)
    expected = mean_log + slope_of(own) * (each.rate_rows_per_s - mean_rate)
    return log(latency_s) - expected < log(RATIO)
