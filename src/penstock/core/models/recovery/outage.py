"""Recovery time from an outage in continuous time, by the formulas of Phoebe sec. III-B and Daedalus sec. 3.4."""

import math
from dataclasses import dataclass

from penstock.core.models.recovery.arrivals import Arrivals, Piece

STOP_S = 1.0
"""The job counts as caught up with the first step of Phoebe's sequence that is shorter than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """The job stops at `at_s`, works again `downtime_s` later, and repeats the work of the `interval_s` before the stop: all of it, just before a commit.

    `lag_rows` is the lag before the outage in excess of a healthy one.
    """

    at_s: float
    interval_s: float
    downtime_s: float
    lag_rows: float = 0.0

    def __post_init__(self) -> None:
        if not math.isfinite(self.at_s):
            raise ValueError(f"an outage begins at a time, not at {self.at_s}")
        for name, value in (("interval_s", self.interval_s), ("downtime_s", self.downtime_s), ("lag_rows", self.lag_rows)):
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} of an outage must be 0 or more, found {value}")

    @property
    def back_s(self) -> float:
        """When the job works again: t_1 of Phoebe sec. III-B."""
        return self.at_s + self.downtime_s

    def backlog_rows(self, arrivals: Arrivals) -> float:
        """Return the rows that wait when the job works again: those to repeat, those that arrived meanwhile, and the lag.

        >>> Outage(at_s=100.0, interval_s=10.0, downtime_s=30.0, lag_rows=5.0).backlog_rows(Arrivals.constant(2.0))
        85.0
        """
        return self.lag_rows + arrivals.rows(self.at_s - self.interval_s, self.back_s)


def recovery_s(arrivals: Arrivals, at_s: float, capacity_rows_per_s: float, interval_s: float, downtime_s: float, lag_rows: float = 0.0) -> float:
    """Return the seconds from a failure at `at_s` until the job has caught up; infinite if its capacity does not suffice in the long run.

    Phoebe sec. III-B with the tail after its stopping rule; Daedalus sec. 3.4 in continuous time gives the same number.

    >>> round(recovery_s(Arrivals.constant(51.0), 1200.0, 100.0, 10.0, 110.0), 1)
    234.9
    """
    outage = Outage(at_s=at_s, interval_s=interval_s, downtime_s=downtime_s, lag_rows=lag_rows)
    return phoebe_recovery_s(arrivals, outage, capacity_rows_per_s)


def phoebe_recovery_s(arrivals: Arrivals, outage: Outage, capacity_rows_per_s: float, *, tail: bool = True, stop_s: float = STOP_S) -> float:
    """Return the seconds from the stop until the job has caught up: R = D + c(0) + c(1) + ...; infinite if the capacity does not suffice in the long run.

    Phoebe sec. III-B, in real-valued time: c(0) = integral of f over [t0 - I, t_1] / T_max with t_1 = t0 + D, c(n) = integral of f over [t_n, t_(n+1)] / T_max
    with t_(n+1) = t_n + c(n-1), as in the paper; PAPER-NOTES prints t_n + c(n), by which steps would overlap and arrivals count twice. With `tail=False`
    the sum ends with the first c(n) < `stop_s`, as in the paper. With `tail` the rest is drained to the end: for a constant utilisation u that
    adds c(n) u/(1-u) and R = D + (I+D) u/(1-u).

    A step is at least `stop_s` long or the last, so there are at most (end of the forecast - t_1) / `stop_s` + 1; beyond the end the sum is in closed form.

    >>> outage = Outage(at_s=0.0, interval_s=10.0, downtime_s=110.0)
    >>> [round(phoebe_recovery_s(Arrivals.constant(51.0), outage, 100.0, tail=tail), 1) for tail in (True, False)]
    [234.9, 234.3]
    """
    if not _any_capacity(capacity_rows_per_s):
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


def drained_s(arrivals: Arrivals, from_s: float, backlog_rows: float, capacity_rows_per_s: float) -> float:
    """Return the first time from `from_s` on at which a job that works at its capacity has no backlog; infinite for never.

    The backlog falls by the integral of capacity minus rate, a parabola in each linear piece of the rate; a passing overload makes it grow for a while.
    There are finitely many pieces and the rate of the last, endless one is constant: the backlog stays only if that rate is not below the capacity.

    >>> drained_s(Arrivals.constant(60.0), 0.0, 400.0, 100.0)
    10.0
    >>> drained_s(Arrivals.through((0.0, 10.0), (150.0, 50.0)), 0.0, 400.0, 100.0), drained_s(Arrivals.constant(100.0), 0.0, 1.0, 100.0)
    (18.0, inf)
    """
    if not _any_capacity(capacity_rows_per_s):
        return math.inf
    for piece in arrivals.pieces(from_s):
        into_s = _drained_after_s(piece, backlog_rows, capacity_rows_per_s)
        if piece.start_s + into_s <= piece.end_s:
            return piece.start_s + into_s
        backlog_rows += (piece.end_s - piece.start_s) * ((piece.rate_in + piece.rate_out) / 2 - capacity_rows_per_s)
    return math.inf


def _drained_after_s(piece: Piece, backlog_rows: float, capacity_rows_per_s: float) -> float:
    """Return the smallest x with spare x + slope x^2 / 2 = backlog, if the piece had no end; each form of the root is used where it is precise."""
    if backlog_rows <= 0:
        return 0.0
    spare = capacity_rows_per_s - piece.rate_in
    slope = (piece.rate_in - piece.rate_out) / (piece.end_s - piece.start_s)
    square = spare * spare + 2 * slope * backlog_rows
    if square < 0 or (spare <= 0 and slope <= 0):
        return math.inf
    root = math.sqrt(square)
    return 2 * backlog_rows / (spare + root) if spare > 0 else (root - spare) / slope


def _any_capacity(capacity_rows_per_s: float) -> bool:
    """Return whether the capacity is above 0; refuses one that is not a finite number."""
    if not math.isfinite(capacity_rows_per_s):
        raise ValueError(f"a capacity must be a number of rows/s, found {capacity_rows_per_s}")
    return capacity_rows_per_s > 0


def _series_s(first_s: float, ratio: float, stop_s: float) -> float:
    """Sum a geometric series up to and including its first term below `stop_s`.

    >>> _series_s(8.0, 0.5, 1.0)
    15.5
    """
    if first_s < stop_s or ratio == 0:
        return first_s
    if ratio >= 1:
        return math.inf
    more = math.floor(math.log(stop_s / first_s) / math.log(ratio)) + 1
    return first_s * (1 - ratio ** (more + 1)) / (1 - ratio)
