"""What a live rescale costs a job of micro-batches, which works on while executors come or go."""

from __future__ import annotations

import math
from dataclasses import dataclass

from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.drain import drained_s


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRescale:
    """At `at_s` another size is asked for; `ready_after_s` later it works, until then the present one does.

    `excess_lag_rows` is the lag now, less what is healthy in micro-batches.
    """

    at_s: float
    ready_after_s: float
    capacity_now_rows_per_s: float
    capacity_new_rows_per_s: float
    excess_lag_rows: float = 0.0

    def __post_init__(self) -> None:
        for name, value in (("ready_after_s", self.ready_after_s), ("excess_lag_rows", self.excess_lag_rows)):
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} of a rescale must be 0 or more, found {value}")


def recovery_after_rescale_s(arrivals: Arrivals, rescale: LiveRescale, failure_recovery_s: float) -> float:
    """The worse of the transition and the recovery from a failure at the new size, which the caller has from its formula."""
    return max(transition_s(arrivals, rescale), failure_recovery_s)


def transition_s(arrivals: Arrivals, rescale: LiveRescale) -> float:
    """Seconds until the lag of a transition is gone: excess lag + integral of max(0, F - C_now) until the new size works, drained with what that has to spare.

    Without any such lag there is nothing to recover from: 0.

    >>> rescale = LiveRescale(at_s=0.0, ready_after_s=30.0, capacity_now_rows_per_s=100.0, capacity_new_rows_per_s=200.0)
    >>> transition_s(Arrivals.constant(120.0), rescale), transition_s(Arrivals.constant(90.0), rescale)
    (37.5, 0.0)
    """
    ready_s = rescale.at_s + rescale.ready_after_s
    lag_rows = rescale.excess_lag_rows + rows_above(arrivals, rescale.capacity_now_rows_per_s, rescale.at_s, ready_s)
    return drained_s(arrivals, ready_s, lag_rows, rescale.capacity_new_rows_per_s) - rescale.at_s if lag_rows > 0 else 0.0


def rows_above(arrivals: Arrivals, level_rows_per_s: float, start_s: float, end_s: float) -> float:
    """The integral of max(0, rate - level).

    >>> rows_above(Arrivals.through((0.0, 10.0), (0.0, 100.0)), 50.0, 0.0, 12.0)
    225.0
    """
    rows = 0.0
    for piece in arrivals.pieces(start_s):
        stop_s, rate_out = (piece.end_s, piece.rate_out) if piece.end_s <= end_s else (end_s, arrivals.rate(end_s))
        rows += (stop_s - piece.start_s) * _mean_above_zero(piece.rate_in - level_rows_per_s, rate_out - level_rows_per_s)
        if stop_s == end_s:
            break
    return rows


def _mean_above_zero(first: float, last: float) -> float:
    """The mean of max(0, x) over a line from `first` to `last`."""
    if min(first, last) >= 0:
        return (first + last) / 2
    highest = max(first, last, 0.0)
    return highest * highest / (2 * abs(last - first)) if highest > 0 else 0.0
