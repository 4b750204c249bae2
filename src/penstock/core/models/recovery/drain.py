"""When a backlog is gone, exactly."""

from __future__ import annotations

import math

from penstock.core.models.recovery.arrivals import Arrivals, Piece


def drained_s(arrivals: Arrivals, from_s: float, backlog_rows: float, capacity_rows_per_s: float) -> float:
    """The first time from `from_s` on at which a job that works at its capacity has nothing left to do; infinite for never.

    The backlog falls by the integral of capacity minus rate, a parabola in each linear piece of the rate; an overload that passes makes it grow for a while.
    There are finitely many pieces, and in the last, endless one the rate is constant: it is never gone only if that rate is not below the capacity.

    >>> drained_s(Arrivals.constant(60.0), 0.0, 400.0, 100.0)
    10.0
    >>> drained_s(Arrivals.through((0.0, 10.0), (150.0, 50.0)), 0.0, 400.0, 100.0), drained_s(Arrivals.constant(100.0), 0.0, 1.0, 100.0)
    (18.0, inf)
    """
    if not any_capacity(capacity_rows_per_s):
        return math.inf
    for piece in arrivals.pieces(from_s):
        into_s = _gone_after_s(piece, backlog_rows, capacity_rows_per_s)
        if piece.start_s + into_s <= piece.end_s:
            return piece.start_s + into_s
        backlog_rows += (piece.end_s - piece.start_s) * ((piece.rate_in + piece.rate_out) / 2 - capacity_rows_per_s)
    return math.inf


def any_capacity(capacity_rows_per_s: float) -> bool:
    """Whether there is a capacity at all; what is not a number is refused."""
    if not math.isfinite(capacity_rows_per_s):
        raise ValueError(f"a capacity must be a number of rows/s, found {capacity_rows_per_s}")
    return capacity_rows_per_s > 0


def _gone_after_s(piece: Piece, backlog_rows: float, capacity_rows_per_s: float) -> float:
    """The smallest x with spare x + slope x^2 / 2 = backlog, if the piece went on for ever; each form of the root where it keeps its precision."""
    if backlog_rows <= 0:
        return 0.0
    spare = capacity_rows_per_s - piece.rate_in
    slope = (piece.rate_in - piece.rate_out) / (piece.end_s - piece.start_s)
    square = spare * spare + 2 * slope * backlog_rows
    if square < 0 or (spare <= 0 and slope <= 0):
        return math.inf
    root = math.sqrt(square)
    return 2 * backlog_rows / (spare + root) if spare > 0 else (root - spare) / slope
