"""The longest recovery that a failure could cost: just before a commit, at the worst moment until the next decision, under more load than expected."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from penstock.core.models.forecast.forecast import Forecast
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.forecast_arrivals import foreseen

GRID_S = 10.0
"""Moments of failure that are tried are this far apart."""
UPPER_QUANTILE = 0.9
"""The load exceeds this forecast once in ten times."""

RecoveryAt = Callable[[Arrivals, float], float]
"""Seconds to recover from a failure at that time, under those arrivals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstCase:
    """The moment at which a failure would cost the most, and what it would cost; the earliest of equals."""

    at_s: float
    recovery_s: float


def uncommitted_s(interval_s: float, batch_s: float | None = None) -> float:
    """Seconds of arrivals that are repeated if the fault strikes just before a commit.

    Micro-batches of `batch_s` each: the last commit took what had arrived by the start of its batch, one interval or one batch before the present one began,
    which is now ending. Long-running tasks (no `batch_s`): the checkpoint interval, Phoebe sec. III-B.

    >>> uncommitted_s(10.0, 4.0), uncommitted_s(10.0, 15.0), uncommitted_s(10.0)
    (14.0, 30.0, 10.0)
    """
    return interval_s if batch_s is None else max(interval_s, batch_s) + batch_s


def worst_case(
    forecast: Forecast,
    recovery_at: RecoveryAt,
    *,
    now_s: float,
    until_s: float,
    history: Sequence[tuple[float, float]] = (),
    quantile: float = UPPER_QUANTILE,
    step_s: float = GRID_S,
) -> WorstCase:
    """The worst failure from now until just before `until_s`, at an upper quantile of the forecast.

    >>> rising = Forecast(start_s=0.0, step_s=20.0, mean=(1.0, 2.0, 3.0), levels=(0.1, 0.9), paths=((0.0, 1.0, 2.0), (2.0, 4.0, 6.0)))
    >>> worst_case(rising, lambda arrivals, at_s: arrivals.rate(at_s), now_s=0.0, until_s=40.0)
    WorstCase(at_s=30.0, recovery_s=4.0)
    """
    if not (until_s >= now_s and step_s > 0):
        raise ValueError(f"moments of failure from {now_s} s until {until_s} s, {step_s} s apart")
    arrivals = foreseen(forecast, history, quantile)
    worst = WorstCase(at_s=now_s, recovery_s=recovery_at(arrivals, now_s))
    for number in range(1, math.ceil((until_s - now_s) / step_s)):
        if worst.recovery_s == math.inf:
            return worst
        at_s = now_s + number * step_s
        each = WorstCase(at_s=at_s, recovery_s=recovery_at(arrivals, at_s))
        worst = max(worst, each, key=lambda case: case.recovery_s)
    return worst
