"""Recovery time as Daedalus predicts it (sec. 3.4): the backlog, worked off with the capacity that the load leaves."""

from __future__ import annotations

import math

from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.drain import any_capacity, drained_s
from penstock.core.models.recovery.outage import Outage


def recovery_s(arrivals: Arrivals, outage: Outage, capacity_rows_per_s: float, *, exact: bool = True) -> float:
    """Seconds from the stop until the spare capacity since the restart has made up for the backlog; infinite only if it does not suffice in the long run.

    Daedalus sec. 3.4: backlog B = arrivals over the last checkpoint interval and over the downtime D, and the lag; RT = first t > D with
    sum over (D, t] of (C - F) >= B. With `exact=False` the sum has steps of one second, as in the paper; otherwise it is the integral.

    >>> outage = Outage(at_s=0.0, interval_s=10.0, downtime_s=30.0)
    >>> recovery_s(Arrivals.constant(70.0), outage, 100.0), recovery_s(Arrivals.constant(70.0), outage, 100.0, exact=False)
    (123.33333333333333, 124.0)
    """
    if not any_capacity(capacity_rows_per_s):
        return math.inf
    backlog_rows = outage.backlog_rows(arrivals)
    if exact:
        return drained_s(arrivals, outage.back_s, backlog_rows, capacity_rows_per_s) - outage.at_s
    seconds = _seconds_of_spare(arrivals, outage.back_s, backlog_rows, capacity_rows_per_s)
    return outage.downtime_s + seconds


def _seconds_of_spare(arrivals: Arrivals, back_s: float, backlog_rows: float, capacity_rows_per_s: float) -> float:
    """How many whole seconds of spare capacity reach the backlog, at least one; one by one while the forecast changes, then all the rest at once."""
    seconds, spare_rows = 0, 0.0
    while back_s + seconds < arrivals.last_s:
        seconds += 1
        spare_rows += capacity_rows_per_s - arrivals.rate(back_s + seconds)
        if spare_rows >= backlog_rows:
            return seconds
    spare_rows_per_s = capacity_rows_per_s - arrivals.long_run_rate
    if spare_rows_per_s <= 0:
        return math.inf
    return max(seconds + math.ceil((backlog_rows - spare_rows) / spare_rows_per_s), 1)
