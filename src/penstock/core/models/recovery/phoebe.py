"""Recovery time as Phoebe estimates it (sec. III-B): each step works off what arrived during the step before."""

from __future__ import annotations

import math

from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.drain import any_capacity, drained_s
from penstock.core.models.recovery.outage import Outage

STOP_S = 1.0
"""The job counts as caught up with the first step shorter than this."""


def recovery_s(arrivals: Arrivals, outage: Outage, capacity_rows_per_s: float, *, tail: bool = True, stop_s: float = STOP_S) -> float:
    """Seconds from the stop until the job has caught up: R = D + c(0) + c(1) + ...; infinite only if the capacity does not suffice in the long run.

    Phoebe sec. III-B, in real-valued time: c(0) = integral of f over [t0 - I, t_1] / T_max with t_1 = t0 + D, c(n) = integral of f over [t_n, t_(n+1)] / T_max
    with t_(n+1) = t_n + c(n-1), as the paper has it; PAPER-NOTES prints t_n + c(n), by which steps would overlap and arrivals count twice. With `tail=False`
    the sum ends with the first c(n) < `stop_s`, as in the paper. With `tail` what is then left is worked off to the end: for a constant utilisation u that
    adds c(n) u/(1-u) and R = D + (I+D) u/(1-u).

    A step is at least `stop_s` long or the last, so there are at most (end of the forecast - t_1) / `stop_s` + 1; beyond the end the sum is in closed form.

    >>> outage = Outage(at_s=0.0, interval_s=10.0, downtime_s=110.0)
    >>> round(recovery_s(Arrivals.constant(51.0), outage, 100.0), 1), round(recovery_s(Arrivals.constant(51.0), outage, 100.0, tail=False), 1)
    (234.9, 234.3)
    """
    if not any_capacity(capacity_rows_per_s):
        return math.inf
    if not stop_s > 0:
        raise ValueError(f"steps must stop above 0 s, found {stop_s}")
    begin_s, step_s = outage.back_s, outage.backlog_rows(arrivals) / capacity_rows_per_s
    while step_s >= stop_s and begin_s < arrivals.last_s:
        end_s = begin_s + step_s
        begin_s, step_s = end_s, arrivals.rows(begin_s, end_s) / capacity_rows_per_s
    if tail:
        caught_up_s = drained_s(arrivals, begin_s, step_s * capacity_rows_per_s, capacity_rows_per_s)
    else:
        caught_up_s = begin_s + _series_s(step_s, arrivals.long_run_rate / capacity_rows_per_s, stop_s)
    return caught_up_s - outage.at_s


def _series_s(first_s: float, ratio: float, stop_s: float) -> float:
    """A geometric series up to and with its first term below `stop_s`.

    >>> _series_s(8.0, 0.5, 1.0)
    15.5
    """
    if first_s < stop_s or ratio == 0:
        return first_s
    if ratio >= 1:
        return math.inf
    more = math.floor(math.log(stop_s / first_s) / math.log(ratio)) + 1
    return first_s * (1 - ratio ** (more + 1)) / (1 - ratio)
